"""KServe's own client over HTTP."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from calls import simple_inputs
from worker_process import WorkerProcess

CALLS = Path(__file__).parent / "kserve_calls.py"


@pytest.fixture(scope="module")
def seen(worker: WorkerProcess) -> dict[str, object]:
    command = [sys.executable, str(CALLS), f"http://127.0.0.1:{worker.ports.http}"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout)


@pytest.mark.parametrize("binary", [True, False], ids=["binary", "json"])
@pytest.mark.parametrize("outputs", [True, False], ids=["outputs", "all-outputs"])
def test_should_infer(seen: dict[str, object], binary: bool, outputs: bool) -> None:
    arrays = simple_inputs(rows=2)
    expected = {
        "OUTPUT0": (arrays["INPUT0"] + arrays["INPUT1"]).tolist(),
        "OUTPUT1": (arrays["INPUT0"] - arrays["INPUT1"]).tolist(),
    }
    assert seen[f"binary={binary} outputs={outputs}"] == ["q", "simple", expected]


def test_should_read_health(seen: dict[str, object]) -> None:
    assert (seen["live"], seen["ready"], seen["models"]) == (True, True, [True, False])


def test_should_raise_what_the_worker_says(seen: dict[str, object]) -> None:
    code, text = seen["unknown"]
    assert code == 404
    assert "Request for unknown model: 'ghost' is not found" in text
