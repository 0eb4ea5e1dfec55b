"""KServe's own clients, over HTTP and over gRPC."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from calls import simple_inputs
from worker_process import WorkerProcess

CALLS = Path(__file__).parent / "kserve_calls.py"

Seen = dict[str, dict[str, object]]
both = pytest.mark.parametrize("over", ["http", "grpc"])


@pytest.fixture(scope="module")
def seen(worker: WorkerProcess) -> Seen:
    command = [sys.executable, str(CALLS), f"http://127.0.0.1:{worker.ports.http}", worker.address]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout)


@both
@pytest.mark.parametrize("binary", [True, False], ids=["binary", "plain"])
@pytest.mark.parametrize("outputs", [True, False], ids=["outputs", "all-outputs"])
def test_should_infer(seen: Seen, over: str, binary: bool, outputs: bool) -> None:
    arrays = simple_inputs(rows=2)
    expected = {
        "OUTPUT0": (arrays["INPUT0"] + arrays["INPUT1"]).tolist(),
        "OUTPUT1": (arrays["INPUT0"] - arrays["INPUT1"]).tolist(),
    }
    assert seen[over][f"binary={binary} outputs={outputs}"] == ["q", "simple", expected]


@both
def test_should_read_health(seen: Seen, over: str) -> None:
    assert [seen[over][name] for name in ("live", "ready", "models")] == [True, True, [True, False]]


@pytest.mark.parametrize(("over", "expected"), [("http", 404), ("grpc", "NOT_FOUND")])
def test_should_raise_what_the_worker_says(seen: Seen, over: str, expected: int | str) -> None:
    code, text = seen[over]["unknown"]
    assert code == expected
    assert "Request for unknown model: 'ghost' is not found" in text
