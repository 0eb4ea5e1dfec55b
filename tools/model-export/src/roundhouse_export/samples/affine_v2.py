"""The affine sample's numbers in bundle format 2.0."""

from dataclasses import replace

from roundhouse_export.jax_program import Encoding
from roundhouse_export.samples import affine

SAMPLE = replace(
    affine.SAMPLE,
    name="affine-v2",
    description="y = x w + b, in bundle format 2.0",
    encoding=Encoding.ARTIFACT,
    format_version="2.0",
)
