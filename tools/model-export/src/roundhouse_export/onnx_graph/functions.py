"""Bodies of operators that ONNX itself defines by others, for those that have no code here."""

from collections.abc import Iterable, Sequence
from typing import Any

from onnx import AttributeProto, FunctionProto, NodeProto, TypeProto, defs, helper

from roundhouse_export.onnx_graph.registry import Node, Value


def body_of(
    node: Node,
    proto: NodeProto,
    attributes: Iterable[AttributeProto],
    inputs: Sequence[Value],
) -> FunctionProto | None:
    """Returns the function that ONNX's own schema has for an operator, or None."""
    try:
        # What a schema knows of functions is missing from onnx's annotations.
        schema: Any = defs.get_schema(node.op, node.version, node.domain)
    except defs.SchemaError:
        return None
    if schema.has_function:
        body: FunctionProto = schema.function_body
        return body
    if not schema.has_context_dependent_function:
        return None
    call = NodeProto(op_type=node.op, domain=node.domain, name=node.name)
    call.input.extend(proto.input)
    call.output.extend(proto.output)
    call.attribute.extend(attributes)
    versions = [
        version
        for version in schema.context_dependent_function_opset_versions
        if version <= node.version
    ]
    if not versions:
        return None
    types = [_type_of(value).SerializeToString() for value in inputs]
    written = schema.get_context_dependent_function_with_opset_version(
        max(versions), call.SerializeToString(), types
    )
    made = FunctionProto()
    made.ParseFromString(written)
    return made if made.node else None


def _type_of(value: Value) -> TypeProto:
    if value is None:
        return TypeProto()
    return helper.make_tensor_type_proto(
        helper.np_dtype_to_tensor_dtype(value.dtype), tuple(value.shape)
    )
