"""From a model to its bundle: lowered once per program, rewritten, encoded, written whole."""

from collections.abc import Callable, Sequence
from pathlib import Path

from jaxlib.mlir import ir

from roundhouse_export.bundle import Bundle, write_bundle
from roundhouse_export.contract import CPU, ProgramKey
from roundhouse_export.jax_program import PLATFORMS, Encoding, encode_program, lower_programs
from roundhouse_export.model import Model
from roundhouse_export.numerics import Numerics
from roundhouse_export.passes import optimise_by_platform
from roundhouse_export.passes.convolution import Choices
from roundhouse_export.provenance import provenance
from roundhouse_export.refusal import RefusedError
from roundhouse_export.tune import tune

TUNING_STOPPED = "tuning_stopped"
"""In the provenance of a bundle some of whose convolutions could not be timed, with the reason."""

Progress = Callable[[str], None]
"""Told what is done now, in a few words."""


def export_model(
    model: Model,
    target: Path,
    encoding: Encoding = Encoding.ARTIFACT,
    platforms: Sequence[str] = PLATFORMS,
    numerics: Numerics = Numerics.AS_WRITTEN,
    progress: Progress = lambda _: None,
    rewrite: bool = True,
    plugin: Path | None = None,
) -> Bundle:
    """Writes ``target`` as a format 3 bundle, whole or not at all, and returns what it holds.

    Without ``rewrite`` programs and weights stay as JAX made them.
    ``plugin`` is the library of the PJRT plugin that will serve: convolutions are then timed on
    it, and computed in the way that is fastest there.
    """
    progress(f"lowering {len(list(model.contract.programs()))} programs")
    try:
        lowered = lower_programs(
            model.name, model.forward, model.contract, model.weights, platforms
        )
    except RefusedError:
        raise
    except ValueError as refusal:  # of JAX, or of what the function returns
        first = (str(refusal).splitlines() or [type(refusal).__name__])[0]
        raise RefusedError(f"{model.name}: {first}") from refusal
    choices: Choices = {}
    facts = dict(model.facts)
    if plugin is not None:
        tuned = tune(lowered, plugin, progress=progress)
        choices = tuned.choices
        facts |= tuned.facts
        if tuned.stopped:
            facts[TUNING_STOPPED] = tuned.stopped
    weights = model.weights
    for_cpu: dict[ProgramKey, str] = {}
    if rewrite:
        progress("rewriting programs")
        try:
            optimised = optimise_by_platform(lowered, weights, len(model.contract.inputs), choices)
        except (ir.MLIRError, TypeError) as failure:
            first = (str(failure).splitlines() or [type(failure).__name__])[0]
            raise RefusedError(
                f"{model.name}: a rewrite failed ({first}); --as-lowered exports it without any"
            ) from failure
        lowered, weights, for_cpu = optimised.programs, optimised.weights, optimised.for_cpu
    programs = {key: encode_program(text, numerics, encoding) for key, text in lowered.items()}
    own = {(key, CPU): encode_program(text, numerics, encoding) for key, text in for_cpu.items()}
    bundle = Bundle(
        model.contract,
        model.description,
        programs,
        weights,
        provenance(model.framework, platforms=", ".join(platforms), **facts),
        model.assets,
        model.serving,
        own,
    )
    progress(f"writing {model.name}")
    write_bundle(bundle, target)
    return bundle
