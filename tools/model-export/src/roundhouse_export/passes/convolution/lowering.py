"""What every way of computing a convolution offers."""

from collections.abc import Callable
from dataclasses import dataclass

import jax

from roundhouse_export.passes.convolution.description import Convolution

Step = Callable[..., jax.Array]


@dataclass(frozen=True)
class Lowering:
    """A convolution in two steps, all channels last.

    ``prepare(kernel, convolution)`` is done once, at export, where the kernel is a weight.
    ``compute(input, prepared, convolution)`` is what every call does. ``growth`` is how many times
    as large as the kernel the prepared kernel is.
    """

    name: str
    applies: Callable[[Convolution], bool]
    prepare: Step
    compute: Step
    growth: float = 1.0


def as_it_is(kernel: jax.Array, convolution: Convolution) -> jax.Array:
    """A kernel that needs no preparation."""
    return kernel
