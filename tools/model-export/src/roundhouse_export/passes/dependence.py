"""Which values of ``@main`` can be known at export: those that no input takes part in."""

from enum import Enum

from jaxlib.mlir import ir

from roundhouse_export.passes.main_function import nested, operations
from roundhouse_export.passes.markers import CALLED

_NEVER = frozenset(
    f"stablehlo.{name}"
    for name in [
        "after_all",
        "all_gather",
        "all_reduce",
        "all_to_all",
        "case",
        "collective_broadcast",
        "collective_permute",
        "composite",
        "custom_call",
        "get_dimension_size",
        "if",
        "infeed",
        "optimization_barrier",
        "outfeed",
        "partition_id",
        "recv",
        "reduce_scatter",
        "replica_id",
        "rng",
        "rng_bit_generator",
        "send",
        "set_dimension_size",
        "while",
    ]
)
"""Operations with effects, with chance, or of which nobody knows how long they take."""


class Known(Enum):
    CONSTANT = "made of constants alone"
    WEIGHTS = "made of weights, and perhaps of constants"


def known_values(block: ir.Block, inputs: int) -> dict[ir.Value, Known]:
    """Returns the values that are the same in every call, for ``inputs`` leading arguments."""
    known: dict[ir.Value, Known] = dict.fromkeys(list(block.arguments)[inputs:], Known.WEIGHTS)
    for operation in operations(block):
        if operation.name in _NEVER or not operation.name.startswith("stablehlo."):
            continue
        if CALLED in operation.attributes:
            continue
        read = values_read(operation)
        if all(value in known for value in read):
            weights = any(known[value] is Known.WEIGHTS for value in read)
            for result in operation.results:
                known[result] = Known.WEIGHTS if weights else Known.CONSTANT
    return known


def values_read(operation: ir.Operation) -> list[ir.Value]:
    """Returns what an operation reads from outside, by its regions too."""
    inside: set[ir.Value] = set()
    read: list[ir.Value] = []
    for each in nested(operation):
        for region in each.regions:
            for block in region.blocks:
                inside.update(block.arguments)
        if each != operation:
            inside.update(each.results)
        read.extend(each.operands)
    return [value for value in dict.fromkeys(read) if value not in inside]
