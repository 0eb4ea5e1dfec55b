"""Convolution as one matrix product over copies of what every window sees."""

import math

import jax
import jax.numpy as jnp
from jax import lax

from roundhouse_export.passes.convolution.description import Convolution
from roundhouse_export.passes.convolution.lowering import Lowering
from roundhouse_export.passes.convolution.windows import padded, positions, seen_from

# The copies are as many times as large as the input.
_MOST_POSITIONS = 64


def _applies(convolution: Convolution) -> bool:
    return convolution.groups == 1 and 1 < math.prod(convolution.window) <= _MOST_POSITIONS


def _prepare(kernel: jax.Array, convolution: Convolution) -> jax.Array:
    return kernel.reshape(-1, convolution.output_channels)


def _compute(image: jax.Array, kernel: jax.Array, convolution: Convolution) -> jax.Array:
    space = padded(image, convolution)
    columns = jnp.concatenate(
        [seen_from(space, convolution, position) for position in positions(convolution)], axis=-1
    )
    product = lax.dot(
        columns.reshape(-1, columns.shape[-1]),
        kernel,
        precision=convolution.lax_precision,
        preferred_element_type=convolution.numpy_output_type,
    )
    return product.reshape(convolution.output)


IM2COL = Lowering("im2col", _applies, _prepare, _compute)
