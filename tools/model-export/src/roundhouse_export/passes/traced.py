"""Operations made by tracing a function of JAX where they are wanted."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import jax
from jax import export
from jaxlib.mlir import ir

from roundhouse_export.lowering import without_locations
from roundhouse_export.passes.inlining import inline_calls
from roundhouse_export.passes.main_function import main_block, operations
from roundhouse_export.passes.tensor_types import struct_of

Traceable = Callable[..., Any]
"""A function of JAX with one result; equal functions compute the same, and are traced once."""


def insert_before(
    operation: ir.Operation,
    function: Traceable,
    operands: Sequence[ir.Value],
    mark: str | None = None,
) -> ir.Value:
    """Writes what ``function`` does to ``operands`` before an operation; returns its result.

    Every operation that is written gets the attribute ``mark``.
    """
    structs = tuple((each.shape, each.dtype) for each in map(_struct, operands))
    with operation.context:
        traced = without_locations(_text(function, structs))
    inline_calls(traced)
    block = main_block(traced)
    for argument, operand in zip(block.arguments, operands, strict=True):
        argument.replace_all_uses_with(operand)
    *body, end = operations(block)
    result = end.operands[0]
    for each in body:
        each.move_before(operation)
        if mark is not None:
            each.attributes[mark] = ir.UnitAttr.get(operation.context)
    end.erase()
    return result


def _struct(value: ir.Value) -> jax.ShapeDtypeStruct:
    struct = struct_of(value.type)
    if struct is None:
        raise TypeError(f"{value.type} cannot be an argument of a function of JAX")
    return struct


@lru_cache(maxsize=1024)
def _text(function: Traceable, structs: tuple[tuple[tuple[int, ...], Any], ...]) -> str:
    arguments = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in structs]
    # Without 64 bits JAX would narrow the operands.
    with jax.enable_x64(True):
        jitted = jax.jit(lambda *values: function(*values), keep_unused=True)
        return export.export(jitted, platforms=("cpu",))(*arguments).mlir_module()
