"""ONNX files: their graph becomes a function of JAX, their initializers become weights."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
import onnx
from onnx import ModelProto, TensorProto, ValueInfoProto, helper

from roundhouse_export import dtypes, shapes
from roundhouse_export.contract import Contract, TensorSpec
from roundhouse_export.jax_program import FRAMEWORK
from roundhouse_export.model import ImportOptions, Model, Reference, Wide
from roundhouse_export.onnx_graph import registry
from roundhouse_export.onnx_graph.interpreter import opsets_of, run_model
from roundhouse_export.onnx_graph.weights import graphs_of, release, weights_of
from roundhouse_export.refusal import RefusedError
from roundhouse_export.shapes import SourceTensor
from roundhouse_export.sources.onnx_file import describe, read_model

_THREADS = 2


def load(source: str, options: ImportOptions) -> Model:
    """Returns the model that a file holds; RefusedError says why it cannot be one."""
    model = read_model(source)
    _refuse_unknown_operators(source, model)
    narrow = options.wide is Wide.CAST
    held = weights_of(model, options.wide)
    release(model, held)
    given = _inputs(source, model, options)
    inputs, variants = shapes.input_specs(source, given, options)

    def forward(tensors: Mapping[str, Any], weights: Mapping[str, Any]) -> Mapping[str, Any]:
        with jax.enable_x64(True):
            return run_model(model, tensors, weights, narrow)

    names = [output.name for output in model.graph.output]
    contract = _contract(source, inputs, variants, names, forward, held, options)
    return Model(
        name=options.name or Path(source).stem,
        contract=contract,
        forward=forward,
        weights=held,
        framework=FRAMEWORK,
        description=_description(model),
        reference=_reference(source, model, given),
        facts=_facts(model),
        notes=_notes(given, options),
    )


def _inputs(source: str, model: ModelProto, options: ImportOptions) -> list[SourceTensor]:
    """Inputs that have an initializer are weights: old files list them among the inputs."""
    initial = {tensor.name for tensor in model.graph.initializer}
    tensors = []
    for value in model.graph.input:
        if value.name not in initial:
            tensors.append(_input(source, value, options))
    for value in model.graph.output:
        _refuse_unless_numbers(source, "output", value)
    return tensors


def _input(source: str, value: ValueInfoProto, options: ImportOptions) -> SourceTensor:
    _refuse_unless_numbers(source, "input", value)
    tensor = value.type.tensor_type
    dtype = np.dtype(helper.tensor_dtype_to_np_dtype(tensor.elem_type))
    if dtype == np.float64 and options.wide is Wide.REFUSE:
        raise RefusedError(
            f"{source}: input '{value.name}' is f64, which few devices compute well; "
            "--wide cast makes it f32, --wide keep leaves it"
        )
    if dtype == np.float64 and options.wide is Wide.CAST:
        dtype = np.dtype(np.float32)
    try:
        token = dtypes.token_of(dtype)
    except ValueError as error:
        raise RefusedError(f"{source}: input '{value.name}': {error}") from None
    if not tensor.HasField("shape") and value.name not in options.inputs:
        raise RefusedError(
            f"{source}: input '{value.name}' has no shape; say it: "
            f"--input {value.name}={token}[n,...]"
        )
    dims = tuple(
        int(dim.dim_value) if dim.WhichOneof("value") == "dim_value" else (dim.dim_param or None)
        for dim in tensor.shape.dim
    )
    if value.name in options.inputs and not tensor.HasField("shape"):
        dims = tuple(None for _ in options.inputs[value.name].shape)
    dims = tuple(None if isinstance(dim, int) and dim < 0 else dim for dim in dims)
    return SourceTensor(value.name, token, dims)


def _refuse_unless_numbers(source: str, what: str, value: ValueInfoProto) -> None:
    kind = describe(value)
    if kind != "tensor":
        raise RefusedError(
            f"{source}: {what} '{value.name}' is a {kind}, and programs take and return tensors "
            "alone; export the model without it (skl2onnx: options={'zipmap': False})"
        )
    if value.type.tensor_type.elem_type == TensorProto.STRING:
        raise RefusedError(
            f"{source}: {what} '{value.name}' holds texts, which have no place in a program; "
            "take it out of the model"
        )


def _refuse_unknown_operators(source: str, model: ModelProto) -> None:
    opsets = opsets_of(model.opset_import)
    local = {(each.domain, each.name) for each in model.functions}
    for graph in graphs_of(model.graph):
        for proto in graph.node:
            domain = "" if proto.domain == "ai.onnx" else proto.domain
            known = registry.is_known(domain, proto.op_type)
            if known or (proto.domain, proto.op_type) in local:
                continue
            node = registry.Node(
                proto.op_type,
                proto.name,
                domain,
                opsets.get(domain, 1),
                {},
                tuple(proto.output),
            )
            if not _has_function(node):
                raise RefusedError(
                    f"{source}: {node.refuse(_unknown(domain, opsets.get(domain, 1)))}"
                )


def _has_function(node: registry.Node) -> bool:
    """Whether ONNX's schema writes the operator out; which of its ways depends on its inputs."""
    try:
        schema: Any = onnx.defs.get_schema(node.op, node.version, node.domain)
    except onnx.defs.SchemaError:
        return False
    return bool(schema.has_function or schema.has_context_dependent_function)


