"""Which tensors of a model become weights of its bundle; the rest stay constants of programs."""

from collections.abc import Iterator, Mapping

import ml_dtypes
import numpy as np
import onnx
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto, numpy_helper

from roundhouse_export.model import Wide
from roundhouse_export.refusal import RefusedError

_FEWEST_ELEMENTS = 8
"""What is smaller is cheaper inside a program, where a compiler can make use of its value."""

_TYPES = frozenset(
    {
        TensorProto.FLOAT,
        TensorProto.FLOAT16,
        TensorProto.BFLOAT16,
        TensorProto.DOUBLE,
        TensorProto.INT8,
        TensorProto.UINT8,
        TensorProto.FLOAT8E4M3FN,
        TensorProto.FLOAT8E5M2,
    }
)
_FIX_SHAPES = {"Resize": (1, 2), "Upsample": (1,)}
"""Inputs of floats that must be known at export, by operator."""


def weights_of(model: onnx.ModelProto, wide: Wide) -> dict[str, np.ndarray]:
    """Returns weights by the names of their initializers, in the order of the file."""
    graphs = list(graphs_of(model.graph))
    fixed = {
        node.input[position]
        for graph in graphs
        for node in graph.node
        for position in _FIX_SHAPES.get(node.op_type, ())
        if position < len(node.input)
    }
    read = {name for graph in graphs for node in graph.node for name in node.input}
    held: dict[str, np.ndarray] = {}
    twice: set[str] = set()
    for name, tensor in _tensors(graphs):
        if name in held:
            twice.add(name)
        elif name in read and name not in fixed and _is_weight(tensor):
            held[name] = _array(name, tensor, wide)
    for name in twice:
        held.pop(name)  # inner graphs may use a name again; then each is a constant
    return held


def release(model: onnx.ModelProto, held: Mapping[str, np.ndarray]) -> None:
    """Empties the tensors that are weights now, which would take their memory twice."""
    for name, tensor in _tensors(list(graphs_of(model.graph))):
        if name in held:
            for values in ("raw_data", "float_data", "double_data", "int32_data"):
                tensor.ClearField(values)


def graphs_of(graph: GraphProto) -> Iterator[GraphProto]:
    """Yields a graph and those inside its nodes."""
    yield graph
    for node in graph.node:
        for inner in _inner_graphs(node):
            yield from graphs_of(inner)


def _inner_graphs(node: NodeProto) -> Iterator[GraphProto]:
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield attribute.g
        yield from attribute.graphs


def _tensors(graphs: list[GraphProto]) -> Iterator[tuple[str, TensorProto]]:
    """Initializers, and constants that some exporters write in their place."""
    for graph in graphs:
        for tensor in graph.initializer:
            yield tensor.name, tensor
        for node in graph.node:
            if node.op_type == "Constant" and node.domain in ("", "ai.onnx"):
                for attribute in node.attribute:
                    if attribute.name == "value":
                        yield node.output[0], attribute.t


def _is_weight(tensor: TensorProto) -> bool:
    return (
        tensor.data_type in _TYPES
        and len(tensor.dims) > 0
        and int(np.prod(tensor.dims)) >= _FEWEST_ELEMENTS
    )


def _array(name: str, tensor: TensorProto, wide: Wide) -> np.ndarray:
    array = numpy_helper.to_array(tensor)
    if array.dtype == np.float64:
        match wide:
            case Wide.REFUSE:
                raise RefusedError(
                    f"weight '{name}' is f64, which few devices compute well; "
                    "--wide cast makes it f32, --wide keep leaves it"
                )
            case Wide.CAST:
                return array.astype(np.float32)
    if array.dtype == np.uint16 and tensor.data_type == TensorProto.BFLOAT16:
        return array.view(ml_dtypes.bfloat16)
    return array
