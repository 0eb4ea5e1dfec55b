"""The classification extension with the stock clients, on a sample whose output has labels."""

import queue

import grpc
import numpy as np
import pytest
import tritonclient.grpc as triton
import tritonclient.http as triton_http
from roundhouse_export import samples
from tritonclient.grpc.service_pb2_grpc import GRPCInferenceServiceStub

from calls import request
from worker_process import SAMPLE_MODELS, WorkerProcess

LABELS = (SAMPLE_MODELS / "digits" / "labels.txt").read_text().split()
ROWS = 5
PIXELS = np.random.default_rng(7).random((ROWS, 8, 8, 1), np.float32)
SECONDS = 30


def expected(scores: np.ndarray, classes: int) -> list[list[bytes]]:
    """What Triton makes of scores: to_string of C++, and the order of a sort by value."""
    rows = []
    for row in scores:
        order = np.argsort(-row, kind="stable")[:classes]
        rows.append([f"{float(row[i]):.6f}:{i}:{LABELS[i]}".encode() for i in order])
    return rows


@pytest.fixture(scope="module")
def scores(worker: WorkerProcess) -> np.ndarray:
    with worker.client() as client:
        tensor = triton.InferInput("pixels", list(PIXELS.shape), "FP32").set_data_from_numpy(PIXELS)
        return client.infer("digits", [tensor]).as_numpy("scores")


@pytest.mark.parametrize("classes", [1, 3, 10, 1000])
def test_should_answer_with_labelled_classes_over_grpc(
    client: triton.InferenceServerClient, scores: np.ndarray, classes: int
) -> None:
    tensor = triton.InferInput("pixels", list(PIXELS.shape), "FP32").set_data_from_numpy(PIXELS)
    wanted = triton.InferRequestedOutput("scores", class_count=classes)
    answer = client.infer("digits", [tensor], outputs=[wanted])
    assert answer.get_output("scores").datatype == "BYTES"
    assert answer.as_numpy("scores").tolist() == expected(scores, classes)


def test_should_answer_with_labelled_classes_in_a_stream(
    client: triton.InferenceServerClient, scores: np.ndarray
) -> None:
    answers: queue.Queue = queue.Queue()
    client.start_stream(lambda result, error: answers.put((result, error)))
    tensor = triton.InferInput("pixels", list(PIXELS.shape), "FP32").set_data_from_numpy(PIXELS)
    for classes in (2, 4):
        wanted = triton.InferRequestedOutput("scores", class_count=classes)
        client.async_stream_infer("digits", [tensor], outputs=[wanted])
    for classes in (2, 4):
        result, error = answers.get(timeout=SECONDS)
        assert error is None
        assert result.as_numpy("scores").tolist() == expected(scores, classes)
    client.stop_stream()


@pytest.mark.parametrize("binary", [True, False])
def test_should_answer_with_labelled_classes_over_http(worker: WorkerProcess, scores: np.ndarray, binary: bool) -> None:
    with triton_http.InferenceServerClient(f"127.0.0.1:{worker.ports.http}") as client:
        tensor = triton_http.InferInput("pixels", list(PIXELS.shape), "FP32").set_data_from_numpy(PIXELS)
        wanted = triton_http.InferRequestedOutput("scores", binary_data=binary, class_count=3)
        answer = client.infer("digits", [tensor], outputs=[wanted])
        assert answer.get_output("scores")["shape"] == [ROWS, 3]
        found = answer.as_numpy("scores").tolist()
        assert [[each if binary else each.encode() for each in row] for row in found] == expected(scores, 3)


def test_should_name_the_extension_and_the_labels(client: triton.InferenceServerClient) -> None:
    assert client.get_server_metadata().extensions[0] == "classification"
    config = client.get_model_config("digits").config
    assert [output.label_filename for output in config.output] == ["labels.txt"]


def test_should_refuse_a_type_that_is_not_ranked(stub: GRPCInferenceServiceStub) -> None:
    inputs = samples.get("bfloat").example_inputs(np.random.default_rng(1), 1)
    message = request("bfloat", inputs)
    message.outputs.add(name="y").parameters["classification"].int64_param = 1
    with pytest.raises(grpc.RpcError) as failure:
        stub.ModelInfer(message, timeout=SECONDS)
    assert failure.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert "class result not available for output due to unsupported type 'BF16'" in failure.value.details()
