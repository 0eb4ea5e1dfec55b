"""Calls of code outside a module: which of them a server runs, and where others come from."""

import re
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from jax._src import core, source_info_util
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn
from jax.interpreters.mlir import make_ir_context
from jaxlib.mlir import ir

from roundhouse_export.refusal import RefusedError

SERVED = frozenset(
    {
        "TopK",
        "ApproxTopK",
        "mhlo.topk",
        "chlo.top_k",
        "mhlo.acos",
        "mhlo.acosh",
        "mhlo.asin",
        "mhlo.asinh",
        "mhlo.atanh",
        "mhlo.cosh",
        "mhlo.erf",
        "mhlo.sinh",
        "mhlo.tan",
        "Sharding",
        "SPMDFullToShardShape",
        "SPMDShardToFullShape",
    }
)
"""The same as in the server's ``CustomCalls``: any other target is refused when a model loads."""

_MEANINGS = {
    "geqrf|orgqr|ungqr|householder|^Qr$": "a QR decomposition",
    "gesdd|gesvd|svd": "a singular value decomposition",
    "syev|heev|Eigh": "eigenvalues of a symmetric matrix",
    "geev": "eigenvalues of a matrix",
    "gees|gehrd|sytrd|hetrd": "a decomposition of a matrix",
    "gtsv": "a tridiagonal system of equations",
    "callback|debug": "a function of Python",
}
_FILE_LINE = re.compile(r'"([^"]+)":(\d+):\d+')


def require_served(program: str, module_text: str) -> None:
    """Raises RefusedError for the first custom call that a server refuses, with the line of it."""
    if "custom_call" not in module_text:
        return
    with make_ir_context():
        module = ir.Module.parse(module_text)
        for operation in _operations(module.operation):
            if operation.name != "stablehlo.custom_call":
                continue
            target = ir.StringAttr(operation.attributes["call_target_name"]).value
            if target not in SERVED:
                raise _refusal(program, target, _source_line(module, operation))


def callback_refusal(program: str, traced: ClosedJaxpr) -> RefusedError:
    """Returns the refusal of a function of Python in a program, which JAX does not even export."""
    for equation in _equations(traced.jaxpr):
        if "callback" in equation.primitive.name or "debug" in equation.primitive.name:
            frame = source_info_util.user_frame(equation.source_info.traceback)
            line = f"{frame.file_name}:{frame.start_line}" if frame else None
            return _refusal(program, equation.primitive.name, line)
    return _refusal(program, "callback", None)


def _equations(jaxpr: Jaxpr) -> Iterator[JaxprEqn]:
    for equation in jaxpr.eqns:
        yield equation
        for inner in core.jaxprs_in_params(equation.params):
            yield from _equations(inner)


def _refusal(program: str, target: str, line: str | None) -> RefusedError:
    what = next((text for part, text in _MEANINGS.items() if re.search(part, target)), None)
    where = f"{program}: {line}" if line else program
    return RefusedError(
        f"{where}: {what or 'a custom call'} ('{target}') is code outside the program that no "
        "server runs; compute it before the export, or write it in other operations"
    )


def _source_line(module: ir.Module, operation: ir.Operation) -> str | None:
    """Returns ``file:line`` of the user's code that led to an operation.

    JAX moves some operations into functions of their own, which have no place in a file: then
    the place is that of the function's call.
    """
    seen: set[str] = set()
    places: list[tuple[str, str]] = []
    at: ir.Operation | None = operation
    while at is not None:
        places += _FILE_LINE.findall(str(at.location))
        parent = at.parent
        if at.name == "func.func":
            function = ir.StringAttr(at.attributes["sym_name"]).value
            seen.add(function)
            parent = _call_of(module, function) if len(seen) < 100 else None
        at = parent.operation if parent is not None else None
    written = next((place for place in places if _is_users(place[0])), None)
    file, line = written or next(iter(places), (None, None))
    return f"{file}:{line}" if file else None


def _call_of(module: ir.Module, function: str) -> ir.Operation | None:
    for operation in _operations(module.operation):
        if operation.name == "func.call":
            callee = ir.FlatSymbolRefAttr(operation.attributes["callee"]).value
            if callee == function:
                return operation
    return None


def _is_users(file: str) -> bool:
    return not any(Path(file).is_relative_to(folder) for folder in library_folders())


def library_folders() -> tuple[Path, ...]:
    """Where code lies that no user of this package wrote: Python's, packages', and this one."""
    paths = sysconfig.get_paths()
    folders = {paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")}
    folders |= {path for path in sys.path if path.endswith(("site-packages", "dist-packages"))}
    return (*map(Path, folders), Path(__file__).parent)


def _operations(operation: ir.Operation) -> Iterator[ir.Operation]:
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield inner.operation
                yield from _operations(inner.operation)
