"""What a window sees of a padded input, one position in the window after another."""

import itertools
from collections.abc import Iterator

import jax
import numpy as np
from jax import lax

from roundhouse_export.passes.convolution.description import Convolution


def padded(image: jax.Array, convolution: Convolution) -> jax.Array:
    """Dilates and pads an input; padding may be negative and cut off instead."""
    space = [
        (low, high, dilation - 1)
        for (low, high), dilation in zip(
            convolution.padding, convolution.input_dilation, strict=True
        )
    ]
    if not any(any(each) for each in space):
        return image
    zero = np.zeros((), image.dtype)
    return lax.pad(image, zero, [(0, 0, 0), *space, (0, 0, 0)])


def positions(convolution: Convolution) -> Iterator[tuple[int, ...]]:
    """Yields the positions in the window, in the kernel's order."""
    return itertools.product(*(range(size) for size in convolution.window))


def seen_from(image: jax.Array, convolution: Convolution, position: tuple[int, ...]) -> jax.Array:
    """Returns what one position in the window meets in a padded input, for each output."""
    starts = [
        at * dilation for at, dilation in zip(position, convolution.kernel_dilation, strict=True)
    ]
    ends = [
        start + (size - 1) * stride + 1
        for start, size, stride in zip(
            starts, convolution.output[1:-1], convolution.strides, strict=True
        )
    ]
    return lax.slice(
        image,
        (0, *starts, 0),
        (image.shape[0], *ends, image.shape[-1]),
        (1, *convolution.strides, 1),
    )
