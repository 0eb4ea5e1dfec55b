"""The sample bundles, one module each; ``get(name)`` is the way to them."""

from roundhouse_export.samples import (
    affine,
    affine_v2,
    bfloat,
    digits,
    empty,
    every_dtype,
    scalar,
    simple,
    variants,
)
from roundhouse_export.samples.sample import Sample

_SAMPLES = {
    module.SAMPLE.name: module.SAMPLE
    for module in (
        simple,
        affine,
        affine_v2,
        digits,
        variants,
        scalar,
        bfloat,
        empty,
        every_dtype,
    )
}

NAMES = tuple(_SAMPLES)


def get(name: str) -> Sample:
    """Returns the sample of that name; ValueError for one that does not exist."""
    try:
        return _SAMPLES[name]
    except KeyError:
        raise ValueError(f"no sample '{name}'; there are {', '.join(NAMES)}") from None
