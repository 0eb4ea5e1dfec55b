"""Operators that move, cut and repeat elements; with known inputs they are computed by numpy."""

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jax import lax
from onnx import helper

from roundhouse_export.onnx_graph.arrays import (
    axes_of,
    axis_of,
    known,
    known_int,
    known_ints,
    numbers_of,
)
from roundhouse_export.onnx_graph.registry import Node, Value, operator


@operator("Constant")
def constant(node: Node) -> Value:
    for name, value in node.attributes.items():
        match name:
            case "value" | "sparse_value":
                return value
            case "value_int" | "value_ints":
                return np.asarray(value, np.int64)
            case "value_float" | "value_floats":
                return np.asarray(value, np.float32)
    raise node.refuse(f"holds {sorted(node.attributes)}; texts have no place in a program")


@operator("ConstantOfShape")
def constant_of_shape(node: Node, shape: Value) -> Value:
    value = node.get("value", np.zeros(1, np.float32))
    return np.full(known_ints(node, shape, "its shape"), value.reshape(-1)[0], value.dtype)


@operator("Shape")
def shape(node: Node, x: Value) -> Value:
    return np.asarray(x.shape[node.get("start", 0) : node.get("end")], np.int64)


@operator("Size")
def size(_node: Node, x: Value) -> Value:
    return np.asarray(x.size, np.int64)


@operator("Identity")
def identity(_node: Node, x: Value) -> Value:
    return x


@operator("OptionalHasElement")
def optional_has_element(_node: Node, x: Value = None) -> Value:
    return np.asarray(x is not None)


@operator("OptionalGetElement")
def optional_get_element(_node: Node, x: Value) -> Value:
    return x


@operator("Dropout")
def dropout(node: Node, x: Value, ratio: Value = None, training: Value = None) -> Value:
    if training is not None and bool(known(node, training, "training_mode")):
        share = 0.5 if ratio is None else float(known(node, ratio, "ratio"))
        if share:
            raise node.refuse("training_mode is on; export the model for inference")
    return x, np.ones(x.shape, np.bool_)


@operator("Reshape")
def reshape(node: Node, x: Value, shape: Value = None) -> Value:
    wanted = node.get("shape") if shape is None else known_ints(node, shape, "its shape")
    if not node.get("allowzero", 0):
        wanted = [x.shape[i] if extent == 0 else extent for i, extent in enumerate(wanted)]
    if -1 in wanted and 0 in x.shape:
        rest = int(np.prod([extent for extent in wanted if extent != -1]))
        wanted = [0 if extent == -1 and not rest else extent for extent in wanted]
    return numbers_of(x).reshape(x, wanted)


@operator("Flatten")
def flatten(node: Node, x: Value) -> Value:
    axis = node.get("axis", 1)
    axis = axis + x.ndim if axis < 0 else axis
    before = int(np.prod(x.shape[:axis]))
    return numbers_of(x).reshape(x, (before, int(np.prod(x.shape[axis:]))))


@operator("Transpose")
def transpose(node: Node, x: Value) -> Value:
    return numbers_of(x).transpose(x, node.get("perm") or tuple(reversed(range(x.ndim))))


@operator("Squeeze")
def squeeze(node: Node, x: Value, axes: Value = None) -> Value:
    given = node.get("axes") if axes is None else known_ints(node, axes, "axes")
    return numbers_of(x).squeeze(x, None if given is None else axes_of(node, given, x.ndim))


@operator("Unsqueeze")
def unsqueeze(node: Node, x: Value, axes: Value = None) -> Value:
    given = node.get("axes") if axes is None else known_ints(node, axes, "axes")
    new = axes_of(node, given, x.ndim + len(given))
    return numbers_of(x).expand_dims(x, new)


@operator("Concat")
def concat(node: Node, *values: Value) -> Value:
    return numbers_of(*values).concatenate(values, axis=node.get("axis", 1))


@operator("Expand")
def expand(node: Node, x: Value, shape: Value) -> Value:
    wanted = np.broadcast_shapes(x.shape, tuple(known_ints(node, shape, "its shape")))
    return numbers_of(x).broadcast_to(x, wanted)


@operator("Tile", since=6)
def tile(node: Node, x: Value, repeats: Value) -> Value:
    return numbers_of(x).tile(x, known_ints(node, repeats, "repeats"))


