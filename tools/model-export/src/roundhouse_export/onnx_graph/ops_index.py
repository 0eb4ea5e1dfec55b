"""Gathers and scatters. Indices become 32-bit: no tensor here has more elements along an axis."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from roundhouse_export.onnx_graph.arrays import axis_of, is_known, known, known_int
from roundhouse_export.onnx_graph.registry import Node, Value, operator


def _from_front(indices: Value, extent: int) -> Value:
    indices = jnp.asarray(indices)
    return jnp.where(indices < 0, indices + extent, indices).astype(jnp.int32)


@operator("Gather")
def gather(node: Node, x: Value, indices: Value) -> Value:
    axis = axis_of(node, node.get("axis", 0), x.ndim)
    if is_known(x, indices):
        return np.take(x, indices, axis=axis)
    if is_known(indices) and np.ndim(indices) == 0:
        return jax.lax.index_in_dim(jnp.asarray(x), int(indices), axis, keepdims=False)
    return jnp.take(x, _from_front(indices, x.shape[axis]), axis=axis, mode="clip")


@operator("GatherElements")
def gather_elements(node: Node, x: Value, indices: Value) -> Value:
    axis = axis_of(node, node.get("axis", 0), x.ndim)
    at = list(jnp.indices(indices.shape, dtype=jnp.int32, sparse=True))
    at[axis] = _from_front(indices, x.shape[axis])
    return jnp.asarray(x)[tuple(at)]


@operator("GatherND")
def gather_nd(node: Node, x: Value, indices: Value) -> Value:
    batch = node.get("batch_dims", 0)

    def take(data: Value, where: Value) -> Value:
        return data[tuple(jnp.moveaxis(where, -1, 0))]

    for _ in range(batch):
        take = jax.vmap(take)
    return take(jnp.asarray(x), jnp.asarray(indices))


def _combined(at: Any, updates: Value, how: str) -> Value:
    match how:
        case "add":
            return at.add(updates)
        case "mul":
            return at.multiply(updates)
        case "max":
            return at.max(updates)
        case "min":
            return at.min(updates)
    return at.set(updates)


@operator("ScatterElements", "Scatter")
def scatter_elements(node: Node, x: Value, indices: Value, updates: Value) -> Value:
    axis = axis_of(node, node.get("axis", 0), x.ndim)
    at = list(jnp.indices(indices.shape, dtype=jnp.int32, sparse=True))
    at[axis] = _from_front(indices, x.shape[axis])
    return _combined(jnp.asarray(x).at[tuple(at)], updates, node.get("reduction", "none"))


@operator("ScatterND")
def scatter_nd(node: Node, x: Value, indices: Value, updates: Value) -> Value:
    at = tuple(jnp.moveaxis(jnp.asarray(indices), -1, 0))
    return _combined(jnp.asarray(x).at[at], updates, node.get("reduction", "none"))


@operator("TensorScatter")
def tensor_scatter(node: Node, past: Value, update: Value, starts: Value = None) -> Value:
    """Writes ``update`` into a cache, each row of the batch from its own place on."""
    axis = axis_of(node, node.get("axis", -2), past.ndim)
    starts = np.zeros(past.shape[0], np.int64) if starts is None else starts
    at = jnp.asarray(starts)[:, None] + np.arange(update.shape[axis])
    if node.get("mode", "linear") == "circular":
        at = at % past.shape[axis]
    cache = jnp.moveaxis(past, axis, 1)
    rows = np.arange(past.shape[0])[:, None]
    return jnp.moveaxis(cache.at[rows, at].set(jnp.moveaxis(update, axis, 1)), 1, axis)


@operator("OneHot")
def one_hot(node: Node, indices: Value, depth: Value, values: Value) -> Value:
    count = known_int(node, depth, "depth")
    axis = axis_of(node, node.get("axis", -1), indices.ndim + 1)
    at = jnp.asarray(indices).astype(jnp.int64)
    at = jnp.expand_dims(jnp.where(at < 0, at + count, at), axis)
    shape = [1] * (indices.ndim + 1)
    shape[axis] = count
    return jnp.where(at == np.arange(count).reshape(shape), values[1], values[0])


@operator("Compress")
def compress(node: Node, x: Value, condition: Value) -> Value:
    kept = np.flatnonzero(known(node, condition, "its condition"))
    axis = node.get("axis")
    return jnp.take(jnp.reshape(x, -1) if axis is None else x, kept, axis=axis or 0)


@operator("NonZero")
def non_zero(node: Node, x: Value) -> Value:
    return np.stack(np.nonzero(known(node, x, "its input"))).astype(np.int64)
