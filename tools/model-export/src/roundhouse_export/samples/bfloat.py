"""bfloat16 in, bfloat16 weights, bfloat16 out."""

import jax.numpy as jnp
import ml_dtypes
import numpy as np

from roundhouse_export.contract import Contract, TensorSpec
from roundhouse_export.jax_program import Arrays
from roundhouse_export.samples.sample import Content, Sample

SEED = 16


def forward(inputs: Arrays, weights: Arrays) -> Arrays:
    return {"y": jnp.tanh(inputs["x"] @ weights["w"] + weights["b"])}


def make_content() -> Content:
    rng = np.random.default_rng(SEED)
    shapes = {"w": (8, 6), "b": (6,)}
    return Content(
        weights={n: rng.standard_normal(s).astype(ml_dtypes.bfloat16) for n, s in shapes.items()}
    )


SAMPLE = Sample(
    name="bfloat",
    description="tanh(x w + b) in bfloat16",
    contract=Contract(
        inputs=(TensorSpec("x", "bf16", ("n", 8)),),
        outputs=(TensorSpec("y", "bf16", ("n", 6)),),
        batch_sizes=(1, 4),
    ),
    forward=forward,
    make_content=make_content,
    # Two steps of bfloat16, which holds 8 significant bits.
    tolerance=2**-7,
)
