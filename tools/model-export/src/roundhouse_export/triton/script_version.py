"""The model of one version's TorchScript file, with the names that its configuration gives."""

import dataclasses
import importlib
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from roundhouse_export.model import ImportOptions, Model
from roundhouse_export.refusal import RefusedError
from roundhouse_export.shapes import SourceTensor
from roundhouse_export.sources import missing
from roundhouse_export.sources.calling import Binder
from roundhouse_export.sources.torch_archive import is_program
from roundhouse_export.triton import clients_view, data_types, script_names
from roundhouse_export.triton.config_file import ConfigFile
from roundhouse_export.triton.folder import TritonFolder
from roundhouse_export.triton.signature import Signature

_TORCH = "roundhouse_export.sources.torch"
_TENSORS = ("Tensor", "Optional[Tensor]")
_DICT = "Dict[str, Tensor]"
_NARROW = {"i64": "i32", "u64": "u32", "f64": "f32"}


def require_trust(folder: TritonFolder, options: ImportOptions) -> None:
    if options.trust:
        return
    place = folder.config.at("backend", "platform") if folder.config else folder.place
    repository = shlex.quote(str(folder.path.parent))
    raise RefusedError(
        f"{place}: backend 'pytorch' runs TorchScript, a program that can do more than compute; if "
        f"you know who made it: ./roundhouse import {repository} --trust --models DIR"
    )


def load(config: ConfigFile, signature: Signature, options: ImportOptions) -> Model:
    """``signature`` is what the configuration says; the file must be one that is trusted."""
    file = str(signature.file)
    if not is_program(file):
        raise RefusedError(
            f"{file}: has no program of TorchScript in it; save the module by "
            "torch.jit.script(module).save(...)"
        )
    try:
        torch = importlib.import_module(_TORCH)
    except ModuleNotFoundError as error:
        raise missing.refusal(f"{file} is a TorchScript file", "torch", error) from error
    module = torch.open_script(file)
    bind, notes = _binder(config, signature, torch.script_arguments(module))
    tensors = [SourceTensor(each.name, each.dtype, each.dims or ()) for each in signature.inputs]
    returned, count = torch.script_result(module)
    if not count:
        raise RefusedError(
            f"{file}: it returns {returned}, and not a tensor or a tuple of tensors; return such, "
            "as Triton's libtorch backend takes no other"
        )
    results = script_names.results_of(config, signature.file, count)
    own_names = dataclasses.replace(options, trim=())
    model = torch.script_model(file, module, tensors, bind, own_names)
    named = _named(model, results.of)
    try:
        contract = dataclasses.replace(named.contract, trim=options.trim)
    except ValueError as refusal:
        raise RefusedError(f"{file}: {refusal}") from refusal
    named = dataclasses.replace(named, contract=contract)
    clients_view.require_types(config, _declared(config, named), signature.file)
    return dataclasses.replace(named, notes=(*named.notes, *notes, *results.notes))


def _binder(
    config: ConfigFile, signature: Signature, takes: Sequence[Any]
) -> tuple[Binder, tuple[str, ...]]:
    """What passes inputs to ``forward``; its one argument may be a dict with them by name."""
    if [each.kind for each in takes] == [_DICT]:
        whole = takes[0].name
        return (lambda arrays: ((), {whole: dict(arrays)})), ()
    names = [each.name for each in takes]
    needed = [each.name for each in takes if not each.has_default]
    positions = script_names.arguments_of(config, signature.file, names, needed)
    for position in positions.of.values():
        if takes[position].kind not in _TENSORS:
            raise RefusedError(
                f"{signature.file}: argument '{names[position]}' is a {takes[position].kind}, and "
                "clients send tensors; give forward a tensor for each input, or one "
                f"{_DICT} for all"
            )

    def bind(arrays: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return (), {names[position]: arrays[name] for name, position in positions.of.items()}

    return bind, positions.notes


def _named(model: Model, results: Mapping[str, int]) -> Model:
    """Results by the names of the configuration; those without one are left out."""
    found = model.contract.outputs
    forward, asked = model.forward, model.reference

    def renamed(tensors: Mapping[str, Any]) -> dict[str, Any]:
        return {name: tensors[found[position].name] for name, position in results.items()}

    outputs = tuple(
        dataclasses.replace(found[position], name=name) for name, position in results.items()
    )
    contract = dataclasses.replace(model.contract, outputs=outputs)
    return dataclasses.replace(
        model,
        contract=contract,
        forward=lambda inputs, weights: renamed(forward(inputs, weights)),
        reference=None if asked is None else lambda inputs: renamed(asked(inputs)),
    )


def _declared(config: ConfigFile, model: Model) -> dict[str, str]:
    """Types of outputs, where one of 64 bits that became narrow stands for what it was."""
    declared = {spec.name: spec.dtype for spec in model.contract.outputs}
    for entry in config.message.output:
        wanted = data_types.token(entry)
        if _NARROW.get(wanted) == declared.get(entry.name, ""):
            declared[entry.name] = wanted
    return declared
