"""What a value is made of: a small module of its own, which also says when two are the same."""

from collections.abc import Mapping
from dataclasses import dataclass

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func

from roundhouse_export.passes.main_function import MAIN
from roundhouse_export.passes.markers import STORED, remove_markers


@dataclass(frozen=True)
class Expression:
    """``text`` is a module whose ``@main`` makes the value of the weights that ``leaves`` name.

    Values are numbered afresh in it, so that equal computations have equal texts, in whichever
    program they stand. ``steps`` are the operations' names. ``stored`` is a pass's demand that the
    value be stored, whatever its size.
    """

    text: str
    leaves: tuple[str, ...]
    steps: frozenset[str]
    stored: bool = False


def expression_of(value: ir.Value, names: Mapping[ir.Value, str]) -> Expression:
    """Isolates a value; ``names`` has the weights."""
    made_by, leaves = _in_order(value, names)
    context = value.type.context
    with context, ir.Location.unknown():
        module = ir.Module.create()
        kind = ir.FunctionType.get([leaf.type for leaf in leaves], [value.type])
        with ir.InsertionPoint(module.body):
            function = func.FuncOp(MAIN, kind)
        block = function.add_entry_block()
        copies = dict(zip(leaves, block.arguments, strict=True))
        with ir.InsertionPoint(block):
            for operation in made_by:
                copy = operation.clone().operation
                for position, operand in enumerate(operation.operands):
                    copy.operands[position] = copies[operand]
                copies.update(zip(operation.results, copy.results, strict=True))
            func.ReturnOp([copies[value]])
    remove_markers(module)
    return Expression(
        str(module),
        tuple(names[leaf] for leaf in leaves),
        frozenset(operation.name.removeprefix("stablehlo.") for operation in made_by),
        STORED in value.owner.attributes,
    )


def _in_order(
    value: ir.Value, names: Mapping[ir.Value, str]
) -> tuple[list[ir.Operation], list[ir.Value]]:
    """Returns operations, operands before users, and leaves in the order in which they are met.

    The order follows the operands, not the program, or one computation would have many texts.
    """
    made_by: dict[ir.Operation, None] = {}
    leaves: dict[ir.Value, None] = {}
    waiting: list[tuple[ir.Value, bool]] = [(value, False)]
    while waiting:
        current, operands_done = waiting.pop()
        if current in names:
            leaves[current] = None
            continue
        owner = current.owner
        if operands_done:
            made_by[owner] = None
        elif owner not in made_by:
            waiting.append((current, True))
            waiting.extend((operand, False) for operand in reversed(list(owner.operands)))
    return list(made_by), list(leaves)
