"""Elementwise arithmetic, comparisons and logic."""

from collections.abc import Callable
from functools import reduce
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from roundhouse_export.onnx_graph.arrays import is_float, is_known, known_int, numbers_of
from roundhouse_export.onnx_graph.registry import Node, Value, operator

_ALIKE = {
    "Add": "add",
    "Sub": "subtract",
    "Mul": "multiply",
    "Equal": "equal",
    "Greater": "greater",
    "GreaterOrEqual": "greater_equal",
    "Less": "less",
    "LessOrEqual": "less_equal",
    "And": "logical_and",
    "Or": "logical_or",
    "Xor": "logical_xor",
    "Not": "logical_not",
    "BitwiseAnd": "bitwise_and",
    "BitwiseOr": "bitwise_or",
    "BitwiseXor": "bitwise_xor",
    "BitwiseNot": "bitwise_not",
    "Abs": "abs",
    "Neg": "negative",
    "Sign": "sign",
    "Ceil": "ceil",
    "Floor": "floor",
    "Round": "round",
    "Sqrt": "sqrt",
    "Exp": "exp",
    "Log": "log",
    "Sin": "sin",
    "Cos": "cos",
    "Tan": "tan",
    "Asin": "arcsin",
    "Acos": "arccos",
    "Atan": "arctan",
    "Sinh": "sinh",
    "Cosh": "cosh",
    "Tanh": "tanh",
    "Asinh": "arcsinh",
    "Acosh": "arccosh",
    "Atanh": "arctanh",
    "IsNaN": "isnan",
    "Where": "where",
}
"""Operators that numpy and JAX have alike, by their name there."""


def _register_alike(name: str, function: str) -> None:
    @operator(name)
    def alike(_node: Node, *values: Value) -> Value:
        return getattr(numbers_of(*values), function)(*values)


for _name, _function in _ALIKE.items():
    _register_alike(_name, _function)


def _register_variadic(name: str, function: str) -> None:
    @operator(name)
    def variadic(_node: Node, *values: Value) -> Value:
        numbers = numbers_of(*values)
        return reduce(getattr(numbers, function), values)


for _name, _function in {"Max": "maximum", "Min": "minimum", "Sum": "add"}.items():
    _register_variadic(_name, _function)


@operator("Mean")
def mean(_node: Node, *values: Value) -> Value:
    return reduce(jnp.add, values) / len(values)


@operator("Div")
def div(_node: Node, a: Value, b: Value) -> Value:
    """Whole numbers are cut towards zero."""
    if is_float(a):
        return numbers_of(a, b).divide(a, b)
    if is_known(a, b):
        a, b = np.asarray(a), np.asarray(b)
        quotient = np.floor_divide(np.abs(a), np.abs(b))
        return (quotient * np.sign(a) * np.sign(b)).astype(a.dtype)
    a, b = jnp.broadcast_arrays(a, b)
    return lax.div(a, b)


@operator("Mod")
def mod(node: Node, a: Value, b: Value) -> Value:
    numbers = numbers_of(a, b)
    return numbers.fmod(a, b) if node.get("fmod", 0) else numbers.mod(a, b)


@operator("Pow")
def power(_node: Node, base: Value, exponent: Value) -> Value:
    if not is_known(base) and is_known(exponent) and np.size(exponent) == 1 and is_float(base):
        only = float(np.reshape(exponent, ()))
        if np.ndim(exponent) <= base.ndim and only.is_integer() and 0 < abs(only) <= 8:
            return lax.integer_pow(base, int(only))
        if only == 0.5 and np.ndim(exponent) <= base.ndim:
            return jnp.sqrt(base)
    raised = jnp.power(base, exponent)
    return raised.astype(base.dtype)


@operator("BitShift")
def bit_shift(node: Node, a: Value, b: Value) -> Value:
    numbers = numbers_of(a, b)
    left = node.get("direction") == "LEFT"
    return numbers.left_shift(a, b) if left else numbers.right_shift(a, b)


@operator("Reciprocal")
def reciprocal(_node: Node, x: Value) -> Value:
    return 1 / jnp.asarray(x)


@operator("Erf")
def erf(_node: Node, x: Value) -> Value:
    return lax.erf(jnp.asarray(x))


@operator("IsInf")
def is_inf(node: Node, x: Value) -> Value:
    infinite = jnp.isinf(x)
    if not node.get("detect_negative", 1):
        infinite &= x > 0
    if not node.get("detect_positive", 1):
        infinite &= x < 0
    return infinite


@operator("Clip")
def clip_by_attributes(node: Node, x: Value) -> Value:
    return clip(node, x, node.get("min"), node.get("max"))


@operator("Clip", since=11)
def clip(_node: Node, x: Value, low: Value = None, high: Value = None) -> Value:
    numbers = numbers_of(x, *(each for each in (low, high) if hasattr(each, "dtype")))
    if low is not None:
        x = numbers.maximum(x, low)
    return x if high is None else numbers.minimum(x, high)


def _cumulative(one_to_last: Callable[..., Any], empty: int) -> Callable[..., Value]:
    def cumulative(node: Node, x: Value, axis: Value) -> Value:
        along = known_int(node, axis, "axis") % x.ndim
        x = jnp.asarray(x)
        backwards = bool(node.get("reverse", 0))
        if not node.get("exclusive", 0):
            return one_to_last(x, along, reverse=backwards)
        size = x.shape[along]
        first = jnp.full_like(lax.slice_in_dim(x, 0, 1, axis=along), empty)
        if backwards:
            rest = lax.slice_in_dim(x, 1, size, axis=along)
            parts = [one_to_last(rest, along, reverse=True), first]
        else:
            rest = lax.slice_in_dim(x, 0, size - 1, axis=along)
            parts = [first, one_to_last(rest, along)]
        return jnp.concatenate(parts, axis=along)

    return cumulative


operator("CumSum")(_cumulative(lax.cumsum, 0))
operator("CumProd")(_cumulative(lax.cumprod, 1))
