"""Each dtype that has a name on the wire, in and out: numbers gain one, booleans flip."""

import jax.numpy as jnp

from roundhouse_export import dtypes
from roundhouse_export.contract import Contract, TensorSpec
from roundhouse_export.jax_program import Arrays
from roundhouse_export.samples.sample import Sample

WIRE_TOKENS = tuple(t for t in dtypes.TOKENS if t not in dtypes.DEVICE_ONLY_TOKENS)


def forward(inputs: Arrays, weights: Arrays) -> Arrays:
    return {
        f"{token}_next": jnp.logical_not(value) if token == "bool" else value + 1
        for token, value in inputs.items()
    }


SAMPLE = Sample(
    name="dtypes",
    description="numbers plus one and booleans flipped, in every dtype of the wire",
    contract=Contract(
        inputs=tuple(TensorSpec(token, token, ("n", 3)) for token in WIRE_TOKENS),
        outputs=tuple(TensorSpec(f"{token}_next", token, ("n", 3)) for token in WIRE_TOKENS),
        batch_sizes=(1, 4),
    ),
    forward=forward,
    tolerance=0,
)
