"""Bundles of format 2.0: axes as letters, fastest first, and weights with their axes reversed."""

from pathlib import Path
from typing import Any

import numpy as np

from roundhouse_export.bundle import MANIFEST, Bundle, payload_files
from roundhouse_export.contract import BATCH, Contract, TensorSpec
from roundhouse_export.folder import replace_folder
from roundhouse_export.manifest_yaml import OneLine, to_yaml

# Batch markers of the format; b is never used here, but a reader takes it for the batch.
BATCH_MARKERS = ("n", "b")
_FIXED_AXIS_LETTERS = "acdefghijklmopqrstuvwxyz"
VARIABLE = -1


def write_bundle_v2(bundle: Bundle, target: Path) -> None:
    """Writes ``target`` as a format 2.0 bundle."""
    if bundle.platform_programs:
        raise ValueError("format 2.0 has no programs for one platform; write format 3")
    if bundle.serving:
        raise ValueError(f"{target}: format 2.0 has no section 'serving'; write format 3")
    stored = {name: reverse_axes(array) for name, array in bundle.weights.items()}
    files = payload_files(bundle, stored)
    replace_folder(target, {**files, MANIFEST: to_yaml(_manifest(bundle, target.name))})


def reverse_axes(array: np.ndarray) -> np.ndarray:
    """Turns a weight from device order into file order or back.

    The file's shape is the reverse of the device's, and ``file[k..1] == device[1..k]``: the bytes
    move. Tensors on the wire only have their shape written backwards; their bytes stay.
    """
    return np.asarray(array.T, order="C")


def _manifest(bundle: Bundle, name: str) -> dict[str, Any]:
    contract = bundle.contract
    manifest: dict[str, Any] = {
        "format_version": "2.0",
        "name": name,
        "description": bundle.description,
        "kind": "model",
        "executable_inputs": [_tensor(tensor, contract) for tensor in contract.inputs],
        "executable_outputs": [_tensor(tensor, contract) for tensor in contract.outputs],
    }
    if contract.batch_sizes:
        manifest["batching"] = {"compiled_batch_sizes": list(contract.batch_sizes)}
    if contract.variants:
        manifest["input_shapes"] = [
            OneLine(sorted(variant.items())) for variant in contract.variants
        ]
    manifest["provenance"] = dict(bundle.provenance)
    return manifest


def _tensor(tensor: TensorSpec, contract: Contract) -> OneLine:
    variable = set().union(*(t.variable_letters for t in contract.inputs))
    if variable & set(BATCH_MARKERS):
        raise ValueError(f"axis letters {BATCH_MARKERS} mean the batch in format 2.0; use others")
    if tensor.labels is not None:
        raise ValueError(f"tensor '{tensor.name}': format 2.0 has no labels")
    free = iter(letter for letter in _FIXED_AXIS_LETTERS if letter not in variable)
    letters: list[str] = []
    dims: dict[str, int] = {}
    for axis in reversed(tensor.shape):
        if axis == 0:
            raise ValueError(f"tensor '{tensor.name}': format 2.0 has no axes of extent 0")
        letter = axis if isinstance(axis, str) else next(free)
        letters.append(letter)
        if letter != BATCH:
            dims[letter] = axis if isinstance(axis, int) else VARIABLE
    if len(set(letters)) != len(letters):
        raise ValueError(f"tensor '{tensor.name}': format 2.0 needs distinct letters per axis")
    return OneLine(name=tensor.name, dtype=tensor.dtype, shape="".join(letters), dims=OneLine(dims))
