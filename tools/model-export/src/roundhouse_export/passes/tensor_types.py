"""Tensor types of MLIR as shapes and numpy types."""

import jax
import numpy as np
from jaxlib.mlir import ir

from roundhouse_export import dtypes

_TOKENS = {
    "i1": "bool",
    "f8E5M2": "f8_e5m2",
    "f8E4M3FN": "f8_e4m3",
    **{f"ui{bits}": f"u{bits}" for bits in (8, 16, 32, 64)},
    **{name: name for name in ("f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8")},
}
_MLIR_NAMES = {token: name for name, token in _TOKENS.items()}


def struct_of(mlir_type: ir.Type) -> jax.ShapeDtypeStruct | None:
    """Returns shape and type; None for what a bundle cannot hold (complex, quantised, tuples)."""
    if not isinstance(mlir_type, ir.RankedTensorType) or not mlir_type.has_static_shape:
        return None
    token = _TOKENS.get(str(mlir_type.element_type))
    if token is None:
        return None
    return jax.ShapeDtypeStruct(tuple(mlir_type.shape), dtypes.numpy_dtype(token))


def type_of(array: np.ndarray | jax.ShapeDtypeStruct) -> ir.Type:
    """Returns the tensor type of an array, in the present context."""
    element = _MLIR_NAMES[dtypes.token_of(np.dtype(array.dtype))]
    sizes = "".join(f"{size}x" for size in array.shape)
    return ir.Type.parse(f"tensor<{sizes}{element}>")


def byte_size(mlir_type: ir.Type) -> int | None:
    """Returns how many bytes a bundle stores; None for what it cannot hold."""
    struct = struct_of(mlir_type)
    return (
        None
        if struct is None
        else int(np.prod(struct.shape, dtype=np.int64)) * (struct.dtype.itemsize)
    )
