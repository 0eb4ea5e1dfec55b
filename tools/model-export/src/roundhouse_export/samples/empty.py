"""Tensors that hold nothing: an input, a weight and an output with an axis of extent 0."""

import jax.numpy as jnp
import numpy as np

from roundhouse_export.contract import Contract, TensorSpec
from roundhouse_export.jax_program import Arrays
from roundhouse_export.samples.sample import Content, Sample


def forward(inputs: Arrays, weights: Arrays) -> Arrays:
    nothing, pair = inputs["nothing"], inputs["pair"]
    joined = jnp.concatenate([nothing, pair], axis=1)
    return {
        "total": joined.sum(axis=1),
        "shifted": pair + nothing @ weights["w"] + weights["b"],
        "nothing_again": -nothing,
    }


def make_content() -> Content:
    b = np.array([1.5, -0.25], np.float32)
    return Content(weights={"w": np.zeros((0, 2), np.float32), "b": b})


SAMPLE = Sample(
    name="empty",
    description="tensors of zero bytes beside tensors of some",
    contract=Contract(
        inputs=(
            TensorSpec("nothing", "f32", ("n", 0)),
            TensorSpec("pair", "f32", ("n", 2)),
        ),
        outputs=(
            TensorSpec("total", "f32", ("n",)),
            TensorSpec("shifted", "f32", ("n", 2)),
            TensorSpec("nothing_again", "f32", ("n", 0)),
        ),
        batch_sizes=(1, 4),
    ),
    forward=forward,
    make_content=make_content,
)
