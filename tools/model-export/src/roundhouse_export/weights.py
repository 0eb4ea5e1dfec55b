"""Weights as safetensors bytes that remember the order ``@main`` takes them in."""

import json
from collections.abc import Mapping

import numpy as np
import safetensors

from roundhouse_export import dtypes

ARGUMENT_ORDER = "argument_order"
FILE_NAME = "weights.safetensors"
_METADATA = "__metadata__"


def encode(weights: Mapping[str, np.ndarray]) -> bytes:
    """Returns the file's bytes; the mapping's own order becomes the argument order."""
    if _METADATA in weights:
        raise ValueError(f"weight '{_METADATA}': safetensors keeps that name; give it another")
    # ascontiguousarray would turn rank 0 into rank 1.
    arrays = {name: np.asarray(array, order="C") for name, array in weights.items()}
    tensors = {}
    for name, array in arrays.items():
        dtypes.token_of(array.dtype)
        tensors[name] = safetensors.TensorSpec(
            dtype=array.dtype.name,
            shape=array.shape,
            data_ptr=array.ctypes.data,
            data_len=array.nbytes,
        )
    return bytes(safetensors.serialize(tensors, {ARGUMENT_ORDER: json.dumps(list(arrays))}))


def decode(data: bytes) -> dict[str, np.ndarray]:
    """Returns the tensors in argument order."""
    order = json.loads(_metadata(data).get(ARGUMENT_ORDER, "[]"))
    tensors = {
        name: np.frombuffer(
            bytes(entry["data"]), dtype=dtypes.from_safetensors(entry["dtype"])
        ).reshape(entry["shape"])
        for name, entry in safetensors.deserialize(data)
    }
    if sorted(order) != sorted(tensors):
        raise ValueError(
            f"{ARGUMENT_ORDER} names {sorted(order)} but the file holds {sorted(tensors)}"
        )
    return {name: tensors[name] for name in order}


def _metadata(data: bytes) -> dict[str, str]:
    header_length = int.from_bytes(data[:8], "little")
    metadata: dict[str, str] = json.loads(data[8 : 8 + header_length]).get(_METADATA, {})
    return metadata
