import grpc
import pytest
import tritonclient.grpc as triton
import tritonclient.utils
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2
from roundhouse_export import samples
from roundhouse_export.contract import TensorSpec

from worker_process import WorkerProcess

WIRE_NAMES = {"bool": "BOOL", "bf16": "BF16", "f": "FP", "i": "INT", "u": "UINT"}


def wire_name(token: str) -> str:
    return WIRE_NAMES.get(token) or WIRE_NAMES[token[0]] + token[1:]


def wire_shape(tensor: TensorSpec) -> list[int]:
    return [-1 if isinstance(axis, str) else axis for axis in tensor.shape]


def test_should_be_live_and_ready_when_every_model_is_loaded(client: triton.InferenceServerClient) -> None:
    assert client.is_server_live()
    assert client.is_server_ready()


@pytest.mark.parametrize("name", samples.NAMES)
def test_should_report_ready_when_model_is_a_sample(client: triton.InferenceServerClient, name: str) -> None:
    assert client.is_model_ready(name)


def test_should_report_not_ready_without_error_when_model_is_unknown(client: triton.InferenceServerClient) -> None:
    assert client.is_model_ready("ghost") is False


def test_should_state_name_and_version_when_asked_for_server_metadata(client: triton.InferenceServerClient) -> None:
    metadata = client.get_server_metadata()
    assert metadata.name
    assert metadata.version


@pytest.mark.parametrize("name", samples.NAMES)
def test_should_state_the_contract_when_asked_for_model_metadata(
    client: triton.InferenceServerClient, name: str
) -> None:
    contract = samples.get(name).contract
    metadata = client.get_model_metadata(name)
    assert metadata.name == name
    assert list(metadata.versions) == ["1"]
    for stated, expected in ((metadata.inputs, contract.inputs), (metadata.outputs, contract.outputs)):
        assert [(t.name, t.datatype, list(t.shape)) for t in stated] == [
            (t.name, wire_name(t.dtype), wire_shape(t)) for t in expected
        ]


def test_should_fail_by_name_when_metadata_of_unknown_model_is_asked(client: triton.InferenceServerClient) -> None:
    with pytest.raises(tritonclient.utils.InferenceServerException) as failure:
        client.get_model_metadata("ghost")
    assert failure.value.status() == "StatusCode.NOT_FOUND"
    assert "Request for unknown model: 'ghost' is not found" in failure.value.message()


def test_should_serve_grpc_health_when_ready(channel: grpc.Channel) -> None:
    answer = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest())
    assert answer.status == health_pb2.HealthCheckResponse.SERVING


def reflect(
    channel: grpc.Channel, version: str, question: reflection_pb2.ServerReflectionRequest
) -> reflection_pb2.ServerReflectionResponse:
    """Asks either version; their messages are the same, and v1alpha is what the Python package knows."""
    call = channel.stream_stream(
        f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo",
        request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
        response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
    )
    return next(call(iter([question])))


@pytest.mark.parametrize("version", ["v1", "v1alpha"])
def test_should_list_services_when_reflected_upon(channel: grpc.Channel, version: str) -> None:
    answer = reflect(channel, version, reflection_pb2.ServerReflectionRequest(list_services=""))
    services = {service.name for service in answer.list_services_response.service}
    assert {"inference.GRPCInferenceService", "grpc.health.v1.Health"} <= services


def test_should_describe_the_service_when_reflected_upon(channel: grpc.Channel) -> None:
    question = reflection_pb2.ServerReflectionRequest(file_containing_symbol="inference.GRPCInferenceService")
    answer = reflect(channel, "v1", question)
    files = [FileDescriptorProto.FromString(f) for f in answer.file_descriptor_response.file_descriptor_proto]
    methods = {method.name for file in files for service in file.service for method in service.method}
    assert {"ServerLive", "ServerReady", "ModelReady", "ServerMetadata", "ModelMetadata", "ModelInfer"} <= methods


@pytest.mark.parametrize("path", ["/v2/health/live", "/v2/health/ready", "/v2/models/simple/ready"])
def test_should_answer_rest_health_when_ready(worker: WorkerProcess, path: str) -> None:
    status, _ = worker.get(worker.ports.http, path)
    assert status == 200


def test_should_show_health_and_metrics_when_actuator_is_asked(worker: WorkerProcess) -> None:
    status, body = worker.get(worker.ports.metrics, "/actuator/health")
    assert (status, '"status":"UP"' in body) == (200, True)
    status, body = worker.get(worker.ports.metrics, "/actuator/prometheus")
    assert (status, "jvm_memory_used_bytes" in body) == (200, True)
