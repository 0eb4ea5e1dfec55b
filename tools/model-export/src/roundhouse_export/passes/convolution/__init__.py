"""Convolutions of StableHLO and the ways of computing them that XLA can be given."""

from collections.abc import Mapping

from roundhouse_export.passes.convolution.depthwise import DEPTHWISE
from roundhouse_export.passes.convolution.description import Convolution
from roundhouse_export.passes.convolution.direct import DIRECT
from roundhouse_export.passes.convolution.grouped import GROUPED_PRODUCT, GROUPED_SPLIT
from roundhouse_export.passes.convolution.im2col import IM2COL
from roundhouse_export.passes.convolution.lowering import Lowering
from roundhouse_export.passes.convolution.pointwise import POINTWISE
from roundhouse_export.passes.convolution.winograd import WINOGRAD2, WINOGRAD4

LOWERINGS: Mapping[str, Lowering] = {
    each.name: each
    for each in (
        DIRECT,
        DEPTHWISE,
        POINTWISE,
        IM2COL,
        GROUPED_PRODUCT,
        GROUPED_SPLIT,
        WINOGRAD2,
        WINOGRAD4,
    )
}
Choices = Mapping[Convolution, str]
"""Which lowering computes a layer (``Convolution.layer``)."""


def candidates(convolution: Convolution) -> list[Lowering]:
    """Returns every way that computes a convolution; the first is XLA's own."""
    return [each for each in LOWERINGS.values() if each.applies(convolution)]


def choose(convolution: Convolution, choices: Choices | None) -> Lowering:
    """Returns what was chosen for a layer, else what is fastest as a rule; XLA's own for None."""
    if choices is None:
        return DIRECT
    chosen = choices.get(convolution.layer)
    if chosen is not None:
        return LOWERINGS[chosen]
    return DEPTHWISE if DEPTHWISE.applies(convolution) else DIRECT


__all__ = ["LOWERINGS", "Choices", "Convolution", "Lowering", "candidates", "choose"]
