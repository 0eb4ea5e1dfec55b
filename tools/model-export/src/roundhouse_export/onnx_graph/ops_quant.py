"""Quantised numbers: to them, from them, and products of them."""

from typing import Any

import jax.numpy as jnp
import ml_dtypes
import numpy as np
from onnx import TensorProto

from roundhouse_export.onnx_graph.arrays import axis_of, is_float
from roundhouse_export.onnx_graph.casts import cast, is_small_float
from roundhouse_export.onnx_graph.ops_cast import dtype_of
from roundhouse_export.onnx_graph.ops_nn import convolve, with_bias
from roundhouse_export.onnx_graph.registry import Node, Value, operator


def _spread(node: Node, value: Value, x: Value) -> Value:
    """Lays a scale or zero point (one, one per channel, or one per block) along ``x``."""
    if value is None or value.size == 1:
        return value if value is None else jnp.reshape(value, ())
    axis = axis_of(node, node.get("axis", 1), x.ndim)
    block = node.get("block_size", 0)
    if block:
        return jnp.take(value, np.arange(x.shape[axis]) // block, axis=axis)
    if value.ndim == x.ndim:
        return value
    shape = [1] * x.ndim
    shape[axis] = value.size
    return jnp.reshape(value, shape)


def _rounded(x: Value, zero: Value, dtype: Any) -> Value:
    """Adds the zero point to quotients, rounded half to even, and keeps within the type."""
    limits = ml_dtypes.iinfo(dtype)
    rounded = jnp.round(x)
    if zero is not None:
        rounded = rounded + jnp.asarray(zero).astype(x.dtype)
    return jnp.clip(rounded, int(limits.min), int(limits.max)).astype(jnp.int32).astype(dtype)


@operator("QuantizeLinear")
def quantize_linear(node: Node, x: Value, scale: Value, zero: Value = None) -> Value:
    said = node.get("output_dtype", 0) or TensorProto.UINT8
    dtype = dtype_of(node, said) if zero is None else zero.dtype
    spread = _spread(node, scale, x)
    precision = node.get("precision", 0)
    within = dtype_of(node, precision) if precision else np.dtype(np.float32)
    quotient = jnp.asarray(x).astype(within) / spread.astype(within)
    if is_small_float(dtype):
        return cast(quotient, dtype, bool(node.get("saturate", 1)))
    return _rounded(quotient.astype(jnp.float32), _spread(node, zero, x), dtype)


@operator("DequantizeLinear")
def dequantize_linear(node: Node, x: Value, scale: Value, zero: Value = None) -> Value:
    wanted = node.get("output_dtype", 0)
    dtype = dtype_of(node, wanted) if wanted else scale.dtype
    within = jnp.float32 if np.dtype(dtype).itemsize < 4 else dtype
    values = _wide(x, within)
    if zero is not None and not is_float(zero):
        values = values - _wide(_spread(node, zero, x), within)
    return (values * _spread(node, scale, x).astype(within)).astype(dtype)


def _wide(x: Value, dtype: Any) -> Value:
    x = jnp.asarray(x)
    return (x if is_float(x) else x.astype(jnp.int32)).astype(dtype)


@operator("DynamicQuantizeLinear")
def dynamic_quantize_linear(_node: Node, x: Value) -> tuple[Value, Value, Value]:
    zero = jnp.zeros((), x.dtype)
    low, high = jnp.minimum(jnp.min(x), zero), jnp.maximum(jnp.max(x), zero)
    scale = (high - low) / 255
    safe = jnp.where(scale == 0, 1, scale)
    point = jnp.clip(jnp.round(-low / safe), 0, 255)
    y = jnp.clip(jnp.round(x / safe) + point, 0, 255)
    return y.astype(jnp.uint8), scale, point.astype(jnp.uint8)


def _less(x: Value, zero: Value, along: int | None = None) -> Value:
    """The numbers as i32 less their zero point, one or one along an axis."""
    wide = jnp.asarray(x).astype(jnp.int32)
    if zero is None:
        return wide
    point = jnp.asarray(zero).astype(jnp.int32)
    if point.size == 1:
        return wide - point.reshape(())
    if point.ndim == 1 and along is not None:
        shape = [1] * wide.ndim
        shape[along] = point.size
        point = point.reshape(shape)
    return wide - point


@operator("MatMulInteger")
def mat_mul_integer(
    _node: Node, a: Value, b: Value, a_zero: Value = None, b_zero: Value = None
) -> Value:
    left = _less(a, a_zero, max(a.ndim - 2, 0))
    return jnp.matmul(left, _less(b, b_zero, b.ndim - 1))


@operator("ConvInteger")
def conv_integer(
    node: Node, x: Value, w: Value, x_zero: Value = None, w_zero: Value = None
) -> Value:
    return convolve(node, _less(x, x_zero), _less(w, w_zero, 0))


@operator("QLinearMatMul")
def q_linear_mat_mul(
    _node: Node,
    a: Value,
    a_scale: Value,
    a_zero: Value,
    b: Value,
    b_scale: Value,
    b_zero: Value,
    y_scale: Value,
    y_zero: Value,
) -> Value:
    product = jnp.matmul(_less(a, a_zero, max(a.ndim - 2, 0)), _less(b, b_zero, b.ndim - 1)).astype(
        jnp.float32
    )
    scale = jnp.asarray(a_scale, jnp.float32) * jnp.asarray(b_scale, jnp.float32)
    quotient = product * (scale / jnp.asarray(y_scale, jnp.float32))
    return _rounded(quotient, y_zero, y_zero.dtype)


@operator("QLinearConv")
def q_linear_conv(
    node: Node,
    x: Value,
    x_scale: Value,
    x_zero: Value,
    w: Value,
    w_scale: Value,
    w_zero: Value,
    y_scale: Value,
    y_zero: Value,
    bias: Value = None,
) -> Value:
    total = with_bias(convolve(node, _less(x, x_zero), _less(w, w_zero, 0)), bias)
    scale = jnp.reshape(jnp.asarray(x_scale) * w_scale / y_scale, -1)
    if scale.size > 1:
        scale = scale.reshape((-1,) + (1,) * (x.ndim - 2))
    return _rounded(total.astype(jnp.float32) * scale, jnp.reshape(y_zero, ()), y_zero.dtype)
