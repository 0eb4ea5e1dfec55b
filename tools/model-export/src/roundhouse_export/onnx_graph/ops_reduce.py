"""Reductions, and what orders elements along an axis."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import jax.scipy.special
import numpy as np
from jax import lax

from roundhouse_export.onnx_graph.arrays import axes_of, known, known_int, known_ints
from roundhouse_export.onnx_graph.registry import Node, Value, operator

_REDUCTIONS: dict[str, Callable[..., Any]] = {
    "ReduceSum": jnp.sum,
    "ReduceMean": jnp.mean,
    "ReduceMax": jnp.max,
    "ReduceMin": jnp.min,
    "ReduceProd": jnp.prod,
    "ReduceL1": lambda x, **how: jnp.sum(jnp.abs(x), **how),
    "ReduceL2": lambda x, **how: jnp.sqrt(jnp.sum(jnp.square(x), **how)),
    "ReduceSumSquare": lambda x, **how: jnp.sum(jnp.square(x), **how),
    "ReduceLogSum": lambda x, **how: jnp.log(jnp.sum(x, **how)),
    "ReduceLogSumExp": jax.scipy.special.logsumexp,
}
_EMPTY = {"ReduceMax": -1, "ReduceMin": 1}


def _register(name: str, reduction: Callable[..., Any]) -> None:
    @operator(name)
    def reduce(node: Node, x: Value, axes: Value = None) -> Value:
        given = node.get("axes") if axes is None else known_ints(node, axes, "axes")
        if not given and node.get("noop_with_empty_axes", 0):
            return _of_single(name, x)
        over = axes_of(node, given, x.ndim) if given else tuple(range(x.ndim))
        keep = bool(node.get("keepdims", 1))
        if name in _EMPTY and any(x.shape[axis] == 0 for axis in over):
            kept = [1 if axis in over else extent for axis, extent in enumerate(x.shape)]
            shape = [n for axis, n in enumerate(kept) if keep or axis not in over]
            return np.full(shape, _limit(x.dtype, _EMPTY[name]), x.dtype)
        return reduction(jnp.asarray(x), axis=over, keepdims=keep).astype(x.dtype)


def _of_single(name: str, x: Value) -> Value:
    """What a reduction over no axis makes of each element."""
    match name:
        case "ReduceL1" | "ReduceL2":
            return jnp.abs(x)
        case "ReduceSumSquare":
            return jnp.square(x)
        case "ReduceLogSum":
            return jnp.log(x)
    return x


def _limit(dtype: Any, sign: int) -> Any:
    if dtype == np.bool_:
        return sign > 0
    if jnp.issubdtype(dtype, jnp.floating):
        return sign * np.inf
    return jnp.iinfo(dtype).max if sign > 0 else jnp.iinfo(dtype).min


for _name, _reduction in _REDUCTIONS.items():
    _register(_name, _reduction)


def _extreme(node: Node, x: Value, find: Callable[..., Any]) -> Value:
    axis = node.get("axis", 0)
    x = jnp.asarray(x)
    if node.get("select_last_index", 0):
        found = x.shape[axis] - 1 - _found(find, jnp.flip(x, axis), axis)
    else:
        found = _found(find, x, axis)
    found = found.astype(jnp.int64)
    return found if node.get("keepdims", 1) else jnp.squeeze(found, axis)


def _found(find: Callable[..., Any], x: Any, axis: int) -> Any:
    """Positions of 32 bits: lowered where JAX has no others, those of 64 are not well formed."""
    axis %= x.ndim
    return jnp.expand_dims(find(x, axis, jnp.int32), axis)


@operator("ArgMax")
def arg_max(node: Node, x: Value) -> Value:
    return _extreme(node, x, lax.argmax)


@operator("ArgMin")
def arg_min(node: Node, x: Value) -> Value:
    return _extreme(node, x, lax.argmin)


@operator("TopK")
def top_k(node: Node, x: Value, k: Value = None) -> tuple[Value, Value]:
    count = node.get("k") if k is None else known_int(node, k, "k")
    axis = node.get("axis", -1)
    x = jnp.asarray(x)
    order = jnp.argsort(x, axis=axis, stable=True, descending=bool(node.get("largest", 1)))
    order = jnp.take(order, np.arange(count), axis=axis)
    return jnp.take_along_axis(x, order, axis=axis), order.astype(jnp.int64)


@operator("Unique")
def unique(node: Node, x: Value) -> tuple[Value, ...]:
    """How many there are depends on the data, so it can only be computed at export."""
    x = known(node, x, "its input")
    axis = node.get("axis")
    found, first, inverse, counts = np.unique(
        x, return_index=True, return_inverse=True, return_counts=True, axis=axis
    )
    inverse = inverse.reshape(-1)
    if not node.get("sorted", 1):
        order = np.argsort(first)
        back = np.argsort(order)
        found = np.take(found, order, axis=0 if axis is None else axis)
        first, counts, inverse = first[order], counts[order], back[inverse]
    return (
        found,
        first.astype(np.int64),
        inverse.astype(np.int64),
        counts.astype(np.int64),
    )[: len(node.outputs)]
