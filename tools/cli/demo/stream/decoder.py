"""A small decoder: characters in, scores of the next one out. What trains, exports and compares it uses this."""

from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

WINDOW = 128  # characters that it sees
WIDE, LAYERS, HEADS = 128, 4, 4


def initial(characters: int, seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)

    def matrix(*shape: int) -> np.ndarray:
        return (rng.standard_normal(shape) / shape[0] ** 0.5).astype(np.float32)

    weights = {
        "characters": matrix(characters, WIDE) * np.float32(0.2),
        "places": matrix(WINDOW, WIDE) * np.float32(0.2),
        "scores": matrix(WIDE, characters),
    }
    for layer in range(LAYERS):
        weights |= {
            f"{layer}.attend": matrix(WIDE, 3 * WIDE),
            f"{layer}.attended": matrix(WIDE, WIDE),
            f"{layer}.widen": matrix(WIDE, 4 * WIDE),
            f"{layer}.narrow": matrix(4 * WIDE, WIDE),
        }
    return weights


def scores(tokens: Array, weights: Mapping[str, Array]) -> Array:
    """Of i32 [n, s] those of the character after each, f32 [n, s, characters]; none sees what stands behind it."""
    length = tokens.shape[1]
    x = weights["characters"][tokens] + weights["places"][:length]
    seen = jnp.tril(jnp.ones((length, length), bool))
    for layer in range(LAYERS):
        x = x + attended(normal(x), seen, weights[f"{layer}.attend"]) @ weights[f"{layer}.attended"]
        x = x + jax.nn.gelu(normal(x) @ weights[f"{layer}.widen"]) @ weights[f"{layer}.narrow"]
    return normal(x) @ weights["scores"]


def attended(x: Array, seen: Array, weight: Array) -> Array:
    n, length, _ = x.shape
    query, key, value = (x @ weight).reshape(n, length, 3, HEADS, WIDE // HEADS).transpose(2, 0, 3, 1, 4)
    alike = query @ key.transpose(0, 1, 3, 2) / (WIDE // HEADS) ** 0.5
    share = jax.nn.softmax(jnp.where(seen, alike, -1e9), axis=-1)
    return (share @ value).transpose(0, 2, 1, 3).reshape(n, length, WIDE)


def normal(x: Array) -> Array:
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6)


def next_scores(inputs: Mapping[str, Array], weights: Mapping[str, Array]) -> Mapping[str, Array]:
    """The program: tokens i32 [n, window], the first ``length`` of which count, to scores of the one behind them."""
    last = inputs["length"][:, None, None] - 1
    return {"scores": jnp.take_along_axis(scores(inputs["tokens"], weights), last, axis=1)[:, 0]}
