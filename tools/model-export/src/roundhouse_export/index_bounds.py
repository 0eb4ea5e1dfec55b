"""How large the integers that a program takes for indices may be, from what they index."""

from collections.abc import Iterator
from enum import IntEnum

import numpy as np
from jax.interpreters.mlir import make_ir_context
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from roundhouse_export.passes.dependence import values_read
from roundhouse_export.passes.inlining import inline_calls
from roundhouse_export.passes.main_function import main_block, nested, operations

_SAME_NUMBERS = frozenset(
    f"stablehlo.{name}"
    for name in (
        "broadcast_in_dim",
        "clamp",
        "concatenate",
        "convert",
        "maximum",
        "minimum",
        "optimization_barrier",
        "reshape",
        "reverse",
        "select",
        "slice",
        "transpose",
    )
)
_BIT = 2
"""The bound where something is indexed by what was computed from an input: 0 and 1 rarely harm."""


class _Origin(IntEnum):
    """What of an input a value holds; a select of both holds the input's own numbers."""

    COMPUTED = 1
    OWN = 2


def index_bounds(program: str, inputs: int) -> list[int | None]:
    """Returns for each of the leading arguments of ``@main`` the least number that is too large.

    None where the program indexes nothing by the argument.
    """
    with make_ir_context():
        module = ir.Module.parse(program)
        inline_calls(module)
        block = main_block(module)
        return [
            _bound(block, argument) if _is_integer(argument) else None
            for argument in list(block.arguments)[:inputs]
        ]


def _is_integer(value: ir.Value) -> bool:
    element = ir.RankedTensorType(value.type).element_type
    return isinstance(element, ir.IntegerType) and element.width > 1


def _bound(block: ir.Block, argument: ir.Value) -> int | None:
    origins: dict[ir.Value, _Origin] = {argument: _Origin.OWN}
    found: list[int] = []
    for operation in operations(block):
        for inner in nested(operation):
            for value, bound in _indices(inner):
                origin = origins.get(value)
                if origin is not None or (inner != operation and _reads(operation, origins)):
                    found.append(bound if origin is _Origin.OWN else _BIT)
        reached = [origins[value] for value in values_read(operation) if value in origins]
        if reached:
            same = operation.name in _SAME_NUMBERS
            origin = max(reached) if same else _Origin.COMPUTED
            origins.update(dict.fromkeys(operation.results, origin))
    return max(1, min(found)) if found else None


def _reads(operation: ir.Operation, origins: dict[ir.Value, _Origin]) -> bool:
    return any(value in origins for value in values_read(operation))


def _indices(operation: ir.Operation) -> Iterator[tuple[ir.Value, int]]:
    """Yields values that index another, with how many different numbers have a place there."""
    operands = list(operation.operands)
    match operation.name:
        case "stablehlo.gather":
            numbers = stablehlo.GatherDimensionNumbers(operation.attributes["dimension_numbers"])
            sizes = list(operation.attributes["slice_sizes"])
            shape = _shape(operands[0])
            places = [shape[axis] - sizes[axis] + 1 for axis in numbers.start_index_map]
            yield operands[1], min(places, default=1)
        case "stablehlo.dynamic_slice":
            sizes = list(operation.attributes["slice_sizes"])
            for value, extent, size in zip(operands[1:], _shape(operands[0]), sizes, strict=True):
                yield value, extent - size + 1
        case "stablehlo.dynamic_update_slice":
            extents = zip(_shape(operands[0]), _shape(operands[1]), strict=True)
            for value, (extent, size) in zip(operands[2:], extents, strict=True):
                yield value, extent - size + 1
        case "stablehlo.scatter":
            numbers = stablehlo.ScatterDimensionNumbers(
                operation.attributes["scatter_dimension_numbers"]
            )
            indexed = numbers.scattered_dims_to_operand_dims
            whole = all(axis in numbers.inserted_window_dims for axis in indexed)
            shape = _shape(operands[0])
            place = min((shape[axis] for axis in indexed), default=1)
            yield operands[len(operands) // 2], place if whole else _BIT
        case "stablehlo.compare":  # with 0, 1, 2 and so on: a one-hot vector is an index, too
            for value, other in (operands, reversed(operands)):
                count = _counted(other)
                if (
                    count is not None
                    and count > _BIT
                    and "EQ" in str(operation.attributes["comparison_direction"])
                ):
                    yield value, count


def _counted(value: ir.Value) -> int | None:
    """Returns N where a value repeats the numbers from 0 to N - 1 along an axis."""
    while not isinstance(value, ir.BlockArgument):
        operation = value.owner
        match operation.name:
            case "stablehlo.broadcast_in_dim" | "stablehlo.reshape" | "stablehlo.convert":
                value = operation.operands[0]
            case "stablehlo.iota":
                axis = ir.IntegerAttr(operation.attributes["iota_dimension"]).value
                return _shape(value)[axis]
            case "stablehlo.constant" if _is_integer(value):
                held = np.array(operation.attributes["value"]).ravel()
                counts = np.array_equal(held, np.arange(held.size))
                return held.size if counts and held.size == max(_shape(value), default=0) else None
            case _:
                break
    return None


def _shape(value: ir.Value) -> list[int]:
    return list(ir.RankedTensorType(value.type).shape)
