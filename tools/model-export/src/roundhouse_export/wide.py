"""What becomes of weights and inputs of 64 bits, as ``ImportOptions.wide`` has it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from roundhouse_export.contract import TensorSpec
from roundhouse_export.model import Wide
from roundhouse_export.refusal import RefusedError

_NARROW = {"f64": "f32", "i64": "i32", "u64": "u32"}
_NARROW_NUMPY = {
    np.dtype(np.float64): np.dtype(np.float32),
    np.dtype(np.int64): np.dtype(np.int32),
    np.dtype(np.uint64): np.dtype(np.uint32),
}
_ADVICE = "--wide cast makes it {narrow}, --wide keep leaves it"


def settle_weights(
    source: str, weights: Mapping[str, np.ndarray], wide: Wide
) -> dict[str, np.ndarray]:
    """Returns the weights to export; RefusedError names one that is wide, or does not fit."""
    return {name: _settled(source, name, array, wide) for name, array in weights.items()}


def settle_inputs(source: str, inputs: Sequence[TensorSpec], wide: Wide) -> tuple[TensorSpec, ...]:
    """Returns the inputs to compile for, as ``settle_weights`` does."""
    settled = []
    for spec in inputs:
        narrow = _NARROW.get(spec.dtype)
        if narrow is None or wide is Wide.KEEP:
            settled.append(spec)
        elif wide is Wide.CAST:
            settled.append(replace(spec, dtype=narrow))
        else:
            advice = _ADVICE.format(narrow=narrow)
            raise RefusedError(f"{source}: input '{spec.name}' is {spec.dtype}; {advice}")
    return tuple(settled)


def _settled(source: str, name: str, array: np.ndarray, wide: Wide) -> np.ndarray:
    narrow = _NARROW_NUMPY.get(array.dtype)
    if narrow is None or wide is Wide.KEEP:
        return array
    if wide is Wide.REFUSE:
        advice = _ADVICE.format(narrow=narrow.name)
        raise RefusedError(f"{source}: weight '{name}' is {array.dtype.name}; {advice}")
    with np.errstate(over="ignore"):
        cast = array.astype(narrow)
    fits = cast == array if narrow.kind in "iu" else np.isfinite(cast) | ~np.isfinite(array)
    if not np.all(fits):
        worst = array[~fits].flat[0]
        raise RefusedError(
            f"{source}: weight '{name}' has {worst}, which {narrow.name} cannot hold; --wide keep"
        )
    return cast
