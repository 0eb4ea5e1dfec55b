"""Products with a weight that lies as the CPU reads it: what is summed over comes first.

A weight of 512 x 4608 that is summed over its last axis took 5.8 ms for 49 rows; transposed, 1.8.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from roundhouse_export.passes.dependence import Known, known_values
from roundhouse_export.passes.main_function import main_block, operations
from roundhouse_export.passes.tensor_types import struct_of
from roundhouse_export.passes.traced import insert_before


def transpose_factors(module: ir.Module, inputs: int) -> None:
    """Changes the module in place; ``inputs`` leading arguments of ``@main`` are no weights.

    Folding stores the transposed weights, so a weight that is read in another way too stays.
    """
    known = known_values(main_block(module), inputs)
    for operation in operations(main_block(module)):
        order = _order(operation)
        if order is None or known.get(operation.operands[1]) is not Known.WEIGHTS:
            continue
        weight = operation.operands[1]
        if all(_order(use.owner) == order and use.operand_number == 1 for use in weight.uses):
            for owner in [use.owner for use in weight.uses]:
                _transpose(owner, order)


def _transpose(operation: ir.Operation, order: tuple[int, ...]) -> None:
    moved = insert_before(operation, _Transpose(order), [operation.operands[1]])
    operation.operands[1] = moved
    numbers = stablehlo.DotDimensionNumbers(operation.attributes["dot_dimension_numbers"])
    summed = list(numbers.lhs_contracting_dimensions)
    operation.attributes["dot_dimension_numbers"] = stablehlo.DotDimensionNumbers.get(
        [], [], summed, list(range(len(summed))), context=operation.context
    )


@dataclass(frozen=True)
class _Transpose:
    order: tuple[int, ...]

    def __call__(self, weight: jax.Array) -> jax.Array:
        return jnp.transpose(weight, self.order)


def _order(operation: ir.Operation) -> tuple[int, ...] | None:
    """Returns how the second factor should be transposed; None where it should not."""
    if operation.name != "stablehlo.dot_general":
        return None
    numbers = stablehlo.DotDimensionNumbers(operation.attributes["dot_dimension_numbers"])
    struct = struct_of(operation.operands[1].type)
    if struct is None or len(numbers.rhs_batching_dimensions):
        return None
    summed = tuple(numbers.rhs_contracting_dimensions)
    order = (*summed, *(axis for axis in range(len(struct.shape)) if axis not in summed))
    return None if order == tuple(range(len(order))) else order
