"""Runs a program file as it lies on disk, on jaxlib's own XLA or on a PJRT plugin.

Rests on parts of JAX that are not public; the pinned release is what makes that safe.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax._src import xla_bridge
from jaxlib import _jax, xla_client

from roundhouse_export.refusal import RefusedError

_PLUGIN_PLATFORM = "roundhouse_plugin"
OWN_CPU = "cpu"


@functools.cache
def register_plugin(library: Path) -> str:
    """Makes a PJRT plugin's library a JAX platform and returns its name; call before any JAX."""
    if not library.is_file():
        raise RefusedError(f"--plugin {library}: no such file")
    xla_bridge.register_plugin(
        _PLUGIN_PLATFORM, library_path=str(library), options={"cpu_device_count": 1}
    )
    jax.config.update("jax_platforms", f"{OWN_CPU},{_PLUGIN_PLATFORM}")
    return _PLUGIN_PLATFORM


def platform_of(plugin: Path | None) -> str:
    """Of a plugin's library, or of jaxlib's own XLA when there is none."""
    return OWN_CPU if plugin is None else register_plugin(plugin.resolve())


@dataclass(frozen=True)
class Memory:
    """Bytes that a run takes, as XLA says it."""

    arguments: int
    outputs: int
    temporary: int


class Executable:
    """A compiled program. Arguments that it has been given once stay on the device."""

    def __init__(self, program: bytes, platform: str = OWN_CPU) -> None:
        self._device = jax.devices(platform)[0]
        self._compiled = self._device.client.compile_and_load(
            program, _jax.DeviceList((self._device,)), xla_client.CompileOptions()
        )

    def put(self, arguments: Sequence[np.ndarray]) -> list[Any]:
        """Arguments on the device, for ``call``."""
        with jax.enable_x64(True):  # keeps 64-bit arguments from being narrowed
            return [jax.device_put(argument, self._device) for argument in arguments]

    def start(self, buffers: Sequence[Any]) -> list[Any]:
        """Results in order, on the device, which may still be at work on them."""
        results = self._compiled.execute_sharded(buffers)
        return [each[0] for each in results.disassemble_into_single_device_arrays()]

    def call(self, buffers: Sequence[Any]) -> list[np.ndarray]:
        return [np.asarray(each) for each in self.start(buffers)]

    def run(self, arguments: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Results in order."""
        return self.call(self.put(arguments))

    @property
    def memory(self) -> Memory:
        stats = self._compiled.get_compiled_memory_stats()
        return Memory(
            stats.argument_size_in_bytes, stats.output_size_in_bytes, stats.temp_size_in_bytes
        )


def run_program(
    program: bytes, arguments: Sequence[np.ndarray], platform: str = OWN_CPU
) -> list[np.ndarray]:
    """Compiles text or a portable artifact, runs it once and returns its results in order."""
    return Executable(program, platform).run(arguments)
