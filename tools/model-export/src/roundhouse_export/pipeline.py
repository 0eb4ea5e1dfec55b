"""From a model to its bundle: lowered once per program, rewritten, encoded, written whole."""

from collections.abc import Callable, Sequence
from pathlib import Path

from roundhouse_export.bundle import Bundle, write_bundle
from roundhouse_export.jax_program import PLATFORMS, Encoding, export_programs
from roundhouse_export.model import Model
from roundhouse_export.numerics import Numerics
from roundhouse_export.provenance import provenance

Progress = Callable[[str], None]
"""Told what is done now, in a few words."""


def export_model(
    model: Model,
    target: Path,
    encoding: Encoding = Encoding.ARTIFACT,
    platforms: Sequence[str] = PLATFORMS,
    numerics: Numerics = Numerics.AS_WRITTEN,
    progress: Progress = lambda _: None,
) -> Bundle:
    """Writes ``target`` as a format 3 bundle, whole or not at all, and returns what it holds."""
    progress(f"lowering {len(list(model.contract.programs()))} programs")
    programs = export_programs(
        model.name, model.forward, model.contract, model.weights, encoding, platforms, numerics
    )
    facts = provenance(model.framework, platforms=", ".join(platforms), **model.facts)
    bundle = Bundle(
        model.contract,
        model.description,
        programs,
        model.weights,
        facts,
        model.assets,
        model.serving,
    )
    progress(f"writing {target}")
    write_bundle(bundle, target)
    return bundle
