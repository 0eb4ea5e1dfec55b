"""Operations on weights alone, done once at export: their results become the weights.

So kernels lie as the compiled program reads them, and what batch normalisation computes of its
parameters is not computed in every call. All programs of a bundle keep one list of weights.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from roundhouse_export.passes.dependence import Known, known_values, values_read
from roundhouse_export.passes.evaluation import evaluate
from roundhouse_export.passes.expression import Expression, expression_of
from roundhouse_export.passes.main_function import (
    append_arguments,
    erase_unused,
    main_block,
    operations,
    remove_arguments,
)
from roundhouse_export.passes.markers import remove_markers
from roundhouse_export.passes.tensor_types import byte_size, struct_of, type_of
from roundhouse_export.passes.weight_names import base_of, name_for

Weights = Mapping[str, np.ndarray]

# A weight that is also read as it is gets no second copy above this size for another layout.
_LARGEST_SECOND_COPY = 1 << 20
_LAYOUT_ONLY = frozenset({"transpose", "reshape"})
_PARTS = frozenset({"slice", "dynamic_slice", "gather"})
_MOST_PARTS = 16


def fold_weights(
    modules: Mapping[Any, ir.Module], weights: Weights, inputs: int
) -> dict[str, np.ndarray]:
    """Changes the modules in place and returns the weights that they take, in order.

    A value is folded when it is not larger than the weights that it is made of, or marked as
    stored; else the operation that makes it larger stays. Weights that nothing reads are dropped.
    """
    refused: set[Expression] = set()
    while True:
        plans = [_Plan(module, weights, inputs, refused) for module in modules.values()]
        raw = set().union(*(plan.raw for plan in plans))
        folded = {
            expression: byte_size(value.type) or 0
            for plan in plans
            for value, expression in plan.folded.items()
        }
        wasteful = _wasteful(folded, raw, weights)
        if not wasteful:
            break
        refused |= wasteful
    made = _make(folded, raw, weights)
    stored = dict(made.values())
    names = {expression: name for expression, (name, _) in made.items()}
    for module, plan in zip(modules.values(), plans, strict=True):
        _apply(module, plan, inputs, stored, names)
    return stored


@dataclass
class _Plan:
    """What one program reads: weights as they are (``raw``) and values to be made (``folded``)."""

    module: ir.Module
    weights: Weights
    inputs: int
    refused: set[Expression]
    raw: dict[str, None] = field(default_factory=dict)
    folded: dict[ir.Value, Expression] = field(default_factory=dict)

    def __post_init__(self) -> None:
        block = main_block(self.module)
        self.known = known_values(block, self.inputs)
        arguments = list(block.arguments)[self.inputs :]
        self.names = dict(zip(arguments, self.weights, strict=True))
        seen: set[ir.Value] = set()
        for operation in operations(block):
            if any(result in self.known for result in operation.results):
                continue
            waiting = values_read(operation)
            while waiting:
                value = waiting.pop(0)
                if value not in seen and self.known.get(value) is Known.WEIGHTS:
                    seen.add(value)
                    waiting += self._read(value)

    def _read(self, value: ir.Value) -> list[ir.Value]:
        """Notes a value that the program reads; returns what else it then reads."""
        if value in self.names:
            self.raw[self.names[value]] = None
            return []
        expression = expression_of(value, self.names)
        if expression not in self.refused and self._fits(value, expression):
            self.folded[value] = expression
            return []
        return values_read(value.owner)

    def _fits(self, value: ir.Value, expression: Expression) -> bool:
        struct = struct_of(value.type)
        if struct is None:
            return False
        if expression.stored:
            return True
        made_of = [self.weights[leaf] for leaf in expression.leaves]
        # The sum of two biases, each repeated for two rows, is as large as both: count elements.
        repeats = struct.size > max(array.size for array in made_of)
        if repeats and "concatenate" not in expression.steps:
            return False
        return struct.size * struct.dtype.itemsize <= sum(array.nbytes for array in made_of)


def _wasteful(folded: Mapping[Expression, int], raw: set[str], weights: Weights) -> set[Expression]:
    """Returns what would store more than the weights that it is made of, all programs together.

    That is a large weight in a second layout, and overlapping or very many parts of a weight.
    """
    found = {
        each
        for each in folded
        if each.steps <= _LAYOUT_ONLY
        and each.leaves[0] in raw
        and weights[each.leaves[0]].nbytes > _LARGEST_SECOND_COPY
    }
    parts: dict[str, list[Expression]] = {}
    for each in folded:
        if each.steps & _PARTS and not each.stored:
            parts.setdefault(base_of(each, weights), []).append(each)
    for name, several in parts.items():
        size = sum(folded[each] for each in several) + (weights[name].nbytes if name in raw else 0)
        if size > weights[name].nbytes or len(several) > _MOST_PARTS:
            found.update(several)
    return found


def _make(
    folded: Iterable[Expression], raw: set[str], weights: Weights
) -> dict[Expression | str, tuple[str, np.ndarray]]:
    """Returns name and array of every weight: where the weight that it comes from stood."""
    order = {name: position for position, name in enumerate(weights)}
    made: dict[Expression | str, tuple[str, np.ndarray]] = {
        name: (name, weights[name]) for name in weights if name in raw
    }
    taken = set(raw)
    for expression in folded:
        name = name_for(expression, weights, taken)
        taken.add(name)
        value = evaluate(expression.text, [weights[leaf] for leaf in expression.leaves])
        made[expression] = (name, value)

    def place(source: Expression | str) -> int:
        return order[source if isinstance(source, str) else base_of(source, weights)]

    return {source: made[source] for source in sorted(made, key=place)}


def _apply(
    module: ir.Module,
    plan: _Plan,
    inputs: int,
    stored: Weights,
    names: Mapping[Expression | str, str],
) -> None:
    before = len(main_block(module).arguments)
    candidates = [
        operation
        for operation in operations(main_block(module))
        if all(plan.known.get(result) is not None for result in operation.results)
    ]
    with module.context:
        types = [type_of(array) for array in stored.values()]
    arguments = dict(zip(stored, append_arguments(module, types), strict=True))
    for value, expression in plan.folded.items():
        value.replace_all_uses_with(arguments[names[expression]])
    for argument, name in plan.names.items():
        if name in plan.raw:
            argument.replace_all_uses_with(arguments[name])
    erase_unused([each for each in candidates if each.results])
    remove_markers(module)
    remove_arguments(module, inputs, before)
