"""PyTorch: modules in memory, ``torch.export``'s files, and TorchScript.

A module is written down for every program's shapes by ``torch.export`` and run in JAX by torchax;
where that cannot be, it is traced and goes through ONNX. It is used as in ``eval``. Weights have
the module's names for its parameters and buffers, one for a weight that several layers share.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch.export.graph_signature import InputKind

from roundhouse_export import dtypes
from roundhouse_export.model import ImportOptions, Model
from roundhouse_export.refusal import RefusedError
from roundhouse_export.shapes import SourceTensor, input_specs
from roundhouse_export.sources import first_layer
from roundhouse_export.sources.calling import Binder, binder, parameter_names
from roundhouse_export.sources.functional import given_inputs, specs_of
from roundhouse_export.sources.torch_archive import is_program, require_plain
from roundhouse_export.sources.user_code import user_code
from roundhouse_export.torch_graph.conversion import FRAMEWORK, WAYS, Way, model_of
from roundhouse_export.torch_graph.tensors import numpy_dtype
from roundhouse_export.wide import settle_inputs


@dataclass(frozen=True)
class ScriptArgument:
    """``kind`` is TorchScript's type, such as ``Tensor``."""

    name: str
    kind: str
    has_default: bool


def load(source: str, options: ImportOptions) -> Model:
    """Reads a ``.pt2`` or a TorchScript file."""
    options = replace(options, name=options.name or Path(source).stem)
    if source.endswith(".pt2"):
        return _load_exported(source, options)
    return _load_script(source, options)


def load_object(
    module: torch.nn.Module,
    options: ImportOptions,
    source: str = "module",
    ways: Sequence[Way] = WAYS,
) -> Model:
    """Makes a model of a module in memory, which is put into ``eval``."""
    module.eval()
    names = parameter_names(module.forward)
    needed = parameter_names(module.forward, needed=True)
    inputs = given_inputs(source, names, options, _example(module, names, needed))
    bind = binder(source, module.forward, inputs)
    declared = {name: options.inputs[name].dtype for name in inputs}
    return model_of(source, module, bind, declared, specs_of(source, options), options, ways)


def _example(module: torch.nn.Module, names: Sequence[str], needed: Sequence[str]) -> str | None:
    """Of several that are needed nobody knows which one the first layer takes."""
    if not names or len(needed) > 1:
        return None
    return first_layer.options_for(names[0], module.modules())


def _load_script(source: str, options: ImportOptions) -> Model:
    if not is_program(source):
        raise RefusedError(
            f"{source}: saved by torch.save, so it holds weights or a pickle and no program; give "
            "package.module:function, a function that builds the module and loads them"
        )
    if not options.trust:
        raise RefusedError(
            f"{source}: TorchScript is a program that can do more than compute; --trust loads it, "
            "or export the module with torch.export.save(..., 'model.pt2')"
        )
    module = open_script(source)
    takes = script_arguments(module)
    arguments = [each.name for each in takes]
    needed = [each.name for each in takes if not each.has_default]
    inputs = given_inputs(source, arguments, options, _example(module, arguments, needed))
    strange = sorted(set(inputs) - set(arguments))
    if strange:
        raise RefusedError(f"{source}: --input names {strange}; it takes {', '.join(arguments)}")
    tensors = [SourceTensor(spec.name, spec.dtype, ()) for spec in options.inputs.values()]
    return script_model(source, module, tensors, lambda arrays: ((), dict(arrays)), options)


def open_script(source: str) -> torch.jit.ScriptModule:
    """Loads a program that may do anything: for files that are trusted."""
    with user_code(f"{source}: cannot be loaded"):
        return torch.jit.load(source, map_location="cpu").eval()


def script_arguments(module: torch.jit.ScriptModule) -> list[ScriptArgument]:
    """What ``forward`` takes, in order."""
    return [
        ScriptArgument(each.name, str(each.type), each.has_default_value())
        for each in module.forward.schema.arguments[1:]
    ]


def script_result(module: torch.jit.ScriptModule) -> tuple[str, int]:
    """What ``forward`` returns, and how many tensors that is: none where it is more than a tuple of
    tensors."""
    kind = module.forward.schema.returns[0].type
    parts = kind.elements() if kind.kind() == "TupleType" else [kind]
    tensors = all(part.kind() == "TensorType" for part in parts)
    return str(kind).rpartition("__torch__.")[2], len(parts) if tensors else 0


def script_model(
    source: str,
    module: torch.jit.ScriptModule,
    tensors: Sequence[SourceTensor],
    bind: Binder,
    options: ImportOptions,
) -> Model:
    """``bind`` makes arguments of ``forward`` of arrays by the names of ``tensors``."""
    specs, variants = input_specs(source, tensors, options)
    specs = settle_inputs(source, specs, options.wide)
    declared = {each.name: options.inputs.get(each.name, each).dtype for each in tensors}
    return model_of(source, module, bind, declared, (specs, variants), options)


def _load_exported(source: str, options: ImportOptions) -> Model:
    if not options.trust:
        require_plain(source)
    with user_code(f"{source}: cannot be loaded; export it with {FRAMEWORK}"):
        program = torch.export.load(source)
        module = program.module()
    tensors, bind = _signature(source, program)
    specs, variants = input_specs(source, tensors, options)
    specs = settle_inputs(source, specs, options.wide)
    declared = {tensor.name: tensor.dtype for tensor in tensors}
    return model_of(source, module, bind, declared, (specs, variants), options)


def _signature(
    source: str, program: torch.export.ExportedProgram
) -> tuple[list[SourceTensor], Binder]:
    """Inputs as the program declares them; an axis that varies is named by where it is first."""
    places = [node for node in program.graph.nodes if node.op == "placeholder"]
    wanted = [
        node
        for node, spec in zip(places, program.graph_signature.input_specs, strict=True)
        if spec.kind is InputKind.USER_INPUT
    ]
    tensors: list[SourceTensor] = []
    slots: list[Any] = []
    first: dict[str, str] = {}
    for node in wanted:
        value = node.meta.get("val")
        if not isinstance(value, torch.Tensor):
            slots.append(value)
            continue
        dims = tuple(
            each
            if isinstance(each, int)
            else first.setdefault(str(each), f"{node.name}.{position}")
            for position, each in enumerate(value.shape)
        )
        tensors.append(SourceTensor(node.name, dtypes.token_of(numpy_dtype(value.dtype)), dims))
        slots.append(_Slot(node.name))
    spec = program.call_spec.in_spec

    def bind(arrays: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        flat = [arrays[each.name] if isinstance(each, _Slot) else each for each in slots]
        ordered, by_name = torch.utils._pytree.tree_unflatten(flat, spec)
        return tuple(ordered), dict(by_name)

    if not tensors:
        raise RefusedError(f"{source}: it takes no tensor")
    return tensors, bind


@dataclass(frozen=True)
class _Slot:
    name: str