def _unknown(domain: str, version: int) -> str:
    place = f"domain '{domain}'" if domain else "ONNX's own domain"
    return (
        f"version {version} of {place} has no such operator here; "
        "export the model without it, or register one"
    )


def _contract(
    source: str,
    inputs: Sequence[TensorSpec],
    variants: Sequence[Mapping[str, int]],
    names: Sequence[str],
    forward: Any,
    held: Mapping[str, np.ndarray],
    options: ImportOptions,
) -> Contract:
    try:
        return shapes.contract_of(source, inputs, variants, names, forward, held, options)
    except RefusedError as refusal:
        said = str(refusal)
        said = said if said.startswith(source) else f"{source}: {said}"
        if options.inputs:
            said += (
                f"; the graph may be bound to its own shapes, not those of --input: "
                f"{', '.join(sorted(options.inputs))}"
            )
        raise RefusedError(said) from refusal


def _description(model: ModelProto) -> str:
    if model.doc_string.strip():
        return model.doc_string.strip().splitlines()[0]
    producer = f"{model.producer_name} {model.producer_version}".strip()
    return f"ONNX graph of {producer}" if producer else "ONNX graph"


def _facts(model: ModelProto) -> dict[str, str]:
    opsets = opsets_of(model.opset_import)
    said = ", ".join(f"{domain or 'ai.onnx'} {opsets[domain]}" for domain in sorted(opsets))
    facts = {"source": "onnx", "opset": said}
    producer = f"{model.producer_name} {model.producer_version}".strip()
    if producer:
        facts["producer"] = producer
    return facts


def _notes(given: Sequence[SourceTensor], options: ImportOptions) -> tuple[str, ...]:
    if options.inputs or not given:
        return ()
    if all(tensor.dims and tensor.dims[0] == 1 for tensor in given):
        return (
            "the first axis of every input is fixed to 1, so requests are not batched; export "
            f"the model with a dynamic batch axis, or try --input {given[0].name}="
            f"{given[0].dtype}[{','.join(['n', *map(str, given[0].dims[1:])])}]",
        )
    return ()


def _reference(source: str, model: ModelProto, given: Sequence[SourceTensor]) -> Reference | None:
    """Asks onnxruntime with the file itself; row by row where it takes one row only."""
    try:
        import onnxruntime
    except ImportError:
        return None
    single = bool(given) and all(tensor.dims[:1] == (1,) for tensor in given)
    types = {
        value.name: np.dtype(helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type))
        for value in model.graph.input
    }
    sessions: list[Any] = []

    def run(tensors: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        if not sessions:
            settings = onnxruntime.SessionOptions()
            settings.intra_op_num_threads = _THREADS
            settings.log_severity_level = 3
            sessions.append(
                onnxruntime.InferenceSession(source, settings, providers=["CPUExecutionProvider"])
            )
        return list(sessions[0].run(None, dict(tensors)))

    def reference(tensors: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        typed = {name: np.asarray(array, types[name]) for name, array in tensors.items()}
        rows = next(iter(typed.values())).shape[0] if single else 1
        if rows == 1:
            results = run(typed)
        else:
            parts = [run({n: a[row : row + 1] for n, a in typed.items()}) for row in range(rows)]
            results = [np.concatenate(each) for each in zip(*parts, strict=True)]
        return {v.name: r for v, r in zip(model.graph.output, results, strict=True)}

    return reference
