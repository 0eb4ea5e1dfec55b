"""y = x w + b, with a weight that is not square so that swapped axes cannot go unseen."""

import numpy as np

from roundhouse_export.contract import Contract, TensorSpec
from roundhouse_export.jax_program import Arrays
from roundhouse_export.samples.sample import Content, Sample

SEED = 16004

CONTRACT = Contract(
    inputs=(TensorSpec("x", "f32", ("n", 16)),),
    outputs=(TensorSpec("y", "f32", ("n", 4)),),
    batch_sizes=(1, 4, 8),
)


def forward(inputs: Arrays, weights: Arrays) -> Arrays:
    return {"y": inputs["x"] @ weights["w"] + weights["b"]}


def make_content() -> Content:
    rng = np.random.default_rng(SEED)
    w = rng.standard_normal((16, 4)).astype(np.float32)
    b = rng.standard_normal(4).astype(np.float32)
    return Content(weights={"w": w, "b": b})


SAMPLE = Sample(
    name="affine",
    description="y = x w + b",
    contract=CONTRACT,
    forward=forward,
    make_content=make_content,
)
