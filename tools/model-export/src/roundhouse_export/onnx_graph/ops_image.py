"""Sampling of images: grids, regions, and columns back to images."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np

from roundhouse_export.onnx_graph.arrays import known_ints
from roundhouse_export.onnx_graph.registry import Node, Value, operator, refused


def _reflected(place: Value, low: float, high: float) -> Value:
    span = high - low
    if span <= 0:
        return jnp.zeros_like(place)
    away = jnp.abs(place - low) % (2 * span)
    return low + jnp.minimum(away, 2 * span - away)


def _cubic_shares(fraction: Value, a: float = -0.75) -> list[Value]:
    def near(d: Value) -> Value:
        return ((a + 2) * d - (a + 3)) * d * d + 1

    def far(d: Value) -> Value:
        return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a

    return [far(fraction + 1), near(fraction), near(1 - fraction), far(2 - fraction)]


@operator("GridSample")
def grid_sample(node: Node, x: Value, grid: Value) -> Value:
    """Any number of spatial axes; the last axis of the grid is in the order x, y, z."""
    extents = x.shape[2:]
    corners = bool(node.get("align_corners", 0))
    padding = node.get("padding_mode", "zeros")
    mode = node.get("mode", "linear").removeprefix("bi")
    axes = [
        _taps(grid[..., len(extents) - 1 - axis], extent, corners, padding, mode)
        for axis, extent in enumerate(extents)
    ]
    flat = jnp.reshape(x, (*x.shape[:2], -1))
    n, points = grid.shape[0], grid.shape[1:-1]
    total = jnp.zeros((n, x.shape[1], int(np.prod(points))), x.dtype)
    for taps in itertools.product(*axes):
        at = jnp.zeros((), jnp.int32)
        share = jnp.ones((), x.dtype)
        for (index, weight), extent in zip(taps, extents, strict=True):
            at = at * extent + index
            share = share * weight
        taken = jnp.take_along_axis(flat, at.reshape(n, 1, -1), axis=2)
        total = total + taken * jnp.broadcast_to(share, (n, *points)).reshape(n, 1, -1)
    return total.reshape(n, x.shape[1], *points).astype(x.dtype)


def _taps(
    grid: Value, extent: int, corners: bool, padding: str, mode: str
) -> list[tuple[Value, Value]]:
    """Returns the indices along one axis and their weights, for each of its taps."""
    low, high = (0.0, extent - 1.0) if corners else (-0.5, extent - 0.5)
    place = (grid + 1) / 2 * (extent - 1) if corners else ((grid + 1) * extent - 1) / 2
    if mode != "cubic":
        if padding == "border":
            place = jnp.clip(place, 0, extent - 1)
        elif padding == "reflection":
            place = jnp.clip(_reflected(place, low, high), 0, extent - 1)
    if mode == "nearest":
        first, shares = jnp.round(place), [jnp.ones_like(place)]
    elif mode == "linear":
        first = jnp.floor(place)
        shares = [1 - (place - first), place - first]
    else:
        first = jnp.floor(place) - 1
        shares = _cubic_shares(place - jnp.floor(place))
    taps = []
    for step, share in enumerate(shares):
        index = first + step
        if padding == "zeros":
            share = jnp.where((index >= 0) & (index <= extent - 1), share, 0)
        elif padding == "reflection" and mode == "cubic":
            index = _reflected(index, low, high)
        taps.append((jnp.clip(index, 0, extent - 1).astype(jnp.int32), share))
    return taps


@operator("RoiAlign")
def roi_align(node: Node, x: Value, regions: Value, batches: Value) -> Value:
    """The number of samples per cell has to be fixed, as programs have fixed shapes."""
    height, width = node.get("output_height", 1), node.get("output_width", 1)
    ratio = node.get("sampling_ratio", 0)
    if ratio <= 0:
        raise node.refuse("sampling_ratio 0 samples as often as the data asks; give it a number")
    default = "half_pixel" if node.version >= 16 else "output_half_pixel"
    half = node.get("coordinate_transformation_mode", default) == "half_pixel"
    corners = jnp.asarray(regions) * node.get("spatial_scale", 1.0) - (0.5 if half else 0.0)
    left, top, right, bottom = (corners[:, k] for k in range(4))
    across, down = right - left, bottom - top
    if not half:
        across, down = jnp.maximum(across, 1), jnp.maximum(down, 1)
    rows = top[:, None] + down[:, None] * (np.arange(height * ratio) + 0.5) / (height * ratio)
    columns = left[:, None] + across[:, None] * (np.arange(width * ratio) + 0.5) / (width * ratio)
    image = jnp.take(jnp.asarray(x), jnp.asarray(batches).astype(jnp.int32), axis=0)
    down_shares = _region_taps(rows.astype(x.dtype), x.shape[2])
    right_shares = _region_taps(columns.astype(x.dtype), x.shape[3])
    count = regions.shape[0]
    if node.get("mode", "avg") == "avg":
        seen = jnp.einsum("rchw,ryh,rxw->rcyx", image, down_shares, right_shares)
        seen = seen.reshape(count, x.shape[1], height, ratio, width, ratio)
        return seen.mean((3, 5))

    # The largest of the four weighted neighbours of every sample, then the largest sample.
    def four(image_: Value, rows_: Value, columns_: Value) -> Value:
        (r0, r1, a0, a1), (c0, c1, b0, b1) = rows_, columns_
        parts = [
            image_[:, r][:, :, c] * (a[:, None] * b[None])
            for r, a in ((r0, a0), (r1, a1))
            for c, b in ((c0, b0), (c1, b1))
        ]
        return jnp.max(jnp.stack(parts), 0)

    pairs = [_pairs(rows, x.shape[2]), _pairs(columns, x.shape[3])]
    seen = jax.vmap(four)(image, *pairs).reshape(count, x.shape[1], height, ratio, width, ratio)
    return seen.max((3, 5)).astype(x.dtype)


def _pairs(places: Value, extent: int) -> tuple[Value, Value, Value, Value]:
    inside = (places >= -1) & (places <= extent)
    place = jnp.clip(places, 0, extent - 1)
    first = jnp.floor(place).astype(jnp.int32)
    second = jnp.minimum(first + 1, extent - 1)
    share = jnp.where(inside, place - first, 0)
    return first, second, jnp.where(inside, 1 - (place - first), 0), share


def _region_taps(places: Value, extent: int) -> Value:
    """Weights of every element of an axis for every sample; samples far outside are nought."""
    first, second, a, b = _pairs(places, extent)
    one = jax.nn.one_hot(first, extent, dtype=places.dtype) * a[..., None]
    return one + jax.nn.one_hot(second, extent, dtype=places.dtype) * b[..., None]


@operator("Col2Im")
def col2im(node: Node, x: Value, image: Value, block: Value) -> Value:
    extents = known_ints(node, image, "image_shape")
    kernel = known_ints(node, block, "block_shape")
    rank = len(extents)
    strides = node.get("strides") or [1] * rank
    dilations = node.get("dilations") or [1] * rank
    pads = node.get("pads") or [0] * (2 * rank)
    whole = [extents[a] + pads[a] + pads[rank + a] for a in range(rank)]
    counts = [
        (whole[a] - (kernel[a] - 1) * dilations[a] - 1) // strides[a] + 1 for a in range(rank)
    ]
    n, size = x.shape[0], int(np.prod(kernel))
    channels = x.shape[1] // size
    columns = jnp.reshape(x, (n, channels, size, *counts))
    total = jnp.zeros((n, channels, *whole), x.dtype)
    for position, tap in enumerate(itertools.product(*(range(k) for k in kernel))):
        cuts = tuple(
            slice(t * d, t * d + (c - 1) * s + 1, s)
            for t, d, c, s in zip(tap, dilations, counts, strides, strict=True)
        )
        total = total.at[(slice(None), slice(None), *cuts)].add(columns[:, :, position])
    cuts = tuple(slice(pads[a], pads[a] + extents[a]) for a in range(rank))
    return total[(slice(None), slice(None), *cuts)]


refused(
    "NonMaxSuppression",
    why="how many boxes it keeps depends on the data, and programs have fixed shapes; export the "
    "model without it, with the boxes and scores as outputs",
)
