"""Ensembles: the manifest of kind ``ensemble``, which names other models and has no programs."""

from collections.abc import Mapping
from typing import Any

from roundhouse_export.bundle import MANIFEST
from roundhouse_export.manifest_yaml import OneLine, to_yaml
from roundhouse_export.provenance import provenance
from roundhouse_export.refusal import RefusedError
from roundhouse_export.triton import data_types
from roundhouse_export.triton.config_file import ConfigFile

_LETTERS = "stuvwxyzabcdefghijklmopqr"  # n is the batch


class EnsembleError(RefusedError):
    """An ensemble, which nothing serves yet; ``files`` is its bundle all the same."""

    def __init__(self, message: str, files: Mapping[str, bytes]) -> None:
        super().__init__(message)
        self.files = files


def refusal(config: ConfigFile) -> EnsembleError:
    """What a person is told of an ensemble, with its bundle."""
    steps = config.message.ensemble_scheduling.step
    names = ", ".join(each.model_name for each in steps)
    return EnsembleError(
        f"{config.at('ensemble_scheduling', 'platform')}: is an ensemble of {names}, a kind that "
        "the server does not serve yet; call these models one after the other",
        _manifest_files(config),
    )


def _manifest_files(config: ConfigFile) -> dict[str, bytes]:
    """Returns the bundle's files. Names between steps are the ensemble's own, as Triton has it."""
    steps = []
    for position, step in enumerate(config.message.ensemble_scheduling.step):
        scope = f"ensemble_scheduling[0].step[{position}]"
        if not step.model_name:
            raise RefusedError(f"{config.at(scope)}: step {position} names no model")
        if step.model_version > 0:
            place = config.at(f"{scope}.model_version")
            raise RefusedError(
                f"{place}: step '{step.model_name}' asks for version {step.model_version}; a step "
                "here takes whichever version serves"
            )
        steps.append(
            {
                "model": step.model_name,
                "inputs": OneLine(sorted(step.input_map.items())),
                "outputs": OneLine(sorted(step.output_map.items())),
            }
        )
    letters = iter(_LETTERS)
    manifest = {
        "format_version": "3",
        "kind": "ensemble",
        "description": "",
        "inputs": _tensors(config, config.message.input, letters),
        "outputs": _tensors(config, config.message.output, letters),
        "steps": steps,
        "files": {},
        "provenance": provenance("triton"),
    }
    return {MANIFEST: to_yaml(manifest)}


def _tensors(config: ConfigFile, tensors: Any, letters: Any) -> list[OneLine]:
    batch = ["n"] if config.message.max_batch_size > 0 else []
    found = []
    for each in tensors:
        dims = [next(letters, "r") if dim < 0 else int(dim) for dim in each.dims]
        found.append(OneLine(name=each.name, dtype=data_types.token(each), shape=[*batch, *dims]))
    return found
