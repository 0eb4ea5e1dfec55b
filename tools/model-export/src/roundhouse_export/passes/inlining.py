"""Calls of private functions, and composites, replaced by what the functions do.

MLIR's own ``inline`` pass leaves calls alone here: jaxlib does not register the interface that lets
the function dialect be inlined.
"""

from jaxlib.mlir import ir

from roundhouse_export.passes.main_function import MAIN, functions, nested, operations

_FUNCTION = {"func.call": "callee", "stablehlo.composite": "decomposition"}


def inline_calls(module: ir.Module) -> None:
    """Leaves ``@main`` as the module's only function."""
    known = functions(module)
    waiting = [each for each in nested(known[MAIN]) if each.name in _FUNCTION]
    while waiting:
        call = waiting.pop()
        callee = known[ir.FlatSymbolRefAttr(call.attributes[_FUNCTION[call.name]]).value]
        waiting += [
            inner
            for operation in _inline(call, callee, module)
            for inner in nested(operation)
            if inner.name in _FUNCTION
        ]
    for name, function in known.items():
        if name != MAIN:
            function.erase()


def _inline(call: ir.Operation, callee: ir.Operation, module: ir.Module) -> list[ir.Operation]:
    # The whole function is copied, as a copy of single operations would not follow values into
    # the regions of loops.
    copy = callee.clone(ir.InsertionPoint(module.body)).operation
    block = copy.regions[0].blocks[0]
    for argument, given in zip(block.arguments, call.operands, strict=True):
        argument.replace_all_uses_with(given)
    *body, end = operations(block)
    for operation in body:
        operation.move_before(call)
    for result, returned in zip(call.results, end.operands, strict=True):
        result.replace_all_uses_with(returned)
    call.erase()
    copy.erase()
    return body
