"""Attention pooling over sequences of two compiled lengths, with an output as long as its input."""

import jax
import numpy as np

from roundhouse_export.contract import Contract, TensorSpec
from roundhouse_export.jax_program import Arrays
from roundhouse_export.samples.sample import Content, Sample

SEED = 1632


def forward(inputs: Arrays, weights: Arrays) -> Arrays:
    steps = inputs["steps"]
    attention = jax.nn.softmax(steps @ weights["query"], axis=-1)
    pooled = (steps * attention[..., None]).sum(axis=1)
    return {"pooled": pooled @ weights["w"] + weights["b"], "attention": attention}


def make_content() -> Content:
    rng = np.random.default_rng(SEED)
    shapes = {"query": (4,), "w": (4, 3), "b": (3,)}
    return Content(
        weights={name: rng.standard_normal(s).astype(np.float32) for name, s in shapes.items()}
    )


SAMPLE = Sample(
    name="variants",
    description="attention pooling of sequences of 16 or 32 steps",
    contract=Contract(
        inputs=(TensorSpec("steps", "f32", ("n", "s", 4)),),
        outputs=(
            TensorSpec("pooled", "f32", ("n", 3)),
            TensorSpec("attention", "f32", ("n", "s")),
        ),
        batch_sizes=(1, 4),
        variants=({"s": 16}, {"s": 32}),
    ),
    forward=forward,
    make_content=make_content,
)
