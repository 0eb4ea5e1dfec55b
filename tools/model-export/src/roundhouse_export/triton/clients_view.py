"""A loaded model as its configuration shows it to clients: outputs, shapes and labels."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

from roundhouse_export.contract import BATCH, Axis, Contract, TensorSpec
from roundhouse_export.model import Model, Reference
from roundhouse_export.refusal import RefusedError
from roundhouse_export.triton import data_types, sequence
from roundhouse_export.triton.asset_files import label_file
from roundhouse_export.triton.config_file import ConfigFile

Reshape = Callable[[Any], Any]


def as_clients_see(model: Model, config: ConfigFile) -> Model:
    """Returns the model with the outputs that the configuration lists, in shapes of its own."""
    contract = model.contract
    batched = config.message.max_batch_size > 0
    if batched and not contract.batched:
        raise RefusedError(
            f"{config.at('max_batch_size')}: max_batch_size is {config.message.max_batch_size}, "
            "and no axis of the model's inputs is a batch"
        )
    outputs, assets = _outputs(config, contract)
    inward: dict[str, Reshape] = {}
    inputs = []
    listed = {each.name: (each, i) for i, each in enumerate(config.message.input)}
    for spec in contract.inputs:
        entry, position = listed.get(spec.name, (None, 0))
        if entry is None or not entry.HasField("reshape"):
            inputs.append(spec)
            continue
        shape = _clients_shape(config, f"input[{position}]", entry, spec, contract)
        inputs.append(dataclasses.replace(spec, shape=shape))
        inward[spec.name] = _reshape(entry.dims, entry.reshape.shape, spec.batched)
    outward = {
        each.name: _reshape(each.reshape.shape, each.dims, batched)
        for each in config.message.output
        if each.HasField("reshape")
    }
    names = [spec.name for spec in outputs]
    try:
        shown = dataclasses.replace(contract, inputs=tuple(inputs), outputs=outputs)
    except ValueError as refusal:  # what is cut back is not listed
        raise RefusedError(f"{config.path}: {refusal}") from refusal
    return dataclasses.replace(
        model,
        contract=shown,
        forward=_forward(model.forward, inward, outward, names),
        reference=_reference(model.reference, inward, outward, names),
        assets={**model.assets, **assets},
    )


def _outputs(
    config: ConfigFile, contract: Contract
) -> tuple[tuple[TensorSpec, ...], dict[str, bytes]]:
    known = {spec.name: spec for spec in contract.outputs}
    assets: dict[str, bytes] = {}
    outputs = []
    for position, entry in enumerate(config.message.output):
        scope = f"output[{position}]"
        spec = known.get(entry.name)
        if spec is None:
            names = ", ".join(known)
            place = config.at(f"{scope}.name")
            raise RefusedError(f"{place}: output '{entry.name}' is not one of the model's: {names}")
        shape = _clients_shape(config, scope, entry, spec, contract)
        labels = spec.labels
        if entry.label_filename:
            labels, content = label_file(config, entry.label_filename, f"{scope}.label_filename")
            if assets.setdefault(labels, content) != content:
                place = config.at(f"{scope}.label_filename")
                raise RefusedError(f"{place}: two files of labels are named '{labels}'")
        outputs.append(TensorSpec(entry.name, spec.dtype, shape, labels))
    if not outputs:
        return contract.outputs, {}
    listed = {spec.name for spec in outputs}
    kept = [name for name in sequence.kept_outputs(config) if name in known and name not in listed]
    outputs += [known[name] for name in kept]
    return tuple(outputs), assets


def require_types(config: ConfigFile, declared: Mapping[str, str], file: Path) -> None:
    """RefusedError when an output's type is another than the model's file has it."""
    for position, entry in enumerate(config.message.output):
        wanted, found = data_types.token(entry), declared.get(entry.name)
        if wanted and found is not None and wanted != found:
            raise RefusedError(
                f"{config.at(f'output[{position}].data_type')}: output '{entry.name}' is {wanted}, "
                f"and {found} in {file}"
            )


def _clients_shape(
    config: ConfigFile, scope: str, entry: Any, spec: TensorSpec, contract: Contract
) -> tuple[Axis, ...]:
    """The shape that clients send or get, once it is known to fit the model's own."""
    batch: tuple[Axis, ...] = (BATCH,) if config.message.max_batch_size > 0 else ()
    models = tuple(entry.reshape.shape) if entry.HasField("reshape") else tuple(entry.dims)
    inner = spec.shape[len(batch) :]
    fits = spec.shape[: len(batch)] == batch and len(inner) == len(models)
    if not fits or any(
        a >= 0 and a != b and not _always(b, a, contract)
        for a, b in zip(models, inner, strict=True)
    ):
        what = scope.partition("[")[0]
        place = config.at(f"{scope}.reshape", f"{scope}.dims", scope)
        beside = " beside the batch" if batch else ""
        raise RefusedError(
            f"{place}: {what} '{entry.name}' is {list(models)}{beside}, and "
            f"{list(spec.shape)} in the model"
        )
    if not entry.HasField("reshape"):
        return spec.shape
    varying = [b for a, b in zip(models, inner, strict=True) if a < 0]
    clients = list(entry.dims)
    if clients.count(-1) != len(varying) or prod(abs(d) for d in clients) != prod(
        abs(d) for d in models
    ):
        raise RefusedError(
            f"{config.at(f'{scope}.reshape')}: {list(models)} has not as many elements as "
            f"{clients}, dims of '{entry.name}'"
        )
    remaining = iter(varying)
    return (*batch, *(next(remaining) if each < 0 else int(each) for each in clients))


def _always(axis: Axis, extent: int, contract: Contract) -> bool:
    return isinstance(axis, str) and all(
        variant.get(axis) == extent for variant in contract.variants or ({},)
    )


def _reshape(given: Sequence[int], wanted: Sequence[int], batched: bool) -> Reshape:
    """From one shape to another, neither with the batch axis; -1 in both are the same axes."""
    start = 1 if batched else 0

    def reshape(array: Any) -> Any:
        inner = array.shape[start:]
        varying = iter([inner[i] for i, extent in enumerate(given) if extent < 0])
        shape = [next(varying) if extent < 0 else int(extent) for extent in wanted]
        return array.reshape((*array.shape[:start], *shape))

    return reshape


def _forward(
    forward: Callable[..., Mapping[str, Any]],
    inward: Mapping[str, Reshape],
    outward: Mapping[str, Reshape],
    names: Sequence[str],
) -> Callable[..., Mapping[str, Any]]:
    def shown(inputs: Mapping[str, Any], weights: Mapping[str, Any]) -> Mapping[str, Any]:
        return _reshaped(forward(_reshaped(inputs, inward, inputs), weights), outward, names)

    return shown


def _reference(
    reference: Reference | None,
    inward: Mapping[str, Reshape],
    outward: Mapping[str, Reshape],
    names: Sequence[str],
) -> Reference | None:
    if reference is None:
        return None
    return lambda inputs: _reshaped(reference(_reshaped(inputs, inward, inputs)), outward, names)


def _reshaped(
    tensors: Mapping[str, Any], shapes: Mapping[str, Reshape], names: Iterable[str]
) -> dict[str, Any]:
    return {
        name: shapes[name](tensors[name]) if name in shapes else tensors[name] for name in names
    }
