"""A bundle of format 3 as it lies in its folder: what it says, and its programs to run."""

import functools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from jax.interpreters.mlir import make_ir_context
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from roundhouse_export import weights
from roundhouse_export.bundle import MANIFEST, digest_problems
from roundhouse_export.contract import CPU, Contract, ProgramKey, TensorSpec
from roundhouse_export.index_bounds import index_bounds
from roundhouse_export.program_runner import Executable, platform_of
from roundhouse_export.refusal import RefusedError

_CODE = ("Model.java", "model.jar")
_PRODUCTS = ("stablehlo.dot_general", "stablehlo.dot", "stablehlo.convolution")


class StoredBundle:
    """RefusedError when the folder is no bundle, or when a file is not what the manifest says."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if not (folder / MANIFEST).is_file():
            raise RefusedError(f"{folder}: no {MANIFEST}, so this is no bundle")
        try:
            self.manifest: dict[str, Any] = yaml.safe_load((folder / MANIFEST).read_bytes())
            version = str(self.manifest["format_version"])
        except (yaml.YAMLError, TypeError, KeyError) as e:
            first = str(e).splitlines()[0]
            raise RefusedError(f"{folder / MANIFEST}: not a manifest: {first}") from e
        if version != "3":
            raise RefusedError(
                f"{folder}: format {version}; make it one of format 3 with "
                f"'roundhouse-export convert {folder} --out DIR'"
            )
        problems = digest_problems(folder)
        if problems:
            raise RefusedError(f"{folder}: {problems[0]}")
        kind = self.manifest.get("kind", "model")
        if kind != "model":
            raise RefusedError(f"{folder}: of kind {kind}, which has no programs of its own")
        trim = self.manifest.get("trim", ())
        try:
            self.contract = Contract(
                tuple(_tensor(each) for each in self.manifest["inputs"]),
                tuple(_tensor(each) for each in self.manifest["outputs"]),
                tuple(self.manifest.get("batch_sizes", ())),
                tuple(self.manifest.get("variants", ())),
                self.manifest.get("pad", {}),
                tuple(trim) if isinstance(trim, list) else trim,
            )
        except ValueError as e:
            raise RefusedError(f"{folder / MANIFEST}: {e}") from e

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def code(self) -> str | None:
        """The file of its hooks, if it has any."""
        return next((name for name in _CODE if (self.folder / name).exists()), None)

    @property
    def output_names(self) -> list[str]:
        return [spec.name for spec in self.contract.outputs]

    @functools.cached_property
    def weights(self) -> dict[str, np.ndarray]:
        return weights.decode((self.folder / weights.FILE_NAME).read_bytes())

    def program(self, key: ProgramKey, platform: str = CPU) -> bytes:
        """The file that is run on a platform: its own where there is one."""
        own = self.folder / key.platform_file_name(platform)
        return (own if own.exists() else self.folder / key.file_name).read_bytes()

    def files(self) -> Iterator[tuple[ProgramKey, str]]:
        """Every program's files that a CPU can run: the one for all platforms, and its own."""
        for key in self.contract.programs():
            for name in (key.file_name, key.platform_file_name(CPU)):
                if (self.folder / name).exists():
                    yield key, name

    def executable_of(self, file_name: str, plugin: Path | None = None) -> Executable:
        return Executable((self.folder / file_name).read_bytes(), platform_of(plugin))

    def module_text(self, key: ProgramKey) -> str:
        """The program as readable StableHLO."""
        data = self.program(key)
        with make_ir_context() as context:
            module = (
                stablehlo.deserialize_portable_artifact(context, data)
                if data[:4] == b"ML\xefR"
                else ir.Module.parse(data.decode())
            )
            return str(module)

    def products(self, key: ProgramKey) -> int:
        """How many dots and convolutions there are, which is how far rounding can add up."""
        text = self.module_text(key)
        return sum(text.count(f"{product} ") for product in _PRODUCTS)

    def index_bounds(self, key: ProgramKey) -> dict[str, int]:
        """By input, how many different numbers the program may be given as its indices."""
        names = [spec.name for spec in self.contract.inputs]
        bounds = index_bounds(self.module_text(key), len(names))
        return {n: bound for n, bound in zip(names, bounds, strict=True) if bound is not None}

    def executable(self, key: ProgramKey, plugin: Path | None = None) -> Executable:
        return Executable(self.program(key), platform_of(plugin))

    def arguments(self, inputs: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """Inputs and then weights, as ``@main`` takes them."""
        return [inputs[spec.name] for spec in self.contract.inputs] + list(self.weights.values())


def _tensor(entry: Mapping[str, Any]) -> TensorSpec:
    return TensorSpec(entry["name"], entry["dtype"], tuple(entry["shape"]), entry.get("labels"))
