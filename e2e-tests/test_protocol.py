"""The served protocol beside the one that the stock client was built from."""

from collections.abc import Iterable

import grpc
import tritonclient.grpc  # noqa: F401  first: its package knows where its messages are
from google.protobuf.descriptor_pb2 import DescriptorProto, EnumDescriptorProto, FileDescriptorProto
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from tritonclient.grpc import model_config_pb2, service_pb2

OWN = {
    ".inference.IsSameIPCNamespaceRequest",
    ".inference.IsSameIPCNamespaceRequest.name",
    ".inference.IsSameIPCNamespaceResponse",
    ".inference.IsSameIPCNamespaceResponse.same",
    ".inference.GRPCInferenceService.IsSameIPCNamespace",
    # KServe's own client reads these; Triton's answers are empty.
    ".inference.RepositoryModelLoadResponse.model_name",
    ".inference.RepositoryModelLoadResponse.is_loaded",
    ".inference.RepositoryModelUnloadResponse.model_name",
    ".inference.RepositoryModelUnloadResponse.is_unloaded",
}


def described(files: Iterable[FileDescriptorProto]) -> dict[str, object]:
    """Every message, field, enum value and method by its full name, with what it is on the wire."""
    found: dict[str, object] = {}

    def add_enum(prefix: str, enum: EnumDescriptorProto) -> None:
        for value in enum.value:
            found[f"{prefix}.{enum.name}.{value.name}"] = value.number

    def add_message(prefix: str, message: DescriptorProto) -> None:
        name = f"{prefix}.{message.name}"
        found[name] = "message"
        for field in message.field:
            oneof = message.oneof_decl[field.oneof_index].name if field.HasField("oneof_index") else ""
            found[f"{name}.{field.name}"] = (field.number, field.type, field.label, field.type_name, oneof)
        for nested in message.nested_type:
            add_message(name, nested)
        for enum in message.enum_type:
            add_enum(name, enum)

    for file in files:
        for message in file.message_type:
            add_message(f".{file.package}", message)
        for enum in file.enum_type:
            add_enum(f".{file.package}", enum)
        for service in file.service:
            for method in service.method:
                found[f".{file.package}.{service.name}.{method.name}"] = (
                    method.input_type,
                    method.output_type,
                    method.client_streaming,
                    method.server_streaming,
                )
    return found


def served(channel: grpc.Channel) -> dict[str, object]:
    question = reflection_pb2.ServerReflectionRequest(file_containing_symbol="inference.GRPCInferenceService")
    answer = next(reflection_pb2_grpc.ServerReflectionStub(channel).ServerReflectionInfo(iter([question])))
    files = answer.file_descriptor_response.file_descriptor_proto
    return described(FileDescriptorProto.FromString(file) for file in files)


def test_should_serve_the_messages_and_methods_of_the_stock_client(channel: grpc.Channel) -> None:
    stock = described(
        FileDescriptorProto.FromString(module.DESCRIPTOR.serialized_pb) for module in (service_pb2, model_config_pb2)
    )
    ours = served(channel)

    assert {name: ours.get(name) for name in stock} == stock
    assert set(ours) - set(stock) == OWN
