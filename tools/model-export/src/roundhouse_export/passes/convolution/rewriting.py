"""Convolutions of a module computed as chosen, with kernels prepared where they are weights."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxlib.mlir import ir

from roundhouse_export.passes.convolution import LOWERINGS, Choices, choose
from roundhouse_export.passes.convolution.description import Convolution, Layout, read
from roundhouse_export.passes.convolution.direct import DIRECT
from roundhouse_export.passes.dependence import Known, known_values
from roundhouse_export.passes.main_function import (
    in_main,
    main_block,
    nested,
    operations,
)
from roundhouse_export.passes.markers import CALLED, STORED
from roundhouse_export.passes.traced import insert_before


def convolutions(module: ir.Module) -> list[ir.Operation]:
    """Returns the convolutions in program order, those in loops and branches too."""
    return [
        each
        for operation in operations(main_block(module))
        for each in nested(operation)
        if each.name == "stablehlo.convolution"
    ]


def rewrite_convolutions(module: ir.Module, inputs: int, choices: Choices | None) -> None:
    """Changes the module in place; ``inputs`` leading arguments of ``@main`` are no weights.

    Without ``choices`` each stays XLA's own, on the layout that the others have too.
    """
    known = known_values(main_block(module), inputs)
    for operation in convolutions(module):
        found = read(operation)
        if found is None:
            continue
        convolution, layout = found
        lowering = choose(convolution, choices)
        # A kernel that is prepared inside a loop is prepared in each of its rounds.
        is_weight = known.get(operation.operands[1]) is Known.WEIGHTS and in_main(operation)
        if lowering.growth > 1 and not is_weight:
            lowering = DIRECT
        if lowering is DIRECT and layout.plain:
            continue
        image, kernel = operation.operands
        prepared = insert_before(operation, _Prepare(lowering.name, convolution, layout), [kernel])
        if is_weight and lowering.growth > 1:
            prepared.owner.attributes[STORED] = ir.UnitAttr.get(module.context)
        compute = _Compute(lowering.name, convolution, layout)
        result = insert_before(operation, compute, [image, prepared], CALLED)
        operation.results[0].replace_all_uses_with(result)
        operation.erase()


@dataclass(frozen=True)
class _Prepare:
    lowering: str
    convolution: Convolution
    layout: Layout

    def __call__(self, kernel: jax.Array) -> jax.Array:
        kernel = jnp.transpose(kernel, self.layout.kernel)
        if self.layout.reversed_axes:
            kernel = jnp.flip(kernel, self.layout.reversed_axes)
        return LOWERINGS[self.lowering].prepare(kernel, self.convolution)


@dataclass(frozen=True)
class _Compute:
    lowering: str
    convolution: Convolution
    layout: Layout

    def __call__(self, image: jax.Array, prepared: jax.Array) -> jax.Array:
        image = jnp.transpose(image, self.layout.input)
        result = LOWERINGS[self.lowering].compute(image, prepared, self.convolution)
        return jnp.transpose(result, self.layout.output)
