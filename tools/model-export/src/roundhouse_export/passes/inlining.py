"""Calls of private functions replaced by what the functions do.

MLIR's own ``inline`` pass leaves calls alone here: jaxlib does not register the interface that lets
the function dialect be inlined.
"""

from collections.abc import Mapping

from jaxlib.mlir import ir

from roundhouse_export.passes.main_function import MAIN, functions, nested, operations


def inline_calls(module: ir.Module) -> None:
    """Leaves ``@main``, and what composites such as ``chlo.erf`` are made of, as functions."""
    known = functions(module)
    waiting = [each for each in nested(known[MAIN]) if each.name == "func.call"]
    while waiting:
        call = waiting.pop()
        callee = known[ir.FlatSymbolRefAttr(call.attributes["callee"]).value]
        waiting += [
            inner
            for operation in _inline(call, callee, module)
            for inner in nested(operation)
            if inner.name == "func.call"
        ]
    kept = _named_from(MAIN, known)
    for name, function in known.items():
        if name not in kept:
            function.erase()


def _named_from(name: str, known: Mapping[str, ir.Operation]) -> set[str]:
    """Returns a function's name and those of all that it calls or names, at any depth."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        each = waiting.pop()
        if each not in found:
            found.add(each)
            waiting += [
                ir.FlatSymbolRefAttr(operation.attributes[attribute]).value
                for operation in nested(known[each])
                for attribute in ("callee", "decomposition")
                if attribute in operation.attributes
            ]
    return found


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
