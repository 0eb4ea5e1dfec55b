"""What the classifiers of ``ai.onnx.ml`` share: labels, and what is made of scores."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from roundhouse_export.onnx_graph.registry import Node

Array = Any
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


def labels_of(node: Node, integers: str = "classlabels_ints") -> np.ndarray | int:
    """The labels that are numbers; for texts only how many, as a program returns positions."""
    numbers = node.get(integers)
    if numbers is not None and len(numbers):
        return np.asarray(numbers, np.int64)
    texts = node.get("classlabels_strings")
    if texts is None or not len(texts):
        raise node.refuse("it has no class labels")
    return len(texts)


def count_of(labels: np.ndarray | int) -> int:
    return labels if isinstance(labels, int) else len(labels)


def chosen(labels: np.ndarray | int, index: Array) -> Array:
    """Labels by position, as the widest integer that JAX has now."""
    if isinstance(labels, int):
        return index.astype(jnp.asarray(np.int64(0)).dtype)
    return jnp.asarray(labels)[index]


def post_transform(node: Node, name: str, scores: Array) -> Array:
    match name:
        case "NONE":
            return scores
        case "LOGISTIC":
            return jax.nn.sigmoid(scores)
        case "SOFTMAX":
            return jax.nn.softmax(scores, axis=1)
        case "SOFTMAX_ZERO":
            # A score of 0 stays 0, and the others share what there is.
            powers = jnp.exp(scores - jnp.max(scores, axis=1, keepdims=True))
            powers = jnp.where(jnp.abs(scores) > 1e-7, powers, 0)
            total = jnp.sum(powers, axis=1, keepdims=True)
            return powers / jnp.where(total == 0, 1, total)
        case "PROBIT":
            return jax.scipy.special.ndtri(scores)
    raise node.refuse(f"post_transform '{name}' is not supported")


def rows_of(x: Array) -> Array:
    """[n, features] as floats: a vector is one row, whole numbers become f32."""
    x = jnp.asarray(x)
    if not jnp.issubdtype(x.dtype, jnp.floating):
        x = x.astype(np.float32)
    return x[None] if x.ndim == 1 else x
