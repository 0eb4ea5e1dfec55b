"""What operators ask of values: whether they are known at export, and what they hold then."""

from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from roundhouse_export.onnx_graph.registry import Node, Value
from roundhouse_export.refusal import RefusedError


class UnknownAtExportError(RefusedError):
    """A program has fixed shapes, and what would fix one depends on the data."""


def is_known(*values: Value) -> bool:
    return all(value is None or isinstance(value, np.ndarray | np.generic) for value in values)


def numbers_of(*values: Value) -> ModuleType:
    """Returns numpy for values that are all known, so that computing with shapes stays cheap."""
    return np if is_known(*values) else jnp


def known(node: Node, value: Value, what: str) -> np.ndarray:
    """Returns a value that has to be known at export; ``what`` names it in the refusal."""
    if isinstance(value, jax.core.Tracer):
        refusal = node.refuse(
            f"{what} depends on the data of a request, and programs have fixed shapes; "
            f"make {what} a constant of the model"
        )
        raise UnknownAtExportError(str(refusal))
    return np.asarray(value)


def known_ints(node: Node, value: Value, what: str) -> list[int]:
    return [int(each) for each in known(node, value, what).reshape(-1)]


def known_int(node: Node, value: Value, what: str) -> int:
    values = known_ints(node, value, what)
    if len(values) != 1:
        raise node.refuse(f"{what} must be one number; it has {len(values)}")
    return values[0]


def axis_of(node: Node, axis: int, rank: int) -> int:
    """Returns an axis counted from the front."""
    if not -rank <= axis < max(rank, 1):
        raise node.refuse(f"axis {axis} of a tensor with {rank} axes")
    return axis % rank if rank else 0


def axes_of(node: Node, axes: Any, rank: int) -> tuple[int, ...]:
    return tuple(axis_of(node, int(axis), rank) for axis in axes)


def is_float(value: Value) -> bool:
    return bool(jnp.issubdtype(value.dtype, jnp.floating))


def in_f32(value: Value) -> Value:
    """Floats of 16 bits or fewer lose too much in sums; ONNX computes such steps in f32."""
    return jnp.asarray(value, jnp.float32) if value.dtype.itemsize < 4 else value
