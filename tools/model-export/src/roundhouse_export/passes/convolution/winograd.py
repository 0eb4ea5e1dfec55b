"""Winograd's way of a 3 x 3 convolution: fewer products of transformed tiles.

A tile of m x m outputs needs (m + 2) x (m + 2) products per pair of channels in place of 9 m x m.
The transformed kernel is (m + 2)^2 / 9 times as large as the kernel, and the sums of the
transforms cost exactness: about one decimal digit for m = 4.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from roundhouse_export.passes.convolution.description import Convolution
from roundhouse_export.passes.convolution.lowering import Lowering

Matrix = Sequence[Sequence[float]]


@dataclass(frozen=True)
class _Transform:
    """Matrices of F(m, 3), of inputs, kernels and outputs."""

    tile: int
    of_input: Matrix
    of_kernel: Matrix
    of_output: Matrix

    @property
    def reach(self) -> int:
        return self.tile + 2

    def prepare(self, kernel: jax.Array, convolution: Convolution) -> jax.Array:
        rows = _combine(self.of_kernel, [kernel[i] for i in range(3)])
        both = [_combine(self.of_kernel, [row[j] for j in range(3)]) for row in rows]
        return jnp.stack([part for row in both for part in row])

    def compute(self, image: jax.Array, kernel: jax.Array, convolution: Convolution) -> jax.Array:
        rows, height, width, _ = convolution.output
        down, across = (-(-size // self.tile) for size in (height, width))
        pieces = self._pieces(image, convolution, down, across)
        by_row = [_combine(self.of_input, [row[j] for row in pieces]) for j in range(self.reach)]
        products = []
        for a in range(self.reach):
            tiles = _combine(self.of_input, [by_row[j][a] for j in range(self.reach)])
            products.append(
                [
                    lax.dot(
                        tile.reshape(-1, convolution.channels),
                        kernel[a * self.reach + b],
                        precision=convolution.lax_precision,
                    )
                    for b, tile in enumerate(tiles)
                ]
            )
        columns = [
            _combine(self.of_output, [row[b] for row in products]) for b in range(self.reach)
        ]
        sums = [
            _combine(self.of_output, [columns[b][a] for b in range(self.reach)])
            for a in range(self.tile)
        ]
        shape = (rows, down, across, convolution.output_channels)
        lines = [jnp.stack([part.reshape(shape) for part in line], 3) for line in sums]
        whole = jnp.stack(lines, 2).reshape(
            rows, down * self.tile, across * self.tile, convolution.output_channels
        )
        return whole[:, :height, :width, :]

    def _pieces(
        self, image: jax.Array, convolution: Convolution, down: int, across: int
    ) -> list[list[jax.Array]]:
        """Returns the input's elements by their place in a tile."""
        padding = [(0, 0, 0)]
        for size, (low, _), tiles in zip(
            image.shape[1:-1], convolution.padding, (down, across), strict=True
        ):
            padding.append((low, tiles * self.tile + 2 - size - low, 0))
        space = lax.pad(image, np.zeros((), image.dtype), [*padding, (0, 0, 0)])
        steps = (1, self.tile, self.tile, 1)
        rows, _, _, channels = space.shape
        last_down, last_across = ((tiles - 1) * self.tile + 1 for tiles in (down, across))
        return [
            [
                lax.slice(
                    space, (0, i, j, 0), (rows, i + last_down, j + last_across, channels), steps
                )
                for j in range(self.reach)
            ]
            for i in range(self.reach)
        ]


def _combine(matrix: Matrix, parts: Sequence[Any]) -> list[Any]:
    """Multiplies a matrix by a vector of arrays, with nothing to do for its zeros and ones."""
    return [_sum_of(row, parts) for row in matrix]


def _sum_of(row: Sequence[float], parts: Sequence[Any]) -> Any:
    # Operators of jax.numpy would take most of the time of the export here.
    total = None
    for factor, part in zip(row, parts, strict=True):
        if factor == 0:
            continue
        if abs(factor) != 1 or (factor < 0 and total is None):
            part, factor = lax.mul(part, lax.full_like(part, factor)), 1
        if total is None:
            total = part
        else:
            total = lax.add(total, part) if factor > 0 else lax.sub(total, part)
    return total


_F2 = _Transform(
    2,
    ((1, 0, -1, 0), (0, 1, 1, 0), (0, -1, 1, 0), (0, 1, 0, -1)),
    ((1, 0, 0), (1 / 2, 1 / 2, 1 / 2), (1 / 2, -1 / 2, 1 / 2), (0, 0, 1)),
    ((1, 1, 1, 0), (0, 1, -1, -1)),
)
_F4 = _Transform(
    4,
    (
        (4, 0, -5, 0, 1, 0),
        (0, -4, -4, 1, 1, 0),
        (0, 4, -4, -1, 1, 0),
        (0, -2, -1, 2, 1, 0),
        (0, 2, -1, -2, 1, 0),
        (0, 4, 0, -5, 0, 1),
    ),
    (
        (1 / 4, 0, 0),
        (-1 / 6, -1 / 6, -1 / 6),
        (-1 / 6, 1 / 6, -1 / 6),
        (1 / 24, 1 / 12, 1 / 6),
        (1 / 24, -1 / 12, 1 / 6),
        (0, 0, 1),
    ),
    ((1, 1, 1, 1, 1, 0), (0, 1, -1, 2, -2, 0), (0, 1, 1, 4, 4, 0), (0, 1, -1, 8, -8, 1)),
)


def _applies(convolution: Convolution) -> bool:
    types = {convolution.input_type, convolution.kernel_type, convolution.output_type}
    return (
        convolution.window == (3, 3)
        and set(convolution.strides + convolution.input_dilation) == {1}
        and set(convolution.kernel_dilation) == {1}
        and convolution.groups == 1
        and types == {"f32"}
    )


WINOGRAD2 = Lowering("winograd2", _applies, _F2.prepare, _F2.compute, 16 / 9)
WINOGRAD4 = Lowering("winograd4", _applies, _F4.prepare, _F4.compute, 36 / 9)
