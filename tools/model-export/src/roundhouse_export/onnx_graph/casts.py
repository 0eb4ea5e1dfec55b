"""How values change their type, which ONNX says more exactly than numpy for small floats."""

from typing import Any

import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax

from roundhouse_export.onnx_graph.arrays import is_float
from roundhouse_export.onnx_graph.registry import Value

_BIAS = 127
_FEW_BITS = ("int4", "uint4", "int2", "uint2")


def is_small_float(dtype: Any) -> bool:
    """Floats of 8 bits or fewer."""
    return bool(jnp.issubdtype(dtype, jnp.floating)) and np.dtype(dtype).name.startswith(
        ("float8", "float4", "float6")
    )


def power_of_two(value: Value, rounding: str) -> Value:
    """The type of 8 bits that are an exponent alone; nought becomes its smallest power."""
    wide = jnp.abs(jnp.asarray(value).astype(jnp.float32))
    share, exponent = jnp.frexp(wide)  # the share is at least a half and less than 1
    match rounding:
        case "down":
            power = exponent - 1
        case "nearest":
            power = jnp.where(share >= 0.75, exponent, exponent - 1)
        case _:
            power = jnp.where(share > 0.5, exponent, exponent - 1)
    power = jnp.where(wide == 0, -_BIAS, jnp.where(jnp.isinf(wide), _BIAS, power))
    bits = jnp.clip(power, -_BIAS, _BIAS) + _BIAS
    bits = jnp.where(jnp.isnan(wide), 2 * _BIAS + 1, bits).astype(jnp.uint8)
    return lax.bitcast_convert_type(bits, jnp.float8_e8m0fnu)


def cast(value: Value, dtype: Any, saturate: bool = True, rounding: str = "up") -> Value:
    """Floats are cut to whole numbers; numbers too large for a small float become its largest."""
    dtype = np.dtype(dtype)
    if value.dtype == dtype:
        return value
    numbers = np if isinstance(value, np.ndarray | np.generic) else jnp
    if dtype.name == "float8_e8m0fnu":
        return power_of_two(value, rounding)
    if is_small_float(dtype) and saturate:
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
