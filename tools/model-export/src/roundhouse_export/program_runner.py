"""Runs a program file as it lies on disk, on jaxlib's own XLA or on a PJRT plugin.

Rests on parts of JAX that are not public; the pinned release is what makes that safe.
"""

from collections.abc import Sequence
from pathlib import Path

import jax
import numpy as np
from jax._src import xla_bridge
from jaxlib import _jax, xla_client

_PLUGIN_PLATFORM = "roundhouse_plugin"


def register_plugin(library: Path) -> str:
    """Makes a PJRT plugin's library a JAX platform and returns its name; call before any JAX."""
    xla_bridge.register_plugin(
        _PLUGIN_PLATFORM, library_path=str(library), options={"cpu_device_count": 1}
    )
    jax.config.update("jax_platforms", f"cpu,{_PLUGIN_PLATFORM}")
    return _PLUGIN_PLATFORM


def run_program(
    program: bytes, arguments: Sequence[np.ndarray], platform: str = "cpu"
) -> list[np.ndarray]:
    """Compiles text or a portable artifact, runs it once and returns its results in order."""
    device = jax.devices(platform)[0]
    executable = device.client.compile_and_load(
        program, _jax.DeviceList((device,)), xla_client.CompileOptions()
    )
    with jax.enable_x64(True):  # keeps 64-bit arguments from being narrowed
        buffers = [jax.device_put(argument, device) for argument in arguments]
    results = executable.execute_sharded(buffers).disassemble_into_single_device_arrays()
    return [np.asarray(shards[0]) for shards in results]
