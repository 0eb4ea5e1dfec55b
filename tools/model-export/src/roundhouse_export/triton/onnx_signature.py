"""What an ONNX file says of its inputs and outputs, without its weights."""

from pathlib import Path
from typing import Any

import onnx
from google.protobuf.message import DecodeError

from roundhouse_export import dtypes
from roundhouse_export.refusal import RefusedError
from roundhouse_export.triton.signature import Signature, SignatureTensor


def read(file: Path) -> Signature:
    try:
        graph = onnx.load(str(file), load_external_data=False).graph
    except (DecodeError, OSError, ValueError) as wrong:
        raise RefusedError(f"{file}: cannot be read as ONNX: {_first_line(wrong)}") from wrong
    if not graph.output:
        raise RefusedError(f"{file}: is no ONNX model: there is no graph with outputs in it")
    filled = {each.name for each in graph.initializer}
    return Signature(
        file,
        tuple(_tensor(each) for each in graph.input if each.name not in filled),
        tuple(_tensor(each) for each in graph.output),
        frozenset(each.name for each in graph.input if each.name in filled),
    )


def _first_line(wrong: BaseException) -> str:
    return (str(wrong).splitlines() or [type(wrong).__name__])[0]


def _tensor(value: Any) -> SignatureTensor:
    kind = value.type.WhichOneof("value")
    if kind != "tensor_type":
        return SignatureTensor(value.name, str(kind or "unknown").removesuffix("_type"), None)
    tensor = value.type.tensor_type
    dims = tuple(_dim(each) for each in tensor.shape.dim) if tensor.HasField("shape") else None
    return SignatureTensor(value.name, _token(tensor.elem_type), dims)


def _dim(dim: Any) -> int | str | None:
    if dim.HasField("dim_value") and dim.dim_value >= 0:
        return int(dim.dim_value)
    return str(dim.dim_param) or None


def _token(element: int) -> str:
    """The manifest's token, or ONNX's own name for what has none."""
    try:
        if element == onnx.TensorProto.STRING:
            return "bytes"
        return dtypes.token_of(onnx.helper.tensor_dtype_to_np_dtype(element))
    except (KeyError, ValueError):
        return onnx.TensorProto.DataType.Name(element).lower()
