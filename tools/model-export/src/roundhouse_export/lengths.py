"""``pad`` and ``trim`` of a manifest, held to the rules that the server reads them by."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from roundhouse_export import dtypes

if TYPE_CHECKING:
    from roundhouse_export.contract import TensorSpec

_MOST_EXACT = 2**53
"""Whole numbers up to here are what a manifest's reader takes them for."""


def length_problems(
    inputs: "Sequence[TensorSpec]", outputs: "Sequence[TensorSpec]", pad: Any, trim: Any
) -> list[str]:
    """Returns what is wrong with the two keys, in words; empty for what the server takes."""
    if not isinstance(pad, Mapping):
        return [f"pad is {_shown(pad)}, not a mapping"]
    if not isinstance(trim, list | tuple):
        return [f"trim is {_shown(trim)}, not a list"]
    if not pad:
        return ["trim is there, but nothing is padded; say in pad what is"] if trim else []
    return [*_padded(inputs, pad), *_left_out(inputs, pad), *_trimmed(inputs, outputs, pad, trim)]


def padded_letters(inputs: "Sequence[TensorSpec]", pad: Mapping[str, Any]) -> set[str]:
    """Axes in which a request may be shorter than the variant that it runs in."""
    return set().union(*(spec.variable_letters for spec in inputs if spec.name in pad))


def _padded(inputs: "Sequence[TensorSpec]", pad: Mapping[str, Any]) -> Iterator[str]:
    known = {spec.name: spec for spec in inputs}
    for name in pad:
        if name not in known:
            yield f"pad.{name} is not an input; those are {_list(known)}"
    for spec in inputs:
        if spec.name not in pad:
            continue
        value = pad[spec.name]
        if not spec.variable_letters:
            yield f"pad.{spec.name} has no variable axis, so there is nothing to pad"
        elif isinstance(value, bool) or not isinstance(value, int | float):
            yield f"pad.{spec.name} is {_shown(value)}, not a number"
        elif not math.isfinite(value):
            yield f"pad.{spec.name} is {value}, not a number"
        elif not fits(spec.dtype, value):
            yield f"pad.{spec.name} is {float(value)}, which is no value of {spec.dtype}"


def _left_out(inputs: "Sequence[TensorSpec]", pad: Mapping[str, Any]) -> Iterator[str]:
    letters = padded_letters(inputs, pad)
    for spec in inputs:
        if spec.name not in pad and spec.variable_letters & letters:
            yield (
                f"pad leaves out input '{spec.name}', which has an axis of "
                f"{_list(sorted(letters))} too; say what it is padded with"
            )


def _trimmed(
    inputs: "Sequence[TensorSpec]",
    outputs: "Sequence[TensorSpec]",
    pad: Mapping[str, Any],
    trim: Sequence[Any],
) -> Iterator[str]:
    letters = padded_letters(inputs, pad)
    if any(not isinstance(name, str) or trim.count(name) > 1 for name in trim):
        yield "trim names an output twice, or something that is none"
    for spec in outputs:
        if spec.name in trim and not spec.variable_letters & letters:
            yield f"trim names output '{spec.name}', which has no padded axis"
    known = [spec.name for spec in outputs]
    for name in trim:
        if isinstance(name, str) and name not in known:
            yield f"trim names '{name}'; the outputs are {_list(known)}"


def fits(dtype: str, value: float) -> bool:
    """Whether a tensor of this type can be padded with a value."""
    if dtype in dtypes.DEVICE_ONLY_TOKENS:
        return False
    kind = dtypes.numpy_dtype(dtype)
    if dtype == "bool":
        return value in (0, 1)
    if kind.kind in "iu":
        lowest, highest = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
        lowest, highest = max(lowest, -_MOST_EXACT), min(highest, _MOST_EXACT)
        return value == math.floor(value) and lowest <= value <= highest
    with np.errstate(over="ignore"):
        narrow = np.float32 if dtype == "bf16" else kind.type
        return bool(np.isfinite(narrow(value)))


def _list(names: Any) -> str:
    return f"[{', '.join(names)}]"


def _shown(value: Any) -> str:
    return json.dumps(value, default=str)
