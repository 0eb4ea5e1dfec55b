"""One version of a model of a Triton repository, as its configuration would have it served."""

import dataclasses
import importlib
from typing import Any

from roundhouse_export.model import ImportOptions, Model
from roundhouse_export.triton import (
    agreement,
    batch_sizes,
    clients_view,
    counterparts,
    data_types,
    initial_states,
    onnx_signature,
    script_signature,
    script_version,
    sequence,
    serving,
    versions,
)
from roundhouse_export.triton.config_file import ConfigFile
from roundhouse_export.triton.folder import PYTORCH, TritonFolder
from roundhouse_export.triton.signature import Signature

_ONNX = "roundhouse_export.sources.onnx"
_SAME = "the operator has the same versions served with --set"


def load_version(folder: TritonFolder, version: int, options: ImportOptions) -> Model:
    """Returns the model of a version's file; RefusedError when it cannot be served."""
    signature = signature_of(folder, version)
    if folder.backend == PYTORCH:
        script_version.require_trust(folder, options)
    options = dataclasses.replace(options, name=options.name or folder.name)
    if folder.config is None:
        return _load_onnx(signature, options)
    config = folder.config
    counterparts.require(config)
    clients_view.require_types(
        config, {each.name: each.dtype for each in signature.outputs}, signature.file
    )
    section, notes = _serving(config)
    options = dataclasses.replace(
        options,
        batch_sizes=_batch_sizes(config, options),
        axes=_axes(config, signature, options),
    )
    if folder.backend == PYTORCH:
        loaded = script_version.load(config, signature, options)
    else:
        loaded = _load_onnx(signature, options)
    model = clients_view.as_clients_see(loaded, config)
    sequence.require_tensors(config, model.contract)
    setting = versions.setting(folder)
    return dataclasses.replace(
        model,
        serving={**model.serving, **section},
        assets={**model.assets, **initial_states.assets(config, model.contract, model.assets)},
        notes=(
            *model.notes,
            *notes,
            *counterparts.notes(config),
            *_filled(config, signature),
            *_cast(config, model),
            *([f"{config.at('version_policy')}: {_SAME} {setting}"] if setting else []),
        ),
    )


def signature_of(folder: TritonFolder, version: int) -> Signature:
    """What a version's inputs are: of ONNX its file says so, of TorchScript the configuration."""
    folder.require_backend()
    file = folder.model_file(version)
    if folder.backend == PYTORCH:
        return script_signature.read(folder, file)
    return onnx_signature.read(file)


def _load_onnx(signature: Signature, options: ImportOptions) -> Model:
    model: Model = importlib.import_module(_ONNX).load(str(signature.file), options)
    return model


def _serving(config: ConfigFile) -> tuple[dict[str, Any], list[str]]:
    """At most one of the two sections is there: they are alternatives in a configuration."""
    queued, notes = serving.serving(config)
    carried, more = sequence.sequence(config)
    return {**queued, **carried}, [*notes, *more]


def _batch_sizes(config: ConfigFile, options: ImportOptions) -> tuple[int, ...]:
    """A person's own sizes stand; the configuration's take the place of what nobody asked for."""
    message = config.message
    if message.max_batch_size < 1 or options.batch_sizes != ImportOptions.batch_sizes:
        return options.batch_sizes
    preferred = [
        *message.dynamic_batching.preferred_batch_size,
        *message.sequence_batching.oldest.preferred_batch_size,
    ]
    return batch_sizes.batch_sizes(message.max_batch_size, preferred)


def _axes(
    config: ConfigFile, signature: Signature, options: ImportOptions
) -> dict[str, tuple[int, ...]]:
    """Where no input is listed Triton asks the model, and so does this."""
    if config.message.max_batch_size < 1 and not config.message.input:
        return dict(options.axes)
    return agreement.axes(config, signature, options)


def _filled(config: ConfigFile, signature: Signature) -> list[str]:
    return [
        f"{config.at(f'input[{position}]')}: optional input '{each.name}' always has the value "
        f"that {signature.file} gives it"
        for position, each in enumerate(config.message.input)
        if each.name in signature.filled
    ]


def _cast(config: ConfigFile, model: Model) -> list[str]:
    now = {spec.name: spec.dtype for spec in model.contract.inputs + model.contract.outputs}
    found = []
    for section in ("input", "output"):
        for position, each in enumerate(getattr(config.message, section)):
            was = data_types.token(each)
            if was and each.name in now and now[each.name] != was:
                do = "send" if section == "input" else "get"
                found.append(
                    f"{config.at(f'{section}[{position}].data_type')}: {section} '{each.name}' is "
                    f"{now[each.name]} here, not {was}: clients {do} {now[each.name]}"
                )
    return found
