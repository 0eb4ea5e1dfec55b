"""All rewrites of a bundle's programs, in the order in which they build on each other."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jax.interpreters.mlir import make_ir_context
from jaxlib.mlir import ir
from jaxlib.mlir.passmanager import PassManager

from roundhouse_export.contract import ProgramKey
from roundhouse_export.lowering import without_locations
from roundhouse_export.passes.constants import lift_constants
from roundhouse_export.passes.convolution import Choices
from roundhouse_export.passes.convolution.description import Convolution, read
from roundhouse_export.passes.convolution.rewriting import convolutions, rewrite_convolutions
from roundhouse_export.passes.inlining import inline_calls
from roundhouse_export.passes.normalisation import fold_scales
from roundhouse_export.passes.weight_folding import fold_weights


@dataclass(frozen=True)
class Optimised:
    """Programs as text, and the weights that all of them take after their inputs, in order."""

    programs: dict[ProgramKey, str]
    weights: dict[str, np.ndarray]


def optimise(
    programs: Mapping[ProgramKey, str],
    weights: Mapping[str, np.ndarray],
    inputs: int,
    choices: Choices | None = None,
) -> Optimised:
    """Rewrites programs that take ``inputs`` inputs and then ``weights``.

    They compute the same, within rounding. ``choices`` are those of ``tune``; without them each
    convolution is computed in the way that is fastest as a rule.
    """
    with make_ir_context():
        modules = {key: _prepared(text) for key, text in programs.items()}
        held = lift_constants(modules, weights)
        for module in modules.values():
            fold_scales(module, inputs)
            rewrite_convolutions(module, inputs, choices or {})
            _share(module)
        held = fold_weights(modules, held, inputs)
        texts = {key: str(module) for key, module in modules.items()}
    return Optimised(texts, held)


def layers(programs: Mapping[ProgramKey, str]) -> dict[Convolution, list[Convolution]]:
    """Returns the convolutions of programs by layer, as ``optimise`` will meet them."""
    found: dict[Convolution, dict[Convolution, None]] = {}
    with make_ir_context():
        for text in programs.values():
            module = _prepared(text)  # its operations do not keep it alive
            for operation in convolutions(module):
                described = read(operation)
                if described is not None:
                    found.setdefault(described[0].layer, {})[described[0]] = None
    return {layer: list(sizes) for layer, sizes in found.items()}


def _prepared(text: str) -> ir.Module:
    module = without_locations(text)
    inline_calls(module)
    _share(module)
    return module


def _share(module: ir.Module) -> None:
    PassManager.parse("builtin.module(cse)", module.context).run(module.operation)
