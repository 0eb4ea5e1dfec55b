"""Depthwise convolution as one multiply and add per position in the window.

XLA's CPU convolution with as many groups as channels takes 6 to 10 times as long: it computes each
group alone. These multiplies and adds become one loop over the output.
"""

import math

import jax
from jax import lax

from roundhouse_export.passes.convolution.description import Convolution
from roundhouse_export.passes.convolution.lowering import Lowering, as_it_is
from roundhouse_export.passes.convolution.windows import padded, positions, seen_from

# Compile time grows with the number of positions; 13 x 13 still compiles in seconds.
_MOST_POSITIONS = 169


def _applies(convolution: Convolution) -> bool:
    return (
        convolution.groups == convolution.channels > 1
        and math.prod(convolution.window) <= _MOST_POSITIONS
    )


def _compute(image: jax.Array, kernel: jax.Array, convolution: Convolution) -> jax.Array:
    channels = convolution.channels
    multiplier = convolution.output_channels // channels
    wanted = convolution.numpy_output_type
    space = padded(image, convolution).astype(wanted)
    kernel = kernel.astype(wanted)
    # Output channels of one input channel lie side by side.
    split = (*convolution.output[:-1], channels, multiplier)
    sums = None
    for position in positions(convolution):
        seen = seen_from(space, convolution, position)
        ends = (*(at + 1 for at in position), *kernel.shape[-2:])
        factors = lax.slice(kernel, (*position, 0, 0), ends).reshape(channels, multiplier)
        # Operators of jax.numpy would take most of the time of the export here.
        if multiplier == 1:
            wide = lax.broadcast_in_dim(factors.reshape(channels), seen.shape, (seen.ndim - 1,))
        else:
            seen = lax.broadcast_in_dim(seen, split, range(seen.ndim))
            wide = lax.broadcast_in_dim(factors, split, (seen.ndim - 2, seen.ndim - 1))
        product = lax.mul(seen, wide)
        sums = product if sums is None else lax.add(sums, product)
    assert sums is not None
    return sums.reshape(convolution.output)


DEPTHWISE = Lowering("depthwise", _applies, as_it_is, _compute)
