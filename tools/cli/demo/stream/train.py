"""Trains the decoder: seeded, in two minutes."""

import jax
import jax.numpy as jnp
import numpy as np

from decoder import WINDOW, initial, scores

SEED = 28
STEPS = 600
ROWS = 12
RATE, WARM = 3e-3, 20
FADING = (0.9, 0.99)  # of what Adam remembers


def trained(stream: np.ndarray, characters: int) -> dict[str, np.ndarray]:
    """Of all texts, one after the other with an end before and behind each.

    Half of what is learned from begins anywhere in the first text, which is long, the rest where a text does.
    """
    weights = {name: jnp.asarray(each) for name, each in initial(characters, SEED).items()}
    state = [{name: jnp.zeros_like(each) for name, each in weights.items()} for _ in FADING]
    rng = np.random.default_rng(SEED)
    begins = np.flatnonzero(stream[:-1] == 0)
    padded = np.concatenate([stream, np.zeros(WINDOW, stream.dtype)])

    def loss(weights: dict, rows: jax.Array) -> jax.Array:
        likely = jax.nn.log_softmax(scores(rows[:, :-1], weights))
        return -jnp.take_along_axis(likely, rows[:, 1:, None], axis=-1).mean()

    @jax.jit
    def step(number: int, weights: dict, state: list, rows: jax.Array) -> tuple:
        """Adam, by a rate that rises first and falls to nothing."""
        value, slopes = jax.value_and_grad(loss)(weights, rows)
        rate = RATE * jnp.minimum((number + 1) / WARM, 1 - number / STEPS)
        state = [
            {name: fade * each[name] + (1 - fade) * slopes[name] ** power for name in slopes}
            for power, (fade, each) in enumerate(zip(FADING, state, strict=True), start=1)
        ]
        mean, square = (
            {name: each[name] / (1 - fade ** (number + 1)) for name in each}
            for fade, each in zip(FADING, state, strict=True)
        )
        return (
            {name: weights[name] - rate * mean[name] / (jnp.sqrt(square[name]) + 1e-8) for name in weights},
            state,
            value,
        )

    for number in range(STEPS):
        first = np.where(np.arange(ROWS) % 2, rng.choice(begins, ROWS), rng.integers(0, begins[1], ROWS))
        rows = padded[first[:, None] + np.arange(WINDOW + 1)]
        weights, state, value = step(number, weights, state, jnp.asarray(rows))
        if number % 100 == 99:
            print(f"step {number + 1} of {STEPS}: loss {float(value):.3f}", flush=True)
    return {name: np.asarray(each) for name, each in weights.items()}
