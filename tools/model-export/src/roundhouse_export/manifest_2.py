"""What a manifest of format 2.0 says, as a contract with row-major axes."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from roundhouse_export.bundle import MANIFEST
from roundhouse_export.bundle_v2 import BATCH_MARKERS, VARIABLE
from roundhouse_export.contract import BATCH, Axis, TensorSpec, Variant
from roundhouse_export.refusal import RefusedError


@dataclass(frozen=True)
class Manifest2:
    """``batch_sizes`` are those that the manifest lists; files may hold more."""

    description: str
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    batch_sizes: tuple[int, ...]
    variants: tuple[Variant, ...]
    provenance: Mapping[str, str]


def read_manifest_2(folder: Path) -> Manifest2:
    """Reads ``manifest.yaml``; RefusedError for what is no model of format 2.0."""
    path = folder / MANIFEST
    try:
        found = yaml.safe_load(path.read_bytes())
    except OSError as error:
        raise RefusedError(f"{path}: {error.strerror}; a bundle has such a file") from error
    except yaml.YAMLError as error:
        at = getattr(error, "problem_mark", None)
        line = f" in line {at.line + 1}" if at else ""
        raise RefusedError(f"{path} is no YAML{line}") from error
    if not isinstance(found, dict) or str(found.get("format_version")) not in ("2.0", "2"):
        version = found.get("format_version") if isinstance(found, dict) else None
        raise RefusedError(f"{path}: format_version is {version}; convert takes 2.0")
    _require_plain_model(path, found)
    letters = _Letters(path, found)
    return Manifest2(
        description=str(found.get("description") or ""),
        inputs=letters.tensors("executable_inputs"),
        outputs=letters.tensors("executable_outputs"),
        batch_sizes=_batch_sizes(path, found),
        variants=letters.variants(),
        provenance={
            str(key): value if isinstance(value, str) else json.dumps(value, default=str)
            for key, value in (found.get("provenance") or {}).items()
        },
    )


def _require_plain_model(path: Path, found: Mapping[str, Any]) -> None:
    kind = found.get("kind", "model")
    if kind != "model":
        raise RefusedError(
            f"{path}: kind is {kind}, whose code must be written anew; not converted"
        )
    if "client_inputs" in found or "client_outputs" in found or (path.parent / "model.jl").exists():
        raise RefusedError(
            f"{path}: the model has code of its own (model.jl or a client contract), which must be "
            "written anew; remove it to convert the model without"
        )


def _batch_sizes(path: Path, found: Mapping[str, Any]) -> tuple[int, ...]:
    sizes = (found.get("batching") or {}).get("compiled_batch_sizes") or []
    if not isinstance(sizes, list) or any(type(size) is not int or size < 1 for size in sizes):
        raise RefusedError(f"{path}: batching.compiled_batch_sizes is {sizes}; sizes are 1 or more")
    return tuple(sorted(set(sizes)))


class _Letters:
    """Axes of format 2.0 are letters, fastest axis first; a letter may be of either case."""

    def __init__(self, path: Path, found: Mapping[str, Any]) -> None:
        self._path = path
        self._found = found
        self._renamed: dict[str, str] = {}
        for section in ("executable_inputs", "executable_outputs"):
            for tensor in found.get(section) or []:
                dims = tensor.get("dims") if isinstance(tensor, dict) else None
                for letter, size in (dims or {}).items():
                    if size == VARIABLE:
                        self._name(str(letter))

    def _name(self, letter: str) -> None:
        """Gives a variable axis its letter here: the same where format 3 allows it."""
        if letter in self._renamed:
            return
        free = (each for each in (letter, *"stuvwxyzacdefghijklmopqr") if self._is_free(each))
        self._renamed[letter] = next(free)

    def _is_free(self, letter: str) -> bool:
        lower = "a" <= letter <= "z" and letter not in BATCH_MARKERS
        return lower and letter not in self._renamed.values()

    def tensors(self, section: str) -> tuple[TensorSpec, ...]:
        tensors = self._found.get(section)
        if not isinstance(tensors, list) or not tensors:
            raise RefusedError(f"{self._path}: {section} is missing or empty")
        return tuple(self._tensor(section, entry) for entry in tensors)

    def _tensor(self, section: str, entry: Any) -> TensorSpec:
        if not isinstance(entry, dict) or not {"name", "dtype", "shape"} <= set(entry):
            raise RefusedError(
                f"{self._path}: {section} has {entry}; a tensor has name, dtype, shape and dims"
            )
        name, shape, dims = str(entry["name"]), str(entry["shape"]), entry.get("dims") or {}
        if not re.fullmatch("[a-zA-Z]*", shape) or len(set(shape)) != len(shape):
            raise RefusedError(
                f"{self._path}: tensor '{name}' has shape '{shape}'; it must be distinct letters"
            )
        axes = tuple(self._axis(name, letter, dims) for letter in reversed(shape))
        if BATCH in axes[1:]:
            raise RefusedError(
                f"{self._path}: the batch of tensor '{name}' (shape '{shape}') is not its slowest "
                "axis, and format 3 has it nowhere else; export the model anew with it last"
            )
        try:
            return TensorSpec(name, str(entry["dtype"]), axes)
        except ValueError as refusal:
            raise RefusedError(f"{self._path}: tensor '{name}': {refusal}") from refusal

    def _axis(self, name: str, letter: str, dims: Mapping[str, Any]) -> Axis:
        if letter in BATCH_MARKERS:
            return BATCH
        size = dims.get(letter)
        if type(size) is not int or not (size > 0 or size == VARIABLE):
            raise RefusedError(
                f"{self._path}: tensor '{name}' has no size for axis '{letter}'; dims gives each "
                "axis but the batch a number above 0, or -1 where it varies"
            )
        return self._renamed[letter] if size == VARIABLE else size

    def variants(self) -> tuple[Variant, ...]:
        listed = self._found.get("input_shapes") or []
        for entry in listed:
            if not isinstance(entry, dict) or set(map(str, entry)) != set(self._renamed):
                raise RefusedError(
                    f"{self._path}: input_shapes has {entry}; it sizes {sorted(self._renamed)}"
                )
        return tuple({self._renamed[str(k)]: size for k, size in each.items()} for each in listed)
