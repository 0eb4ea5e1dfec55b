"""Reads a file of ONNX; what is wrong with it is said in one line."""

import os
from collections.abc import Iterator
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError
from onnx import AttributeProto, ModelProto, TensorProto, ValueInfoProto

from roundhouse_export.onnx_graph.weights import graphs_of
from roundhouse_export.refusal import RefusedError

_PROTOBUF_LIMIT = 2**31 - 1


def read_model(source: str) -> ModelProto:
    """Returns the model with the tensors that lie in files beside it."""
    path = Path(source)
    if not path.is_file():
        raise RefusedError(f"{source}: there is no such file")
    if path.stat().st_size > _PROTOBUF_LIMIT:
        raise RefusedError(
            f"{source}: {path.stat().st_size} bytes, and a protobuf ends at {_PROTOBUF_LIMIT}; "
            "save the model with external data"
        )
    model = ModelProto()
    try:
        model.ParseFromString(path.read_bytes())
    except DecodeError:
        raise RefusedError(
            f"{source}: not a model of ONNX, or cut short; export or download it again"
        ) from None
    if not model.HasField("graph") or (not model.graph.node and not model.graph.output):
        raise RefusedError(f"{source}: holds no graph; export or download it again")
    if not model.opset_import:
        raise RefusedError(f"{source}: names no operator set; export or download it again")
    if not model.graph.output:
        raise RefusedError(f"{source}: its graph has no outputs; export or download it again")
    _refuse_damaged_names(source, model)
    _refuse_repeated(source, model)
    for tensor in _tensors(model):
        if tensor.data_location == TensorProto.EXTERNAL:
            _load_external(source, path, tensor)
        elif tensor.data_type == TensorProto.STRING:
            raise RefusedError(
                f"{source}: tensor '{tensor.name}' holds texts, which have no place in a "
                "program; take them out of the model"
            )
        else:
            _check_length(source, tensor)
    return model


def _refuse_damaged_names(source: str, model: ModelProto) -> None:
    """Protobuf hands over bytes where a text is none; versions are small numbers."""
    texts: list[object] = [model.producer_name, model.producer_version]
    for graph in graphs_of(model.graph):
        texts += [each.name for each in (*graph.input, *graph.output, *graph.initializer)]
        for node in graph.node:
            texts += [node.name, node.op_type, node.domain, *node.input, *node.output]
    texts += [each.domain for each in model.opset_import]
    versions = [each.version for each in model.opset_import]
    readable = all(isinstance(each, str) and each.isprintable() for each in texts)
    readable = readable and isinstance(model.doc_string, str)
    if not readable or not all(0 < version < 1000 for version in versions):
        raise RefusedError(
            f"{source}: has a name that is no text, or an impossible version; "
            "export or download it again"
        )


def _refuse_repeated(source: str, model: ModelProto) -> None:
    for what, values in (("inputs", model.graph.input), ("outputs", model.graph.output)):
        names = [value.name for value in values]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise RefusedError(f"{source}: several {what} are named {twice}; rename them")


def _tensors(model: ModelProto) -> Iterator[TensorProto]:
    for graph in graphs_of(model.graph):
        yield from graph.initializer
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.type == AttributeProto.TENSOR and node.domain in ("", "ai.onnx"):
                    yield attribute.t


def _load_external(source: str, path: Path, tensor: TensorProto) -> None:
    """Reads from the model's own folder and nowhere else: a model may name any path."""
    said = {entry.key: entry.value for entry in tensor.external_data}
    location = said.get("location", "")
    folder = path.parent.resolve()
    where = Path(os.path.normpath(folder / location))
    outside = not location or Path(location).is_absolute() or not where.is_relative_to(folder)
    if outside or not where.resolve().is_relative_to(folder):
        raise RefusedError(
            f"{source}: tensor '{tensor.name}' lies in '{location}', outside the model's folder; "
            "put it beside the model and export again"
        )
    if not where.is_file():
        raise RefusedError(
            f"{source}: tensor '{tensor.name}' lies in '{location}', and there is no such file "
            "beside the model; copy it there"
        )
    offset, wanted = _extent(source, tensor, said)
    with where.open("rb") as file:
        file.seek(offset)
        data = file.read() if wanted is None else file.read(wanted)
    if wanted is not None and len(data) != wanted:
        raise RefusedError(
            f"{source}: tensor '{tensor.name}' should have {wanted} bytes in '{location}' from "
            f"{offset} on, which has {len(data)}; the file is cut short, copy it again"
        )
    tensor.raw_data = data
    tensor.data_location = TensorProto.DEFAULT
    del tensor.external_data[:]
    _check_length(source, tensor)


def _extent(source: str, tensor: TensorProto, said: dict[str, str]) -> tuple[int, int | None]:
    try:
        offset = int(said.get("offset", "0"))
        length = int(said["length"]) if "length" in said else None
    except ValueError:
        offset, length = -1, None
    if offset < 0 or (length is not None and length < 0):
        raise RefusedError(
            f"{source}: tensor '{tensor.name}' has an offset or length that is no number; "
            "export the model again"
        )
    return offset, length


def _check_length(source: str, tensor: TensorProto) -> None:
    try:
        onnx.numpy_helper.to_array(tensor)
    except (ValueError, TypeError, KeyError) as error:
        why = str(error).split("\n", 1)[0]
        raise RefusedError(
            f"{source}: tensor '{tensor.name}' {list(tensor.dims)} is damaged ({why}); "
            "export or download the model again"
        ) from None


def describe(value: ValueInfoProto) -> str:
    """What kind of value an input or output is, in the words of ONNX."""
    return str(value.type.WhichOneof("value") or "nothing").removesuffix("_type")
