"""Node's grpc-js, with messages read from our own .proto files."""

import json
import os
import subprocess
from pathlib import Path

import pytest

import client_tools
from worker_process import ROOT, WorkerProcess

FOLDER = Path(__file__).parent / "node"
PROTO = ROOT / "shared-kserve" / "src" / "main" / "proto"
STREAMED = 20
UNKNOWN = "Request for unknown model: 'ghost' is not found"


@pytest.fixture(scope="module")
def seen(worker: WorkerProcess) -> dict[str, object]:
    """What came of the calls in ``calls.js``, which makes all of them in one go."""
    node = client_tools.need("node")
    environment = os.environ | {"NODE_PATH": str(client_tools.node_packages(FOLDER))}
    command = [node, str(FOLDER / "calls.js"), worker.address, str(PROTO)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=180)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def outputs(start: int) -> list[list[int]]:
    return [[start + n + 3 for n in range(16)], [start + n - 3 for n in range(16)]]


def test_should_call(seen: dict[str, object]) -> None:
    assert seen["live"] is True
    assert [(tensor["name"], tensor["datatype"], tensor["shape"]) for tensor in seen["metadata"]] == [
        ("INPUT0", "INT32", ["-1", "16"]),
        ("INPUT1", "INT32", ["-1", "16"]),
    ]
    assert seen["unary"] == {"id": "q", "outputs": outputs(5)}


def test_should_raise_with_code_and_text(seen: dict[str, object]) -> None:
    assert seen["unknown"] == {"code": "NOT_FOUND", "details": UNKNOWN}
    assert seen["budget"]["code"] == "DEADLINE_EXCEEDED"
    assert seen["budget"]["details"]


def test_should_answer_a_stream_in_order_with_its_error_in_band(seen: dict[str, object]) -> None:
    answers = seen["stream"]["answers"]
    assert UNKNOWN in answers[1].pop("error")
    expected = [{"id": str(n), "outputs": outputs(n)} if n != 1 else {} for n in range(STREAMED)]
    assert answers == expected
    assert seen["stream"]["end"] == "OK"


def test_should_take_a_deadline_and_a_cancellation_of_an_open_stream(seen: dict[str, object]) -> None:
    assert seen["deadline"] == "DEADLINE_EXCEEDED"
    assert seen["cancelled"] == {"answers": [{"id": "0", "outputs": outputs(0)}], "end": "CANCELLED"}
    assert seen["afterwards"] == {"id": "", "outputs": outputs(7)}
