"""Sum and difference of two integer vectors, named as Triton's example model names them."""

from roundhouse_export.contract import Contract, TensorSpec
from roundhouse_export.jax_program import Arrays
from roundhouse_export.samples.sample import Sample


def forward(inputs: Arrays, weights: Arrays) -> Arrays:
    first, second = inputs["INPUT0"], inputs["INPUT1"]
    return {"OUTPUT0": first + second, "OUTPUT1": first - second}


SAMPLE = Sample(
    name="simple",
    description="sum and difference of two INT32 vectors",
    contract=Contract(
        inputs=tuple(TensorSpec(name, "i32", ("n", 16)) for name in ("INPUT0", "INPUT1")),
        outputs=tuple(TensorSpec(name, "i32", ("n", 16)) for name in ("OUTPUT0", "OUTPUT1")),
        batch_sizes=(1, 2, 4, 8),
    ),
    forward=forward,
    tolerance=0,
)
