"""grpcurl, which knows nothing of the protocol but what reflection tells it."""

import base64
import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

import client_tools
from calls import simple_inputs
from worker_process import WorkerProcess

SOURCE = "github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.4"
SERVICE = "inference.GRPCInferenceService"
SECONDS = 60
STATUS_EXIT = 64  # grpcurl's exit code is this and the code of the call's status
NOT_FOUND = 5


@pytest.fixture(scope="module")
def grpcurl() -> Path:
    return client_tools.go_tool(SOURCE)


def run(
    grpcurl: Path, worker: WorkerProcess, *arguments: str, requests: tuple[dict, ...] = ()
) -> subprocess.CompletedProcess[str]:
    options = ["-plaintext", "-max-time", str(SECONDS), "-format-error"]
    data = ["-d", "@"] if requests else []
    command = [str(grpcurl), *options, *data, worker.address, *arguments]
    said = "\n".join(json.dumps(request) for request in requests)
    return subprocess.run(command, input=said, capture_output=True, text=True, timeout=SECONDS)


def answers(done: subprocess.CompletedProcess[str]) -> list[dict]:
    """The messages that a call was answered with."""
    assert done.returncode == 0, done.stderr
    found, text, decoder = [], done.stdout.strip(), json.JSONDecoder()
    while text:
        message, end = decoder.raw_decode(text)
        found.append(message)
        text = text[end:].strip()
    return found


def infer(typed: bool, start: int = 0, request_id: str = "") -> dict:
    inputs = [
        {"name": name, "datatype": "INT32", "shape": array.shape}
        | ({"contents": {"int_contents": array.ravel().tolist()}} if typed else {})
        for name, array in simple_inputs(start=start).items()
    ]
    raw = [base64.b64encode(array.tobytes()).decode() for array in simple_inputs(start=start).values()]
    return {"model_name": "simple", "id": request_id, "inputs": inputs} | ({} if typed else {"raw_input_contents": raw})


def sums(answer: dict) -> list[int]:
    return np.frombuffer(base64.b64decode(answer["raw_output_contents"][0]), np.int32).tolist()


def test_should_list_and_describe_what_is_served(grpcurl: Path, worker: WorkerProcess) -> None:
    listed = run(grpcurl, worker, "list").stdout.split()
    assert {SERVICE, "grpc.health.v1.Health"} <= set(listed)
    assert f"{SERVICE}.ModelStreamInfer" in run(grpcurl, worker, "list", SERVICE).stdout.split()
    for name in (*listed, ".inference.ModelInferRequest", ".inference.ModelConfig"):
        described = run(grpcurl, worker, "describe", name)
        assert described.returncode == 0, described.stderr
    method = run(grpcurl, worker, "describe", f"{SERVICE}.ModelStreamInfer").stdout
    assert "( stream .inference.ModelInferRequest ) returns ( stream .inference.ModelStreamInferResponse )" in method


def test_should_ask_for_health_and_metadata(grpcurl: Path, worker: WorkerProcess) -> None:
    assert answers(run(grpcurl, worker, "grpc.health.v1.Health/Check")) == [{"status": "SERVING"}]
    (metadata,) = answers(run(grpcurl, worker, f"{SERVICE}/ServerMetadata"))
    assert metadata["name"] == "roundhouse"
    assert "model_configuration" in metadata["extensions"]


@pytest.mark.parametrize("typed", [False, True], ids=["raw", "typed"])
def test_should_infer(grpcurl: Path, worker: WorkerProcess, typed: bool) -> None:
    (answer,) = answers(run(grpcurl, worker, f"{SERVICE}/ModelInfer", requests=(infer(typed, request_id="q"),)))
    assert (answer["model_name"], answer["model_version"], answer["id"]) == ("simple", "1", "q")
    assert [(output["name"], output["shape"]) for output in answer["outputs"]] == [
        ("OUTPUT0", ["1", "16"]),
        ("OUTPUT1", ["1", "16"]),
    ]
    assert sums(answer) == [n + 3 for n in range(16)]


def test_should_stream(grpcurl: Path, worker: WorkerProcess) -> None:
    requests = tuple(infer(typed=n % 2 == 0, start=n, request_id=str(n)) for n in range(5))
    told = [
        each["infer_response"]
        for each in answers(run(grpcurl, worker, f"{SERVICE}/ModelStreamInfer", requests=requests))
    ]
    assert [answer["id"] for answer in told] == [str(n) for n in range(5)]
    assert [sums(answer)[0] for answer in told] == [n + 3 for n in range(5)]


def test_should_tell_code_and_text_of_an_error(grpcurl: Path, worker: WorkerProcess) -> None:
    done = run(grpcurl, worker, f"{SERVICE}/ModelMetadata", requests=({"name": "ghost"},))
    assert done.returncode == STATUS_EXIT + NOT_FOUND
    error = json.loads(done.stderr)
    assert error == {"code": NOT_FOUND, "message": "Request for unknown model: 'ghost' is not found"}
