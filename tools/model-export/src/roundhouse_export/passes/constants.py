"""Large constants of programs as weights: stored once for all programs, and paged like weights."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from roundhouse_export.passes.evaluation import evaluate
from roundhouse_export.passes.expression import Expression, expression_of
from roundhouse_export.passes.main_function import (
    append_arguments,
    main_block,
    nested,
    operations,
)
from roundhouse_export.passes.tensor_types import byte_size, type_of
from roundhouse_export.passes.weight_names import unique

LARGEST_IN_PROGRAM = 64 << 10


def lift_constants(
    modules: Mapping[Any, ir.Module], weights: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Changes the modules in place; returns the weights followed by what was lifted.

    Every module takes all of them. A constant of one repeated value stays, however large: it is
    written as that value. Names say what reads the constant, counted in the order of programs.
    """
    lifted: dict[Expression, str] = {}
    stored = dict(weights)
    places: list[list[tuple[ir.Operation, str]]] = []
    for module in modules.values():
        found = []
        for constant in _large_constants(module):
            expression = expression_of(constant.results[0], {})
            if expression not in lifted:
                name = unique(f"constant.{_reader(constant)}", stored)
                lifted[expression] = name
                stored[name] = evaluate(expression.text, [])
            found.append((constant, lifted[expression]))
        places.append(found)
    for module, found in zip(modules.values(), places, strict=True):
        with module.context:
            types = [type_of(stored[name]) for name in lifted.values()]
        arguments = dict(zip(lifted.values(), append_arguments(module, types), strict=True))
        for constant, name in found:
            constant.results[0].replace_all_uses_with(arguments[name])
            constant.erase()
    return stored


def _large_constants(module: ir.Module) -> Iterator[ir.Operation]:
    for operation in operations(main_block(module)):
        for each in nested(operation):
            if each.name != "stablehlo.constant":
                continue
            size = byte_size(each.results[0].type)
            if size is None or size <= LARGEST_IN_PROGRAM:  # None of complex numbers
                continue
            if not ir.DenseElementsAttr(each.attributes["value"]).is_splat:
                yield each


def _reader(constant: ir.Operation) -> str:
    reader = next(iter(constant.results[0].uses), None)
    return "unused" if reader is None else reader.owner.name.split(".")[-1]
