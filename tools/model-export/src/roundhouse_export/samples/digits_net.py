"""A small convolutional net for 8x8 digits and its training, in JAX."""

import jax
import jax.numpy as jnp
import numpy as np

from roundhouse_export.jax_program import Arrays

TRAINING_SEED = 8
EPOCHS = 60
BATCH_SIZE = 64
PEAK_LEARNING_RATE = 2e-3

# Convolutions HWIO, dense layers [in, out]: as the compiled code wants them.
SHAPES: dict[str, tuple[int, ...]] = {
    "conv1/kernel": (3, 3, 1, 16),
    "conv1/bias": (16,),
    "conv2/kernel": (3, 3, 16, 32),
    "conv2/bias": (32,),
    "dense1/kernel": (512, 64),
    "dense1/bias": (64,),
    "dense2/kernel": (64, 10),
    "dense2/bias": (10,),
}

Weights = dict[str, jax.Array]
State = tuple[Weights, Weights, Weights]
"""Weights, and Adam's running mean and mean square of their gradients."""


def logits(pixels: jax.Array, weights: Arrays) -> jax.Array:
    """Takes f32 [n, 8, 8, 1] of 0 to 1, returns f32 [n, 10]."""
    x = jax.nn.relu(_conv(pixels, weights["conv1/kernel"]) + weights["conv1/bias"])
    x = jax.nn.relu(_conv(x, weights["conv2/kernel"]) + weights["conv2/bias"])
    x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    x = x.reshape(x.shape[0], -1)
    x = jax.nn.relu(x @ weights["dense1/kernel"] + weights["dense1/bias"])
    return x @ weights["dense2/kernel"] + weights["dense2/bias"]


def train(pixels: np.ndarray, labels: np.ndarray) -> dict[str, np.ndarray]:
    """Returns weights learned from f32 [m, 8, 8, 1] and integers [m], the same on every call."""
    rng = np.random.default_rng(TRAINING_SEED)
    start = _initial_weights(rng)
    zeros = {name: jnp.zeros_like(value) for name, value in start.items()}
    state = (start, zeros, zeros)
    batches = len(labels) // BATCH_SIZE
    # A loop in Python: XLA on a CPU runs convolutions inside its own loops many times slower.
    for epoch in range(EPOCHS):
        order = rng.permutation(len(labels))[: batches * BATCH_SIZE].reshape(batches, BATCH_SIZE)
        for batch, rows in enumerate(order):
            shifts = rng.integers(-1, 2, (BATCH_SIZE, 2))
            state = _step(
                state, pixels[rows], labels[rows], shifts, epoch * batches + batch, EPOCHS * batches
            )
    return {name: np.asarray(state[0][name]) for name in SHAPES}


def _conv(x: jax.Array, kernel: jax.Array) -> jax.Array:
    return jax.lax.conv_general_dilated(
        x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


def _initial_weights(rng: np.random.Generator) -> Weights:
    def he_normal(shape: tuple[int, ...]) -> np.ndarray:
        return rng.standard_normal(shape) * np.sqrt(2 / np.prod(shape[:-1]))

    return {
        name: jnp.asarray(np.zeros(s) if len(s) == 1 else he_normal(s), jnp.float32)
        for name, s in SHAPES.items()
    }


def _loss(weights: Weights, pixels: jax.Array, labels: jax.Array) -> jax.Array:
    log_scores = jax.nn.log_softmax(logits(pixels, weights))
    return -jnp.take_along_axis(log_scores, labels[:, None], axis=1).mean()


def _shifted(pixels: jax.Array, shift: jax.Array) -> jax.Array:
    """Moves each image by up to a pixel each way, zeros moving in."""
    padded = jnp.pad(pixels, ((0, 0), (1, 1), (1, 1), (0, 0)))

    def cut(image: jax.Array, by: jax.Array) -> jax.Array:
        return jax.lax.dynamic_slice(image, (by[0] + 1, by[1] + 1, 0), (8, 8, 1))

    return jax.vmap(cut)(padded, shift)


@jax.jit
def _step(
    state: State, pixels: jax.Array, labels: jax.Array, shifts: jax.Array, number: int, total: int
) -> State:
    """One step of Adam (Kingma and Ba 2015) with its usual constants and a cosine schedule."""
    weights, mean, square = state
    gradient = jax.grad(_loss)(weights, _shifted(pixels, shifts), labels)
    count = number + 1
    rate = PEAK_LEARNING_RATE * 0.5 * (1 + jnp.cos(jnp.pi * number / total))
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, gradient)
    square = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g * g, square, gradient)

    def moved(w: jax.Array, m: jax.Array, s: jax.Array) -> jax.Array:
        return w - rate * (m / (1 - 0.9**count)) / (jnp.sqrt(s / (1 - 0.999**count)) + 1e-8)

    return jax.tree.map(moved, weights, mean, square), mean, square
