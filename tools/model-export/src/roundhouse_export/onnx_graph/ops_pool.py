"""Pools: a number for every window."""

import itertools
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from roundhouse_export.onnx_graph.arrays import is_float, known_ints
from roundhouse_export.onnx_graph.registry import Node, Value, operator
from roundhouse_export.onnx_graph.windows import Windows, windows_of


def _lowest(x: Value) -> Any:
    if is_float(x):
        return np.asarray(-np.inf, x.dtype)
    return np.asarray(jnp.iinfo(x.dtype).min, x.dtype)


def _reduced(x: Value, windows: Windows, start: Any, combine: Callable[..., Any]) -> Value:
    reach = windows.reach(x.shape[2:])
    kept = (
        slice(0, extent + min(after, 0))
        for extent, (_, after) in zip(x.shape[2:], reach, strict=True)
    )
    x = jnp.asarray(x)[(slice(None), slice(None), *kept)]
    return lax.reduce_window(
        x,
        start,
        combine,
        (1, 1, *windows.kernel),
        (1, 1, *windows.strides),
        ((0, 0), (0, 0), *((before, max(after, 0)) for before, after in reach)),
        window_dilation=(1, 1, *windows.dilations),
    )


@operator("MaxPool")
def max_pool(node: Node, x: Value) -> Value:
    windows = windows_of(node, x.shape[2:], node.get("kernel_shape"))
    if len(node.outputs) > 1 and node.outputs[1]:
        return _max_with_places(node, jnp.asarray(x), windows)
    return _reduced(x, windows, _lowest(x), lax.max)


def _max_with_places(node: Node, x: Value, windows: Windows) -> tuple[Value, Value]:
    """The second output says where in the whole input, as one row, each maximum was."""
    extents = x.shape[2:]
    places = np.arange(int(np.prod(extents))).reshape(extents)
    if node.get("storage_order", 0):
        places = np.arange(places.size).reshape(extents[::-1]).transpose()
    values, found = [], []
    for tap in itertools.product(*(range(size) for size in windows.kernel)):
        at = [
            np.arange(count) * stride - before + step * dilation
            for count, stride, (before, _), step, dilation in zip(
                windows.outputs, windows.strides, windows.pads, tap, windows.dilations, strict=True
            )
        ]
        mask = np.ones((), np.bool_)
        for each, n in zip(at, extents, strict=True):
            mask = mask[..., None] & ((each >= 0) & (each < n))
        clipped = [np.clip(each, 0, n - 1) for each, n in zip(at, extents, strict=True)]
        grid = np.ix_(*clipped)
        values.append(jnp.where(mask, x[(slice(None), slice(None), *grid)], _lowest(x)))
        found.append(places[grid])
    stacked = jnp.stack(values)
    best = jnp.argmax(stacked, axis=0)
    shape = (len(found), *best.shape)
    every = jnp.broadcast_to(np.stack(found)[:, None, None], shape)
    where = jnp.take_along_axis(every, best[None], axis=0)[0]
    planes = np.arange(x.shape[0] * x.shape[1]).reshape(x.shape[:2] + (1,) * len(extents))
    return jnp.max(stacked, axis=0), where + planes * int(np.prod(extents))


@operator("AveragePool")
def average_pool(node: Node, x: Value) -> Value:
    windows = windows_of(node, x.shape[2:], node.get("kernel_shape"))
    total = _reduced(x, windows, np.zeros((), x.dtype), lax.add)
    counts = np.ones((), np.float64)
    for axis, extent in enumerate(x.shape[2:]):
        before, after = windows.pads[axis] if node.get("count_include_pad", 0) else (0, 0)
        starts = np.arange(windows.outputs[axis]) * windows.strides[axis] - windows.pads[axis][0]
        taps = starts[:, None] + np.arange(windows.kernel[axis]) * windows.dilations[axis]
        inside = ((taps >= -before) & (taps < extent + after)).sum(1)
        counts = counts[..., None] * inside
    return total / np.maximum(counts, 1).astype(x.dtype)


@operator("LpPool")
def lp_pool(node: Node, x: Value) -> Value:
    windows = windows_of(node, x.shape[2:], node.get("kernel_shape"))
    p = node.get("p", 2)
    total = _reduced(jnp.abs(x) ** p, windows, np.zeros((), x.dtype), lax.add)
    return total ** (1 / p)


def _everywhere(x: Value) -> tuple[int, ...]:
    return tuple(range(2, x.ndim))


@operator("GlobalAveragePool")
def global_average_pool(_node: Node, x: Value) -> Value:
    return jnp.mean(x, _everywhere(x), keepdims=True)


@operator("GlobalMaxPool")
def global_max_pool(_node: Node, x: Value) -> Value:
    return jnp.max(x, _everywhere(x), keepdims=True)


@operator("GlobalLpPool")
def global_lp_pool(node: Node, x: Value) -> Value:
    p = node.get("p", 2)
    return jnp.sum(jnp.abs(x) ** p, _everywhere(x), keepdims=True) ** (1 / p)


@operator("MaxUnpool")
def max_unpool(node: Node, x: Value, places: Value, shape: Value = None) -> Value:
    windows = node.get("kernel_shape")
    strides = node.get("strides") or [1] * len(windows)
    pads = node.get("pads") or [0] * (2 * len(windows))
    natural = [
        (count - 1) * stride + size - pads[axis] - pads[len(windows) + axis]
        for axis, (count, stride, size) in enumerate(
            zip(x.shape[2:], strides, windows, strict=True)
        )
    ]
    natural = [*x.shape[:2], *natural]
    wanted = natural if shape is None else known_ints(node, shape, "output_shape")
    flat = jnp.zeros(int(np.prod(natural)), x.dtype)
    flat = flat.at[jnp.reshape(places, -1)].set(jnp.reshape(x, -1))
    grown = [(0, w - n) for w, n in zip(wanted, natural, strict=True)]
    return jnp.pad(flat.reshape(natural), grown)
