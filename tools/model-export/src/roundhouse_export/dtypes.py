"""Element types by their manifest token, and what numpy and safetensors call them."""

import ml_dtypes
import numpy as np

_NUMPY_BY_TOKEN: dict[str, np.dtype] = {
    token: np.dtype(scalar)
    for token, scalar in {
        "f64": np.float64,
        "f32": np.float32,
        "f16": np.float16,
        "bf16": ml_dtypes.bfloat16,
        "f8_e5m2": ml_dtypes.float8_e5m2,
        "f8_e4m3": ml_dtypes.float8_e4m3fn,
        "i64": np.int64,
        "i32": np.int32,
        "i16": np.int16,
        "i8": np.int8,
        "u64": np.uint64,
        "u32": np.uint32,
        "u16": np.uint16,
        "u8": np.uint8,
        "bool": np.bool_,
    }.items()
}
_TOKEN_BY_NUMPY = {dtype: token for token, dtype in _NUMPY_BY_TOKEN.items()}

TOKENS = tuple(_NUMPY_BY_TOKEN)
# The protocol has no name for these, so no caller can send or receive them.
DEVICE_ONLY_TOKENS = ("f8_e5m2", "f8_e4m3")


def numpy_dtype(token: str) -> np.dtype:
    """Returns the numpy type of a manifest token; ValueError for an unknown one."""
    try:
        return _NUMPY_BY_TOKEN[token]
    except KeyError:
        raise ValueError(f"dtype '{token}' is unknown; use one of {', '.join(TOKENS)}") from None


def token_of(dtype: np.dtype) -> str:
    """Returns the manifest token of a numpy type; ValueError when bundles cannot hold it."""
    try:
        return _TOKEN_BY_NUMPY[np.dtype(dtype)]
    except KeyError:
        raise ValueError(
            f"numpy type {np.dtype(dtype).name} has no place in a bundle; "
            f"convert to one of {', '.join(TOKENS)}"
        ) from None


def from_safetensors(name: str) -> np.dtype:
    """Returns the numpy type of a safetensors header's dtype, such as ``BF16`` or ``F8_E4M3``."""
    return numpy_dtype(name.lower())
