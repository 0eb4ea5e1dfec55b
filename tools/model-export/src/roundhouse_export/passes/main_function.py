"""``@main`` of a module: its operations, and its arguments as they come and go."""

from collections.abc import Iterator, Sequence

from jaxlib.mlir import ir

MAIN = "main"


def functions(module: ir.Module) -> dict[str, ir.Operation]:
    """Returns the module's functions by name."""
    return {
        ir.StringAttr(each.attributes["sym_name"]).value: each.operation
        for each in module.body.operations
        if each.operation.name == "func.func"
    }


def main_block(module: ir.Module) -> ir.Block:
    """Returns the body of ``@main``; what JAX lowers to has no branches between blocks."""
    return functions(module)[MAIN].regions[0].blocks[0]


def in_main(operation: ir.Operation) -> bool:
    """True for an operation of ``@main`` itself, not of a loop or branch in it."""
    return operation.parent is not None and operation.parent.name == "func.func"


def operations(block: ir.Block) -> list[ir.Operation]:
    """Returns the block's operations; the list stays valid while the block is changed."""
    return [each.operation for each in block.operations]


def nested(operation: ir.Operation) -> Iterator[ir.Operation]:
    """Yields the operation itself and all that lie in its regions."""
    yield operation
    for region in operation.regions:
        for block in region.blocks:
            for inner in operations(block):
                yield from nested(inner)


def append_arguments(module: ir.Module, types: Sequence[ir.Type]) -> list[ir.Value]:
    """Gives ``@main`` further arguments after those it has."""
    block = main_block(module)
    place = ir.Location.unknown(module.context)
    added = [block.add_argument(each, place) for each in types]
    _say_what_is_taken(module)
    return added


def remove_arguments(module: ir.Module, start: int, end: int) -> None:
    """Takes arguments ``start`` to ``end`` (exclusive), which nothing uses, from ``@main``."""
    block = main_block(module)
    for _ in range(start, end):
        block.erase_argument(start)
    _say_what_is_taken(module)


def _say_what_is_taken(module: ir.Module) -> None:
    """Makes the function's type that of its block; what JAX noted of arguments is dropped."""
    main = functions(module)[MAIN]
    returned = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value).results
    taken = [argument.type for argument in main_block(module).arguments]
    with module.context:
        main.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(taken, returned))
    if "arg_attrs" in main.attributes:
        del main.attributes["arg_attrs"]


def erase_unused(candidates: Sequence[ir.Operation]) -> None:
    """Erases those of the operations, given in program order, whose results nothing uses."""
    for operation in reversed(candidates):
        if all(next(iter(result.uses), None) is None for result in operation.results):
            operation.erase()
