"""One request by every way in, to a worker and through a gateway before two: the same bits."""

import json
import re
import struct
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator

import grpc
import numpy as np
import pytest
from tritonclient.grpc.service_pb2 import ModelInferRequest
from tritonclient.grpc.service_pb2_grpc import GRPCInferenceServiceStub

from node_process import NodeProcess
from worker_process import ROOT, SAMPLE_MODELS, WorkerProcess

sys.path.insert(0, str(ROOT / "kserve-client" / "python"))
from tstream import Stream, StreamError

MODEL = "simple"
SETTINGS = (
    "--roundhouse.worker.stream.port=0",
    "--roundhouse.worker.stream.address=127.0.0.1",
    "--roundhouse.worker.v1.enabled=true",
    "--roundhouse.gateway.stream.port=0",
    "--roundhouse.gateway.stream.address=127.0.0.1",
    "--roundhouse.gateway.v1.enabled=true",
)


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeProcess]:
    started = NodeProcess.launch(2, SAMPLE_MODELS, tmp_path_factory.mktemp("ways") / "log", *SETTINGS)
    try:
        yield started.await_ready()
    finally:
        started.close()


@pytest.fixture(params=["worker", "gateway"])
def server(request: pytest.FixtureRequest, node: NodeProcess) -> WorkerProcess:
    return node.workers[0] if request.param == "worker" else node


def stream_address(server: WorkerProcess) -> str:
    return f"127.0.0.1:{re.search('stream=([0-9]+)', server.ready_line() or '')[1]}"


def inputs() -> list[np.ndarray]:
    """Two rows; the sample model adds and subtracts them."""
    random = np.random.default_rng(3)
    return [random.integers(-99, 99, (1, 16)).astype(np.int32) for _ in range(2)]


def by_grpc(server: WorkerProcess, values: list[np.ndarray]) -> list[bytes]:
    request = ModelInferRequest(model_name=MODEL)
    for number, value in enumerate(values):
        request.inputs.add(name=f"INPUT{number}", datatype="INT32", shape=value.shape)
        request.raw_input_contents.append(value.tobytes())
    with grpc.insecure_channel(server.address) as channel:
        return list(GRPCInferenceServiceStub(channel).ModelInfer(request).raw_output_contents)


def post(server: WorkerProcess, path: str, body: bytes, headers: dict[str, str]) -> tuple[bytes, dict[str, str]]:
    url = f"http://127.0.0.1:{server.ports.http}{path}"
    with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=30) as answer:
        return answer.read(), dict(answer.headers)


def by_rest(server: WorkerProcess, values: list[np.ndarray]) -> list[bytes]:
    tensors = [
        {"name": f"INPUT{number}", "datatype": "INT32", "shape": list(value.shape), "data": value.ravel().tolist()}
        for number, value in enumerate(values)
    ]
    answer, _ = post(server, f"/v2/models/{MODEL}/infer", json.dumps({"inputs": tensors}).encode(), {})
    return [np.array(output["data"], np.int32).tobytes() for output in json.loads(answer)["outputs"]]


def by_stream(server: WorkerProcess, values: list[np.ndarray]) -> list[bytes]:
    with Stream(stream_address(server), MODEL) as stream:
        result = stream.infer({each.name: value for each, value in zip(stream.inputs, values, strict=True)})
        return [result[each.name].tobytes() for each in stream.outputs]


HEADER = "batch_size: 1 " + " ".join(
    f'{kind.lower()} {{ name: "{kind}{number}" }}' for kind in ("INPUT", "OUTPUT") for number in range(2)
)


def by_v1_http(server: WorkerProcess, values: list[np.ndarray]) -> list[bytes]:
    body = b"".join(value.tobytes() for value in values)
    answer, headers = post(server, f"/api/infer/{MODEL}", body, {"NV-InferRequest": HEADER})
    assert headers["NV-Status"].startswith("code: SUCCESS")
    size = values[0].nbytes
    return [answer[:size], answer[size : 2 * size]]


def field(number: int, content: bytes | int) -> bytes:
    """Of protobuf; all lengths and numbers here are below 128."""
    if isinstance(content, int):
        return struct.pack("BB", number << 3, content)
    return struct.pack("BB", number << 3 | 2, len(content)) + content


def by_v1_grpc(server: WorkerProcess, values: list[np.ndarray]) -> list[bytes]:
    tensors = [field(2, field(1, f"INPUT{number}".encode())) for number in range(2)]
    outputs = [field(3, field(1, f"OUTPUT{number}".encode())) for number in range(2)]
    header = field(1, 1) + b"".join(tensors + outputs)
    request = field(1, MODEL.encode()) + b"\x10" + b"\xff" * 9 + b"\x01"  # version -1
    request += field(3, header) + b"".join(field(4, value.tobytes()) for value in values)
    with grpc.insecure_channel(server.address) as channel:
        answer = channel.unary_unary("/nvidia.inferenceserver.GRPCService/Infer")(request)
    size = values[0].nbytes
    first, second = answer[-2 * (size + 2) : -(size + 2)], answer[-(size + 2) :]
    assert first[:2] == second[:2] == bytes([3 << 3 | 2, size])  # field 3, raw_output, and its length
    return [first[2:], second[2:]]


WAYS = {"rest": by_rest, "stream": by_stream, "v1 over http": by_v1_http, "v1 over grpc": by_v1_grpc}


@pytest.mark.parametrize("way", WAYS)
def test_should_answer_with_the_same_bits_by_every_way(server: WorkerProcess, node: NodeProcess, way: str) -> None:
    values = inputs()
    expected = by_grpc(node.workers[0], values)
    assert expected == by_grpc(server, values)
    for _ in range(3):
        assert WAYS[way](server, values) == expected


def test_should_carry_a_long_stream_through_the_gateway(node: NodeProcess) -> None:
    values = inputs()
    expected = by_grpc(node.workers[0], values)
    with Stream(stream_address(node), MODEL, window=64) as stream:
        message = {each.name: value for each, value in zip(stream.inputs, values, strict=True)}
        count = 0
        for result in stream.map(message for _ in range(5000)):
            assert [result[each.name].tobytes() for each in stream.outputs] == expected
            count += 1
        assert count == 5000
    with pytest.raises(StreamError, match="nothing") as refused:
        Stream(stream_address(node), "nothing")
    assert refused.value.status == "NO_SUCH_MODEL"


def test_should_tell_of_the_whole_fleet_by_v1(node: NodeProcess) -> None:
    status, text = node.get(node.ports.http, f"/api/status/{MODEL}")
    assert status == 200
    assert "MODEL_READY" in text
    assert node.get(node.ports.http, "/api/health/ready")[0] == 200
    with pytest.raises(urllib.error.HTTPError) as refused:
        post(node, "/api/infer/nothing", b"", {"NV-InferRequest": HEADER})
    assert refused.value.code == 404
    assert refused.value.headers["NV-Status"].startswith("code: NOT_FOUND")
