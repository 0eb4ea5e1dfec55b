"""Tensors of PyTorch as arrays of numpy and back."""

import ml_dtypes
import numpy as np
import torch

_NUMPY = {
    torch.float64: np.dtype(np.float64),
    torch.float32: np.dtype(np.float32),
    torch.float16: np.dtype(np.float16),
    torch.bfloat16: np.dtype(ml_dtypes.bfloat16),
    torch.float8_e5m2: np.dtype(ml_dtypes.float8_e5m2),
    torch.float8_e4m3fn: np.dtype(ml_dtypes.float8_e4m3fn),
    torch.int64: np.dtype(np.int64),
    torch.int32: np.dtype(np.int32),
    torch.int16: np.dtype(np.int16),
    torch.int8: np.dtype(np.int8),
    torch.uint64: np.dtype(np.uint64),
    torch.uint32: np.dtype(np.uint32),
    torch.uint16: np.dtype(np.uint16),
    torch.uint8: np.dtype(np.uint8),
    torch.bool: np.dtype(np.bool_),
}
_TORCH = {dtype: each for each, dtype in _NUMPY.items()}
_BYTES = {1: torch.uint8, 2: torch.int16}


def numpy_dtype(dtype: torch.dtype) -> np.dtype:
    """ValueError for what bundles cannot hold: complex and quantised numbers."""
    try:
        return _NUMPY[dtype]
    except KeyError:
        raise ValueError(f"{dtype} has no place in a bundle") from None


def torch_dtype(dtype: np.dtype) -> torch.dtype:
    return _TORCH[np.dtype(dtype)]


def to_numpy(tensor: torch.Tensor) -> np.ndarray:
    """Numpy has no name of its own for bfloat16 and the small floats: those go over as bytes."""
    dtype = numpy_dtype(tensor.dtype)
    plain = tensor.detach().cpu().contiguous()
    if dtype.isbuiltin == 1:
        return np.array(plain.numpy())
    return np.array(plain.view(_BYTES[dtype.itemsize]).numpy()).view(dtype)


def to_torch(array: np.ndarray, dtype: torch.dtype) -> torch.Tensor:
    """Returns a tensor of that type, in memory of its own."""
    own = np.array(array)
    if own.dtype.isbuiltin == 1:
        return torch.from_numpy(own).to(dtype)
    plain = torch.from_numpy(own.view(f"i{own.dtype.itemsize}" if own.itemsize > 1 else "u1"))
    return plain.view(torch_dtype(own.dtype)).to(dtype)