@operator("Split")
def split(node: Node, x: Value, sizes: Value = None) -> tuple[Value, ...]:
    axis = axis_of(node, node.get("axis", 0), x.ndim)
    extent = x.shape[axis]
    given = node.get("split") if sizes is None else known_ints(node, sizes, "split")
    if given is None:
        parts = node.get("num_outputs", len(node.outputs))
        each = -(-extent // parts)
        given = [min(each, extent - each * i) for i in range(parts)]
    ends = np.cumsum(given)
    return tuple(_cut(x, axis, end - held, end) for held, end in zip(given, ends, strict=True))


def _cut(x: Value, axis: int, start: int, end: int) -> Value:
    return x[(slice(None),) * axis + (slice(int(start), int(end)),)]


@operator("Slice")
def slice_by_attributes(node: Node, x: Value) -> Value:
    starts, ends = node.get("starts"), node.get("ends")
    return _sliced(node, x, starts, ends, node.get("axes") or range(len(starts)), [1] * len(starts))


@operator("Slice", since=10)
def slice_(
    node: Node, x: Value, starts: Value, ends: Value, axes: Value = None, steps: Value = None
) -> Value:
    count = np.size(starts)
    over = range(count) if axes is None else known_ints(node, axes, "axes")
    strides = [1] * count if steps is None else known_ints(node, steps, "steps")
    first, last = known_ints(node, starts, "starts"), known_ints(node, ends, "ends")
    return _sliced(node, x, first, last, over, strides)


def _sliced(
    node: Node,
    x: Value,
    starts: Sequence[int],
    ends: Sequence[int],
    axes: Sequence[int],
    steps: Sequence[int],
) -> Value:
    cuts = [slice(None)] * x.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        axis = axis_of(node, axis, x.ndim)
        extent = x.shape[axis]
        through_first = step < 0 and end < -extent
        cuts[axis] = slice(start, None if through_first else end, step)
    return x[tuple(cuts)]


@operator("Pad")
def pad_by_attributes(node: Node, x: Value) -> Value:
    return pad(node, x, np.asarray(node.get("pads")), np.asarray(node.get("value", 0.0), x.dtype))


@operator("Pad", since=11)
def pad(node: Node, x: Value, pads: Value, value: Value = None, axes: Value = None) -> Value:
    given = known_ints(node, pads, "pads")
    over = range(x.ndim) if axes is None else known_ints(node, axes, "axes")
    half = len(given) // 2
    widths = [(0, 0)] * x.ndim
    for position, axis in enumerate(axes_of(node, over, x.ndim)):
        widths[axis] = (given[position], given[half + position])
    cuts = tuple(
        slice(max(-low, 0), extent - max(-high, 0))
        for (low, high), extent in zip(widths, x.shape, strict=True)
    )
    x = x[cuts]
    grown = [(max(low, 0), max(high, 0)) for low, high in widths]
    mode = node.get("mode", "constant")
    if mode == "constant":
        filler = np.zeros((), x.dtype) if value is None else value.reshape(())
        return lax.pad(jnp.asarray(x), jnp.asarray(filler, x.dtype), [(*w, 0) for w in grown])
    return jnp.pad(x, grown, mode=mode)


@operator("Range")
def range_(node: Node, start: Value, limit: Value, delta: Value) -> Value:
    first, last, step = (
        known(node, each, what).reshape(()).item()
        for each, what in ((start, "start"), (limit, "limit"), (delta, "delta"))
    )
    count = max(int(np.ceil((last - first) / step)), 0)
    dtype = np.asarray(start).dtype
    return (first + np.arange(count) * step).astype(dtype)


@operator("Trilu")
def trilu(node: Node, x: Value, k: Value = None) -> Value:
    offset = 0 if k is None else known_int(node, k, "k")
    numbers = numbers_of(x)
    return numbers.triu(x, offset) if node.get("upper", 1) else numbers.tril(x, offset)


@operator("EyeLike")
def eye_like(node: Node, x: Value) -> Value:
    dtype = helper.tensor_dtype_to_np_dtype(node.get("dtype")) if node.get("dtype") else x.dtype
    rows, columns = x.shape
    return np.eye(rows, columns, k=node.get("k", 0), dtype=dtype)


@operator("DepthToSpace")
def depth_to_space(node: Node, x: Value) -> Value:
    block = node.get("blocksize")
    n, c, h, w = x.shape
    if node.get("mode", "DCR") == "DCR":
        parts = jnp.reshape(x, (n, block, block, c // block**2, h, w)).transpose(0, 3, 4, 1, 5, 2)
    else:
        parts = jnp.reshape(x, (n, c // block**2, block, block, h, w)).transpose(0, 1, 4, 2, 5, 3)
    return parts.reshape(n, c // block**2, h * block, w * block)


@operator("SpaceToDepth")
def space_to_depth(node: Node, x: Value) -> Value:
    block = node.get("blocksize")
    n, c, h, w = x.shape
    order = (0, 3, 5, 1, 2, 4) if node.get("mode", "DCR") == "DCR" else (0, 1, 3, 5, 2, 4)
    parts = jnp.reshape(x, (n, c, h // block, block, w // block, block)).transpose(order)
    return parts.reshape(n, c * block**2, h // block, w // block)


@operator("ReverseSequence")
def reverse_sequence(node: Node, x: Value, lengths: Value) -> Value:
    time, batch = node.get("time_axis", 0), node.get("batch_axis", 1)
    moved = jnp.moveaxis(x, (batch, time), (0, 1))
    steps = jnp.arange(moved.shape[1])[None, :]
    ends = jnp.asarray(lengths)[:, None]
    order = jnp.where(steps < ends, ends - 1 - steps, steps).astype(jnp.int32)
    order = order.reshape(order.shape + (1,) * (moved.ndim - 2))
    return jnp.moveaxis(jnp.take_along_axis(moved, order, axis=1), (0, 1), (batch, time))
