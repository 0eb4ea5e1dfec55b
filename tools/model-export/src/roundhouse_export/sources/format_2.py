"""Bundles of format 2.0, which have programs already and so become no ``Model``."""

from typing import NoReturn

from roundhouse_export.model import ImportOptions
from roundhouse_export.refusal import RefusedError


def load(source: str, options: ImportOptions) -> NoReturn:
    """Says which command takes such a bundle; ``convert_2`` does the work."""
    raise RefusedError(
        f"{source} is a bundle of format 2.0 with its programs made; they stay as they are: "
        f"roundhouse-export convert {source} --out DIR"
    )
