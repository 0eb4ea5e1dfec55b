"""Products, and convolutions, written with channels last as devices compute them."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from roundhouse_export.onnx_graph.registry import Node, Value, operator
from roundhouse_export.onnx_graph.windows import windows_of


@operator("MatMul")
def matmul(_node: Node, a: Value, b: Value) -> Value:
    return jnp.matmul(a, b)


@operator("Gemm")
def gemm(node: Node, a: Value, b: Value, c: Value = None) -> Value:
    a = jnp.transpose(a) if node.get("transA", 0) else a
    b = jnp.transpose(b) if node.get("transB", 0) else b
    product = jnp.matmul(a, b)
    alpha, beta = node.get("alpha", 1.0), node.get("beta", 1.0)
    if alpha != 1.0:
        product = (product * alpha).astype(product.dtype)
    if c is None or beta == 0.0:
        return product
    return product + (c if beta == 1.0 else (c * beta).astype(product.dtype))


@operator("Einsum")
def einsum(node: Node, *values: Value) -> Value:
    return jnp.einsum(node.get("equation"), *values)


def channels_last(x: Value) -> Value:
    return jnp.moveaxis(x, 1, -1)


def channels_second(x: Value) -> Value:
    return jnp.moveaxis(x, -1, 1)


def _numbers(rank: int) -> lax.ConvDimensionNumbers:
    """``N...C`` and ``...IO`` for any number of spatial axes."""
    spatial = tuple(range(1, rank - 1))
    kernel = (rank - 1, rank - 2, *range(rank - 2))
    return lax.ConvDimensionNumbers((0, rank - 1, *spatial), kernel, (0, rank - 1, *spatial))


def convolve(node: Node, x: Value, w: Value, **more: Any) -> Value:
    """Convolves ``x`` and ``w`` in the layouts of ONNX with the attributes of ``node``."""
    if w.ndim != x.ndim:
        raise node.refuse(f"its input has {x.ndim} axes and its weight {w.ndim}")
    windows = windows_of(node, x.shape[2:], node.get("kernel_shape") or w.shape[2:])
    y = lax.conv_general_dilated(
        channels_last(jnp.asarray(x)),
        jnp.transpose(w, (*range(2, w.ndim), 1, 0)),
        window_strides=windows.strides,
        padding=windows.pads,
        rhs_dilation=windows.dilations,
        dimension_numbers=_numbers(x.ndim),
        feature_group_count=node.get("group", 1),
        **more,
    )
    return channels_second(y)


def with_bias(y: Value, bias: Value) -> Value:
    if bias is None:
        return y
    return y + jnp.reshape(bias, (-1,) + (1,) * (y.ndim - 2))


@operator("Conv")
def conv(node: Node, x: Value, w: Value, bias: Value = None) -> Value:
    return with_bias(convolve(node, x, w), bias)


@operator("ConvTranspose")
def conv_transpose(node: Node, x: Value, w: Value, bias: Value = None) -> Value:
    """As a convolution over an input with gaps of its strides, and the kernel turned round."""
    rank = x.ndim - 2
    group = node.get("group", 1)
    kernel = w.shape[2:]
    strides = node.get("strides") or [1] * rank
    dilations = node.get("dilations") or [1] * rank
    extra = node.get("output_padding") or [0] * rank
    pads = _transposed_pads(node, x.shape[2:], kernel, strides, dilations, extra)
    padding = [
        ((size - 1) * dilation - before, (size - 1) * dilation - after + more)
        for size, dilation, (before, after), more in zip(
            kernel, dilations, pads, extra, strict=True
        )
    ]
    inputs, per_group = w.shape[:2]
    split = jnp.reshape(w, (group, inputs // group, per_group, *kernel))
    turned = jnp.flip(split, tuple(range(3, 3 + rank)))
    turned = turned.transpose(*range(3, 3 + rank), 1, 0, 2)
    turned = turned.reshape(*kernel, inputs // group, group * per_group)
    y = lax.conv_general_dilated(
        channels_last(jnp.asarray(x)),
        turned,
        window_strides=(1,) * rank,
        padding=padding,
        lhs_dilation=strides,
        rhs_dilation=dilations,
        dimension_numbers=_numbers(x.ndim),
        feature_group_count=group,
    )
    return with_bias(channels_second(y), bias)


def _transposed_pads(
    node: Node,
    extents: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    extra: Sequence[int],
) -> list[tuple[int, int]]:
    rank = len(extents)
    auto, shape = node.get("auto_pad", "NOTSET"), node.get("output_shape")
    if shape is None and auto in ("SAME_UPPER", "SAME_LOWER"):
        shape = [extent * stride for extent, stride in zip(extents, strides, strict=True)]
    if shape is None:
        given = node.get("pads") or [0] * (2 * rank)
        return [(given[axis], given[rank + axis]) for axis in range(rank)]
    pads = []
    for axis, wanted in enumerate(shape[-rank:]):
        whole = strides[axis] * (extents[axis] - 1) + extra[axis]
        total = whole + (kernel[axis] - 1) * dilations[axis] + 1 - wanted
        half = total // 2
        pads.append((half, total - half) if auto == "SAME_UPPER" else (total - half, half))
    return pads


@operator("DeformConv")
def deform_conv(
    node: Node, x: Value, w: Value, offset: Value, bias: Value = None, mask: Value = None
) -> Value:
    """Gathers each kernel point of each window by bilinear sampling, then one product."""
    if x.ndim != 4:
        raise node.refuse(f"its input has {x.ndim} axes; only images (4 axes) are known")
    n, channels, height, width = x.shape
    outputs, _, kh, kw = w.shape
    windows = windows_of(node, (height, width), (kh, kw))
    oh, ow = windows.outputs
    parts, group = node.get("offset_group", 1), node.get("group", 1)
    moves = jnp.reshape(offset, (n, parts, kh * kw, 2, oh, ow))
    taps = np.stack(np.meshgrid(np.arange(kh), np.arange(kw), indexing="ij"), -1).reshape(-1, 2)
    base = [
        (np.arange(count) * windows.strides[axis] - windows.pads[axis][0])[None, :]
        + (taps[:, axis] * windows.dilations[axis])[:, None]
        for axis, count in enumerate((oh, ow))
    ]
    rows = moves[:, :, :, 0] + base[0][None, None, :, :, None].astype(x.dtype)
    columns = moves[:, :, :, 1] + base[1][None, None, :, None, :].astype(x.dtype)
    seen = bilinear(
        x.reshape(n * parts, channels // parts, height, width),
        *(each.reshape(n * parts, kh * kw * oh * ow) for each in (rows, columns)),
    )
    seen = seen.reshape(n, parts, channels // parts, kh * kw, oh, ow)
    if mask is not None:
        seen = seen * jnp.reshape(mask, (n, parts, 1, kh * kw, oh, ow))
    seen = seen.reshape(n, group, channels // group, kh * kw, oh, ow)
    kernel = jnp.reshape(w, (group, outputs // group, channels // group, kh * kw))
    y = jnp.einsum("ngckhw,gock->ngohw", seen, kernel).reshape(n, outputs, oh, ow)
    return with_bias(y, bias)


def bilinear(x: Value, rows: Value, columns: Value) -> Value:
    """Samples [n, c, h, w] at [n, p] points, nought outside; returns [n, c, p]."""
    n, channels, height, width = x.shape
    flat = jnp.reshape(x, (n, channels, height * width))
    top, left = jnp.floor(rows), jnp.floor(columns)
    total = jnp.zeros((), x.dtype)
    for down in (0, 1):
        for right in (0, 1):
            row, column = top + down, left + right
            share = (1 - jnp.abs(rows - row)) * (1 - jnp.abs(columns - column))
            inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
            at = jnp.clip(row, 0, height - 1) * width + jnp.clip(column, 0, width - 1)
            taken = jnp.take_along_axis(flat, at.astype(jnp.int32)[:, None], axis=2)
            total = total + taken * jnp.where(inside, share, 0)[:, None]
    return total
