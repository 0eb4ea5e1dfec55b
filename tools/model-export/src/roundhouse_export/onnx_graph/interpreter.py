"""Walks a graph of ONNX; what is known at export is computed then, the rest is traced by JAX."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import onnx
from onnx import AttributeProto, FunctionProto, GraphProto, NodeProto, helper, numpy_helper

from roundhouse_export.onnx_graph import (
    functions,
    operators,  # noqa: F401  (registers them)
    registry,
)
from roundhouse_export.onnx_graph.arrays import is_known
from roundhouse_export.onnx_graph.registry import Node, Value
from roundhouse_export.refusal import RefusedError

Values = dict[str, Value]

_UNFIT = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NotImplementedError,
    TypeError,
    ValueError,
)
"""What numpy and JAX raise for shapes, types and attributes that an operator cannot take."""


@dataclass(frozen=True)
class Surroundings:
    """What holds for every node of a graph.

    ``weights`` replace initializers and constants of their names. ``attributes`` are those of the
    call when the nodes are the body of a function. ``narrow`` makes f32 of all f64.
    """

    opsets: Mapping[str, int]
    functions: Mapping[tuple[str, str], FunctionProto]
    weights: Mapping[str, Value]
    attributes: Mapping[str, AttributeProto] | None = None
    narrow: bool = False


def surroundings(
    model: onnx.ModelProto, weights: Mapping[str, Value], narrow: bool = False
) -> Surroundings:
    return Surroundings(
        opsets_of(model.opset_import),
        {(_domain(each.domain), each.name): each for each in model.functions},
        weights,
        narrow=narrow,
    )


def opsets_of(imports: Iterable[onnx.OperatorSetIdProto]) -> dict[str, int]:
    return {_domain(each.domain): each.version for each in imports}


def run_model(
    model: onnx.ModelProto,
    inputs: Mapping[str, Value],
    weights: Mapping[str, Value],
    narrow: bool = False,
) -> dict[str, Value]:
    """Returns outputs by name, as arrays of JAX. Call it with 64-bit types enabled."""
    around = surroundings(model, weights, narrow)
    results = run_graph(model.graph, around, dict(inputs))
    names = [output.name for output in model.graph.output]
    return {
        name: jnp.asarray(_narrowed(result, around))
        for name, result in zip(names, results, strict=True)
    }


def run_graph(graph: GraphProto, around: Surroundings, values: Values) -> list[Value]:
    """Runs the nodes with ``values`` in sight, which gain those of the graph."""
    for tensor in graph.initializer:
        if tensor.name not in values or tensor.name in around.weights:
            values[tensor.name] = _initial(tensor, around)
    for sparse in graph.sparse_initializer:
        values[sparse.values.name] = dense_of(sparse)
    for node in graph.node:
        run_node(node, around, values)
    return [_look_up(output.name, values, graph.name) for output in graph.output]


def run_node(proto: NodeProto, around: Surroundings, values: Values) -> None:
    """Puts what one node makes into ``values``."""
    if proto.op_type == "Constant" and proto.output[0] in around.weights:
        values[proto.output[0]] = around.weights[proto.output[0]]
        return
    attributes = _resolved(proto, around)
    inputs = [_look_up(name, values, proto.name) if name else None for name in proto.input]
    domain = _domain(proto.domain)
    local = around.functions.get((domain, proto.op_type))
    results: Sequence[Value]
    if local is not None:
        results = _call(local, attributes, inputs, around)
    else:
        node = Node(
            op=proto.op_type,
            name=proto.name,
            domain=domain,
            version=around.opsets.get(domain, 1),
            attributes={each.name: _attribute(each) for each in attributes.values()},
            outputs=tuple(proto.output),
            run_graph=lambda graph, *given: _run_inner(graph, around, values, given),
        )
        results = _run_operator(node, proto, attributes, inputs, around)
    for name, result in zip(proto.output, results, strict=False):
        if name:
            values[name] = _narrowed(result, around)


def _run_operator(
    node: Node,
    proto: NodeProto,
    attributes: Mapping[str, AttributeProto],
    inputs: Sequence[Value],
    around: Surroundings,
) -> Sequence[Value]:
    if not registry.is_known(node.domain, node.op):
        body = functions.body_of(node, proto, attributes.values(), inputs)
        if body is not None:
            return _call(body, attributes, inputs, around)
    function = registry.find(node)
    try:
        if is_known(*inputs):
            # With 64-bit types on, what is computed here has the types that ONNX gives it.
            with jax.ensure_compile_time_eval():
                made = function(node, *inputs)
                return [_settled(each) for each in (made if isinstance(made, tuple) else (made,))]
        results = function(node, *inputs)
    except RefusedError:
        raise
    except _UNFIT as error:
        why = str(error).split("\n", 1)[0]
        raise node.refuse(f"{_shapes(inputs)}: {why}") from error
    return results if isinstance(results, tuple) else (results,)


def _settled(value: Value) -> Value:
    """Numpy of what was computed at export; a sub-graph may have drawn on what was not."""
    if isinstance(value, jax.core.Tracer) or value is None:
        return value
    return np.asarray(value)


def _shapes(inputs: Sequence[Value]) -> str:
    shown = ("none" if each is None else f"{each.dtype}{list(each.shape)}" for each in inputs)
    return f"given {', '.join(shown)}"


def _call(
    function: FunctionProto,
    attributes: Mapping[str, AttributeProto],
    inputs: Sequence[Value],
    around: Surroundings,
) -> list[Value]:
    """Runs the body of a function; it sees its inputs and nothing else."""
    values: Values = dict.fromkeys(function.input)
    values.update(zip(function.input, inputs, strict=False))
    defaults = {each.name: each for each in function.attribute_proto}
    inner = replace(
        around,
        opsets={**around.opsets, **opsets_of(function.opset_import)},
        weights={},
        attributes={**defaults, **attributes},
    )
    for node in function.node:
        run_node(node, inner, values)
    return [values.get(name) for name in function.output]


def _run_inner(
    graph: GraphProto, around: Surroundings, values: Values, given: Sequence[Value]
) -> list[Value]:
    inner = dict(values)
    inner.update(zip((each.name for each in graph.input), given, strict=False))
    return run_graph(graph, around, inner)


def _resolved(proto: NodeProto, around: Surroundings) -> dict[str, AttributeProto]:
    """Attributes by name, those that refer to the call of a function replaced by its own."""
    resolved = {}
    for each in proto.attribute:
        if not each.ref_attr_name:
            resolved[each.name] = each
        elif around.attributes and each.ref_attr_name in around.attributes:
            copy = AttributeProto()
            copy.CopyFrom(around.attributes[each.ref_attr_name])
            copy.name = each.name
            resolved[each.name] = copy
    return resolved


def _attribute(proto: AttributeProto) -> Any:
    value = helper.get_attribute_value(proto)
    match proto.type:
        case AttributeProto.STRING:
            return value.decode("utf-8", "replace")
        case AttributeProto.STRINGS:
            return [each.decode("utf-8", "replace") for each in value]
        case AttributeProto.TENSOR:
            return numpy_helper.to_array(value)
        case AttributeProto.SPARSE_TENSOR:
            return dense_of(value)
        case AttributeProto.INTS | AttributeProto.FLOATS:
            return list(value)
    return value


def dense_of(sparse: onnx.SparseTensorProto) -> np.ndarray:
    held = numpy_helper.to_array(sparse.values)
    indices = numpy_helper.to_array(sparse.indices)
    dense = np.zeros(tuple(sparse.dims), held.dtype)
    if indices.ndim == 1:
        dense.reshape(-1)[indices] = held
    else:
        dense[tuple(indices.T)] = held
    return dense


def _initial(tensor: onnx.TensorProto, around: Surroundings) -> Value:
    if tensor.name in around.weights:
        return around.weights[tensor.name]
    return _narrowed(numpy_helper.to_array(tensor), around)


def _narrowed(value: Value, around: Surroundings) -> Value:
    if around.narrow and getattr(value, "dtype", None) == np.float64:
        return value.astype(np.float32)
    return value


def _look_up(name: str, values: Values, where: str) -> Value:
    if name not in values:
        raise RefusedError(
            f"node or graph '{where}' takes '{name}', which nothing before it makes; "
            "the file is damaged or its nodes are out of order"
        )
    return values[name]


def _domain(domain: str) -> str:
    return "" if domain == "ai.onnx" else domain
