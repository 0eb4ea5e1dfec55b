"""Activations."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from roundhouse_export.onnx_graph.arrays import axis_of, in_f32
from roundhouse_export.onnx_graph.registry import Node, Value, operator


@operator("Relu")
def relu(_node: Node, x: Value) -> Value:
    return jnp.maximum(x, jnp.zeros((), x.dtype))


@operator("Sigmoid")
def sigmoid(_node: Node, x: Value) -> Value:
    return jax.nn.sigmoid(x)


@operator("LeakyRelu")
def leaky_relu(node: Node, x: Value) -> Value:
    return jnp.where(x >= 0, x, x * np.asarray(node.get("alpha", 0.01), x.dtype))


@operator("PRelu")
def p_relu(_node: Node, x: Value, slope: Value) -> Value:
    return jnp.where(x >= 0, x, x * slope)


@operator("Elu")
def elu(node: Node, x: Value) -> Value:
    return jax.nn.elu(jnp.asarray(x), node.get("alpha", 1.0))


@operator("Celu")
def celu(node: Node, x: Value) -> Value:
    return jax.nn.celu(jnp.asarray(x), node.get("alpha", 1.0))


@operator("Selu")
def selu(node: Node, x: Value) -> Value:
    alpha = node.get("alpha", 1.67326319217681884765625)
    gamma = node.get("gamma", 1.05070102214813232421875)
    return gamma * jnp.where(x > 0, x, alpha * jnp.expm1(jnp.minimum(x, 0)))


@operator("HardSigmoid")
def hard_sigmoid(node: Node, x: Value) -> Value:
    return jnp.clip(x * node.get("alpha", 0.2) + node.get("beta", 0.5), 0, 1)


@operator("HardSwish")
def hard_swish(_node: Node, x: Value) -> Value:
    return x * jnp.clip(x / 6 + 0.5, 0, 1)


@operator("Softplus")
def softplus(_node: Node, x: Value) -> Value:
    return jnp.logaddexp(x, jnp.zeros((), x.dtype))


@operator("Softsign")
def softsign(_node: Node, x: Value) -> Value:
    return x / (1 + jnp.abs(x))


@operator("Mish")
def mish(_node: Node, x: Value) -> Value:
    return x * jnp.tanh(jnp.logaddexp(x, jnp.zeros((), x.dtype)))


@operator("Swish")
def swish(node: Node, x: Value) -> Value:
    return x * jax.nn.sigmoid(x * node.get("alpha", 1.0))


@operator("Gelu")
def gelu(node: Node, x: Value) -> Value:
    if node.get("approximate", "none") == "tanh":
        inner = np.sqrt(2 / np.pi).item() * (x + 0.044715 * x * x * x)
        return 0.5 * x * (1 + jnp.tanh(inner))
    return 0.5 * x * (1 + lax.erf(x * np.sqrt(0.5).item()))


@operator("ThresholdedRelu")
def thresholded_relu(node: Node, x: Value) -> Value:
    return jnp.where(x > node.get("alpha", 1.0), x, jnp.zeros((), x.dtype))


@operator("Shrink")
def shrink(node: Node, x: Value) -> Value:
    bias, threshold = node.get("bias", 0.0), node.get("lambd", 0.5)
    zero = jnp.zeros((), x.dtype)
    cut = jnp.where(x > threshold, x - bias, zero)
    return jnp.where(x < -threshold, x + bias, cut).astype(x.dtype)


def _rows(node: Node, x: Value) -> tuple[Value, int]:
    """Before version 13, everything from the axis on is one row."""
    if node.version >= 13:
        return x, axis_of(node, node.get("axis", -1), x.ndim)
    axis = axis_of(node, node.get("axis", 1), x.ndim)
    before = int(np.prod(x.shape[:axis]))
    return jnp.reshape(x, (before, int(np.prod(x.shape[axis:])))), 1


@operator("Softmax")
def softmax(node: Node, x: Value) -> Value:
    rows, axis = _rows(node, jnp.asarray(x))
    return jax.nn.softmax(in_f32(rows), axis=axis).astype(x.dtype).reshape(x.shape)


@operator("LogSoftmax")
def log_softmax(node: Node, x: Value) -> Value:
    rows, axis = _rows(node, jnp.asarray(x))
    return jax.nn.log_softmax(in_f32(rows), axis=axis).astype(x.dtype).reshape(x.shape)


@operator("Hardmax")
def hardmax(node: Node, x: Value) -> Value:
    rows, axis = _rows(node, jnp.asarray(x))
    highest = jnp.argmax(rows, axis=axis)
    return jax.nn.one_hot(highest, rows.shape[axis], dtype=x.dtype, axis=axis).reshape(x.shape)
