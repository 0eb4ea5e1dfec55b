"""A model without a batch axis whose answer, like one of its weights, has rank 0."""

import numpy as np

from roundhouse_export.contract import Contract, TensorSpec
from roundhouse_export.jax_program import Arrays
from roundhouse_export.samples.sample import Content, Sample


def forward(inputs: Arrays, weights: Arrays) -> Arrays:
    return {"score": inputs["x"] @ weights["w"] + weights["bias"]}


def make_content() -> Content:
    w = np.array([0.5, -2.0, 3.25], np.float32)
    return Content(weights={"w": w, "bias": np.array(0.125, np.float32)})


SAMPLE = Sample(
    name="scalar",
    description="one number from a vector of three",
    contract=Contract(
        inputs=(TensorSpec("x", "f32", (3,)),),
        outputs=(TensorSpec("score", "f32", ()),),
    ),
    forward=forward,
    make_content=make_content,
)
