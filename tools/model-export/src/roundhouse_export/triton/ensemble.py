"""Ensembles: bundles of kind ``ensemble``, which name other models and have no programs."""

import hashlib
from collections.abc import Iterator
from typing import Any

from roundhouse_export.bundle import MANIFEST
from roundhouse_export.manifest_yaml import OneLine, to_yaml
from roundhouse_export.model import BareBundle
from roundhouse_export.provenance import provenance
from roundhouse_export.refusal import RefusedError
from roundhouse_export.triton import data_types
from roundhouse_export.triton.asset_files import label_file
from roundhouse_export.triton.config_file import ConfigFile

_LETTERS = "stuvwxyzabcdefghijklmopqr"  # n is the batch


def bundle_of(config: ConfigFile) -> BareBundle:
    """Names between steps are the ensemble's own, as Triton has it."""
    letters = iter(_LETTERS)
    labels: dict[str, bytes] = {}
    rows = config.message.max_batch_size
    manifest = {
        "format_version": "3",
        "kind": "ensemble",
        "description": "",
        "inputs": _tensors(config, "input", letters, labels),
        "outputs": _tensors(config, "output", letters, labels),
        **({"batch_sizes": [int(rows)]} if rows > 0 else {}),
        "steps": _steps(config),
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in labels.items()},
        "provenance": provenance("triton"),
    }
    return BareBundle({MANIFEST: to_yaml(manifest), **labels})


def refusal(config: ConfigFile) -> RefusedError:
    """What is said where one model alone is asked for."""
    names = ", ".join(each.model_name for each in config.message.ensemble_scheduling.step)
    return RefusedError(
        f"{config.at('ensemble_scheduling', 'platform')}: is an ensemble of {names}; convert the "
        "repository that has them all, with './roundhouse import REPOSITORY' or "
        "'roundhouse-export repository'"
    )


def _steps(config: ConfigFile) -> list[dict[str, Any]]:
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
    return steps


def _tensors(
    config: ConfigFile, section: str, letters: Iterator[str], labels: dict[str, bytes]
) -> list[OneLine]:
    batch = ["n"] if config.message.max_batch_size > 0 else []
    found = []
    for position, each in enumerate(getattr(config.message, section)):
        dims = [next(letters, "r") if dim < 0 else int(dim) for dim in each.dims]
        tensor = {"name": each.name, "dtype": data_types.token(each), "shape": [*batch, *dims]}
        if section == "output" and each.label_filename:
            scope = f"output[{position}].label_filename"
            tensor["labels"], content = label_file(config, each.label_filename, scope)
            if labels.setdefault(tensor["labels"], content) != content:
                raise RefusedError(
                    f"{config.at(scope)}: two files of labels are named '{tensor['labels']}'"
                )
        found.append(OneLine(**tensor))
    return found
