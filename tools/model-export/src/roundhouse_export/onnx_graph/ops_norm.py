"""Normalisations. Means and variances are in f32 where the input has fewer bits."""

import jax.numpy as jnp
import numpy as np
from jax import lax

from roundhouse_export.onnx_graph.arrays import axis_of, in_f32
from roundhouse_export.onnx_graph.registry import Node, Value, operator


def _per_channel(value: Value, x: Value) -> Value:
    return jnp.reshape(value, (-1,) + (1,) * (x.ndim - 2))


@operator("BatchNormalization")
def batch_normalization(
    node: Node, x: Value, scale: Value, bias: Value, mean: Value, variance: Value
) -> Value:
    epsilon = node.get("epsilon", 1e-5)
    if not node.get("training_mode", 0):
        factor = scale / jnp.sqrt(variance + epsilon)
        rest = bias - mean * factor
        y = x * _per_channel(factor, x) + _per_channel(rest, x)
        return (y.astype(x.dtype), mean, variance, mean, variance)[: len(node.outputs)]
    over = (0, *range(2, x.ndim))
    seen_mean, seen_variance = jnp.mean(x, over), jnp.var(x, over)
    y = (x - _per_channel(seen_mean, x)) / jnp.sqrt(_per_channel(seen_variance, x) + epsilon)
    y = y * _per_channel(scale, x) + _per_channel(bias, x)
    keep = node.get("momentum", 0.9)
    return (
        y.astype(x.dtype),
        mean * keep + seen_mean * (1 - keep),
        variance * keep + seen_variance * (1 - keep),
    )[: len(node.outputs)]


def _standard(x: Value, over: tuple[int, ...], epsilon: float) -> tuple[Value, Value, Value]:
    mean = jnp.mean(x, over, keepdims=True)
    centred = x - mean
    variance = jnp.mean(centred * centred, over, keepdims=True)
    inverse = lax.rsqrt(variance + np.asarray(epsilon, x.dtype))
    return centred * inverse, mean, inverse


@operator("InstanceNormalization")
def instance_normalization(node: Node, x: Value, scale: Value, bias: Value) -> Value:
    wide = in_f32(x)
    y, _, _ = _standard(wide, tuple(range(2, x.ndim)), node.get("epsilon", 1e-5))
    return (y * _per_channel(scale, x) + _per_channel(bias, x)).astype(x.dtype)


@operator("LayerNormalization")
def layer_normalization(node: Node, x: Value, scale: Value, bias: Value = None) -> Value:
    axis = axis_of(node, node.get("axis", -1), x.ndim)
    y, mean, inverse = _standard(in_f32(x), tuple(range(axis, x.ndim)), node.get("epsilon", 1e-5))
    y = y.astype(x.dtype) * scale
    y = y if bias is None else y + bias
    return (y.astype(x.dtype), mean, inverse)[: len(node.outputs)]


@operator("RMSNormalization")
def rms_normalization(node: Node, x: Value, scale: Value) -> Value:
    axis = axis_of(node, node.get("axis", -1), x.ndim)
    wide = in_f32(x)
    squares = jnp.mean(wide * wide, tuple(range(axis, x.ndim)), keepdims=True)
    y = wide * lax.rsqrt(squares + np.asarray(node.get("epsilon", 1e-5), wide.dtype))
    return y.astype(x.dtype) * scale


@operator("GroupNormalization", since=18)
def group_normalization(node: Node, x: Value, scale: Value, bias: Value) -> Value:
    """Until version 21, scale and bias are one per group; from then on one per channel."""
    groups = node.get("num_groups")
    n, channels = x.shape[:2]
    grouped = in_f32(jnp.reshape(x, (n, groups, -1)))
    y, _, _ = _standard(grouped, (2,), node.get("epsilon", 1e-5))
    y = y.reshape(x.shape)
    if node.version < 21:
        scale, bias = (jnp.repeat(each, channels // groups) for each in (scale, bias))
    return (y * _per_channel(scale, x) + _per_channel(bias, x)).astype(x.dtype)


@operator("LpNormalization")
def lp_normalization(node: Node, x: Value) -> Value:
    axis, p = node.get("axis", -1), node.get("p", 2)
    norm = jnp.linalg.norm(jnp.asarray(x), ord=p, axis=axis, keepdims=True)
    return jnp.where(norm == 0, jnp.zeros((), x.dtype), x / jnp.where(norm == 0, 1, norm))


@operator("LRN")
def lrn(node: Node, x: Value) -> Value:
    size = node.get("size")
    before = (size - 1) // 2
    squares = lax.reduce_window(
        jnp.square(x),
        np.zeros((), x.dtype),
        lax.add,
        (1, size) + (1,) * (x.ndim - 2),
        (1,) * x.ndim,
        ((0, 0), (before, size - 1 - before)) + ((0, 0),) * (x.ndim - 2),
    )
    alpha, beta, bias = node.get("alpha", 1e-4), node.get("beta", 0.75), node.get("bias", 1.0)
    return x / (bias + alpha / size * squares) ** beta


@operator("MeanVarianceNormalization")
def mean_variance_normalization(node: Node, x: Value) -> Value:
    over = tuple(node.get("axes") or (0, 2, 3))
    centred = x - jnp.mean(x, over, keepdims=True)
    deviation = jnp.sqrt(jnp.mean(centred * centred, over, keepdims=True))
    return centred / (deviation + 1e-9)
