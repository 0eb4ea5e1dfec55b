"""All rewrites of a bundle's programs, in the order in which they build on each other."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jax.interpreters.mlir import make_ir_context
from jaxlib.mlir import ir
from jaxlib.mlir.passmanager import PassManager

from roundhouse_export.contract import ProgramKey
from roundhouse_export.lowering import without_locations
from roundhouse_export.passes.channels_last import move_transposes_down
from roundhouse_export.passes.constants import lift_constants
from roundhouse_export.passes.convolution import Choices, choose
from roundhouse_export.passes.convolution.description import Convolution, read
from roundhouse_export.passes.convolution.direct import DIRECT
from roundhouse_export.passes.convolution.rewriting import convolutions, rewrite_convolutions
from roundhouse_export.passes.inlining import inline_calls
from roundhouse_export.passes.normalisation import fold_scales
from roundhouse_export.passes.pooling import rewrite_pooling
from roundhouse_export.passes.products import transpose_factors
from roundhouse_export.passes.weight_folding import fold_weights

# Weights that only one platform reads lie on all: this part of all weights, and no more.
_MOST_OF_ONE_PLATFORM = 0.05


@dataclass(frozen=True)
class Optimised:
    """Programs as text, and the weights that all of them take after their inputs, in order.

    Programs ``for_cpu`` take the place of those of the same key there.
    """

    programs: dict[ProgramKey, str]
    weights: dict[str, np.ndarray]
    for_cpu: dict[ProgramKey, str] = field(default_factory=dict)


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
    texts, held = _optimised(
        {key: (text, choices or {}) for key, text in programs.items()}, weights, inputs
    )
    return Optimised(texts, held)


def optimise_by_platform(
    programs: Mapping[ProgramKey, str],
    weights: Mapping[str, np.ndarray],
    inputs: int,
    choices: Choices | None = None,
) -> Optimised:
    """As ``optimise`` for the CPU; others keep XLA's own convolutions and pooling.

    All share one list of weights. Where the CPU's forms of kernels would add much to it, as
    Winograd's do, its programs are those of every platform.
    """
    same_kernels = all(choose(layer, choices or {}) is DIRECT for layer in layers(programs))
    if same_kernels and not any("stablehlo.reduce_window" in text for text in programs.values()):
        return optimise(programs, weights, inputs, choices)
    wanted: dict[tuple[ProgramKey, bool], tuple[str, Choices | None]] = {}
    for key, text in programs.items():
        wanted[key, False] = (text, None)
        wanted[key, True] = (text, choices or {})
    texts, held = _optimised(wanted, weights, inputs)
    general = {key: text for (key, on_cpu), text in texts.items() if not on_cpu}
    own = {key: text for (key, on_cpu), text in texts.items() if on_cpu and text != general[key]}
    if same_kernels:
        return Optimised(general, held, own)
    alone = optimise(programs, weights, inputs, choices)
    if not own or _byte_size(held) > _byte_size(alone.weights) * (1 + _MOST_OF_ONE_PLATFORM):
        return alone
    return Optimised(general, held, own)


def _optimised(
    wanted: Mapping[Any, tuple[str, Choices | None]],
    weights: Mapping[str, np.ndarray],
    inputs: int,
) -> tuple[dict[Any, str], dict[str, np.ndarray]]:
    with make_ir_context():
        modules = {key: _prepared(text) for key, (text, _) in wanted.items()}
        held = lift_constants(modules, weights)
        for module, (_, choices) in zip(modules.values(), wanted.values(), strict=True):
            fold_scales(module, inputs)
            rewrite_convolutions(module, inputs, choices)
            if choices is not None:
                rewrite_pooling(module)
            move_transposes_down(module, inputs)
            transpose_factors(module, inputs)
            _share(module)
        held = fold_weights(modules, held, inputs)
        return {key: str(module) for key, module in modules.items()}, held


def _byte_size(weights: Mapping[str, np.ndarray]) -> int:
    return sum(array.nbytes for array in weights.values())


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
