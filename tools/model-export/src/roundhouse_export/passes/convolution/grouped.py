"""Convolution in groups: as a product with the group as its batch, or as one convolution each."""

import dataclasses
import math

import jax
import jax.numpy as jnp
from jax import lax

from roundhouse_export.passes.convolution.description import Convolution
from roundhouse_export.passes.convolution.direct import DIRECT
from roundhouse_export.passes.convolution.lowering import Lowering, as_it_is
from roundhouse_export.passes.convolution.windows import padded, positions, seen_from

_MOST_POSITIONS = 64
# Each group is a convolution of its own in the program.
_MOST_SPLIT = 64


def _batched_applies(convolution: Convolution) -> bool:
    return (
        1 < convolution.groups < convolution.channels
        and math.prod(convolution.window) <= _MOST_POSITIONS
    )


def _batched_prepare(kernel: jax.Array, convolution: Convolution) -> jax.Array:
    """Makes group, position and channel, output channel of space, in, out."""
    groups = convolution.groups
    split = kernel.reshape(-1, kernel.shape[-2], groups, convolution.output_channels // groups)
    return split.transpose(2, 0, 1, 3).reshape(groups, -1, split.shape[-1])


def _batched_compute(image: jax.Array, kernel: jax.Array, convolution: Convolution) -> jax.Array:
    groups, channels = convolution.groups, convolution.channels // convolution.groups
    space = padded(image, convolution)
    columns = [
        seen_from(space, convolution, position).reshape(-1, groups, channels)
        for position in positions(convolution)
    ]
    # Group first, then pixel, then position and channel.
    stacked = jnp.concatenate([each.transpose(1, 0, 2) for each in columns], axis=-1)
    product = lax.dot_general(
        stacked,
        kernel,
        (((2,), (1,)), ((0,), (0,))),
        precision=convolution.lax_precision,
        preferred_element_type=convolution.numpy_output_type,
    )
    return product.transpose(1, 0, 2).reshape(convolution.output)


def _split_applies(convolution: Convolution) -> bool:
    return 1 < convolution.groups < convolution.channels and convolution.groups <= _MOST_SPLIT


def _split_compute(image: jax.Array, kernel: jax.Array, convolution: Convolution) -> jax.Array:
    groups = convolution.groups
    alone = dataclasses.replace(
        convolution,
        input=(*convolution.input[:-1], convolution.channels // groups),
        kernel=(*convolution.kernel[:-1], convolution.output_channels // groups),
        groups=1,
    )
    return jnp.concatenate(
        [
            DIRECT.compute(part, of_kernel, alone)
            for part, of_kernel in zip(
                jnp.split(image, groups, axis=-1), jnp.split(kernel, groups, axis=-1), strict=True
            )
        ],
        axis=-1,
    )


GROUPED_PRODUCT = Lowering("grouped-product", _batched_applies, _batched_prepare, _batched_compute)
GROUPED_SPLIT = Lowering("grouped-split", _split_applies, as_it_is, _split_compute)
