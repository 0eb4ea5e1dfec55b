"""Convolution with a window of one element as one matrix product over all pixels."""

import math

import jax
from jax import lax

from roundhouse_export.passes.convolution.description import Convolution
from roundhouse_export.passes.convolution.lowering import Lowering
from roundhouse_export.passes.convolution.windows import padded, seen_from


def _applies(convolution: Convolution) -> bool:
    return convolution.groups == 1 and math.prod(convolution.window) == 1


def _prepare(kernel: jax.Array, convolution: Convolution) -> jax.Array:
    return kernel.reshape(convolution.channels, convolution.output_channels)


def _compute(image: jax.Array, kernel: jax.Array, convolution: Convolution) -> jax.Array:
    seen = seen_from(padded(image, convolution), convolution, (0,) * convolution.rank)
    product = lax.dot(
        seen.reshape(-1, convolution.channels),
        kernel,
        precision=convolution.lax_precision,
        preferred_element_type=convolution.numpy_output_type,
    )
    return product.reshape(convolution.output)


POINTWISE = Lowering("pointwise", _applies, _prepare, _compute)
