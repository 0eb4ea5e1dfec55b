"""Kernels of support vector machines, and distances, that lose little in f32."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

Array = Any
Kernel = Callable[[Array, Array], Array]


def kernel(name: str, gamma: float, degree: float, coef0: float) -> Kernel | None:
    """Returns ``k(rows [n, features], vectors [m, features])`` as [n, m]; None for an unknown."""
    match name:
        case "linear":
            return lambda x, v: x @ v.T
        case "poly":
            whole = int(degree) if float(degree).is_integer() else degree
            return lambda x, v: (gamma * (x @ v.T) + coef0) ** whole
        case "rbf":
            return lambda x, v: jnp.exp(-gamma * squared_distances(x, v))
        case "sigmoid":
            return lambda x, v: jnp.tanh(gamma * (x @ v.T) + coef0)
    return None


def squared_distances(x: Array, vectors: Array) -> Array:
    """[n, m] by one product; about the vectors' mean, as large numbers would swallow distances."""
    middle = jnp.mean(vectors, axis=0)
    x, vectors = x - middle, vectors - middle
    lengths = jnp.sum(x * x, axis=1)[:, None] + jnp.sum(vectors * vectors, axis=1)[None, :]
    return jnp.maximum(lengths - 2 * (x @ vectors.T), 0)
