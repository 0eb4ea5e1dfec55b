"""Changes of type."""

import jax
import jax.numpy as jnp
import numpy as np
from onnx import TensorProto, helper

from roundhouse_export.onnx_graph.casts import cast
from roundhouse_export.onnx_graph.registry import Node, Value, operator


def dtype_of(node: Node, number: int) -> np.dtype:
    if number == TensorProto.STRING:
        raise node.refuse("texts have no place in a program; take them out of the model")
    return np.dtype(helper.tensor_dtype_to_np_dtype(number))


@operator("Cast")
def cast_to(node: Node, x: Value) -> Value:
    to, rounding = dtype_of(node, node.get("to")), node.get("round_mode", "up")
    return cast(x, to, bool(node.get("saturate", 1)), rounding)


@operator("CastLike")
def cast_like(node: Node, x: Value, like: Value) -> Value:
    return cast(x, like.dtype, bool(node.get("saturate", 1)), node.get("round_mode", "up"))


@operator("BitCast")
def bit_cast(node: Node, x: Value) -> Value:
    x = jnp.asarray(x)
    x = x.astype(jnp.uint8) if x.dtype == np.bool_ else x
    return jax.lax.bitcast_convert_type(x, dtype_of(node, node.get("to")))
