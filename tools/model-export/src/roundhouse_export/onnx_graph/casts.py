"""How values change their type, which ONNX says more exactly than numpy for small floats."""

from typing import Any

import jax.numpy as jnp
import ml_dtypes
import numpy as np

from roundhouse_export.onnx_graph.arrays import is_float
from roundhouse_export.onnx_graph.registry import Value

_FEW_BITS = ("int4", "uint4", "int2", "uint2")


def is_small_float(dtype: Any) -> bool:
    """Floats of 8 bits or fewer."""
    return bool(jnp.issubdtype(dtype, jnp.floating)) and np.dtype(dtype).name.startswith(
        ("float8", "float4", "float6")
    )


def cast(value: Value, dtype: Any, saturate: bool = True) -> Value:
    """Floats are cut to whole numbers; numbers too large for a small float become its largest."""
    dtype = np.dtype(dtype)
    if value.dtype == dtype:
        return value
    numbers = np if isinstance(value, np.ndarray | np.generic) else jnp
    if is_small_float(dtype) and saturate and dtype.name != "float8_e8m0fnu":
        highest = ml_dtypes.finfo(dtype).max.astype(np.float32)
        wide = value.astype(np.float32)
        infinite = numbers.isnan(wide)
        value = numbers.where(infinite, wide, numbers.clip(wide, -highest, highest))
    if dtype == np.bool_:
        return value != 0
    if is_float(value) and np.dtype(value.dtype).itemsize < 4 and numbers is jnp:
        value = value.astype(jnp.float32)
    if is_float(value) and dtype.name in _FEW_BITS:
        value = value.astype(numbers.int32)  # what has no place loses its upper bits
    return value.astype(dtype)
