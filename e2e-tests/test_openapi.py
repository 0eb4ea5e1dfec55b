"""schemathesis: requests that it makes up from the OpenAPI document, and whether the answers are what that says."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import tritonclient.http as triton

from calls import simple_inputs
from conftest import Report
from test_extensions import TAKE_BACK
from test_rest import json_request
from worker_process import WorkerProcess

CHECKS = ("not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance")
CONFIG = Path(__file__).parent / "schemathesis.toml"
MODELS = ("simple", "dtypes")
SEED = 7
EXAMPLES = 5  # random requests of each route, beside some hundred that are the same with every seed
SECONDS = 300


@pytest.fixture
def http(worker: WorkerProcess) -> Iterator[triton.InferenceServerClient]:
    """Leaves the settings as they were, which random requests change."""
    with triton.InferenceServerClient(f"127.0.0.1:{worker.ports.http}") as connected:
        log, trace = connected.get_log_settings(), connected.get_trace_settings()
        yield connected
        connected.update_log_settings({name: value for name, value in log.items() if name != "log_file"})
        for model in (*MODELS, ""):
            connected.update_trace_settings(model, TAKE_BACK)
        assert (connected.get_log_settings(), connected.get_trace_settings()) == (log, trace)


def document(worker: WorkerProcess) -> dict:
    """The worker's own, with models that there are and a request to start from: random ones get nowhere."""
    described = json.loads(worker.get(worker.ports.http, "/v2/openapi.json")[1])
    components = described["components"]
    components["parameters"]["name"]["schema"]["enum"] = [*MODELS, "ghost"]
    components["parameters"]["version"]["schema"]["enum"] = ["1", "2"]
    components["schemas"]["InferRequest"]["example"] = json.loads(json_request(simple_inputs(), id="example"))
    return described


def test_should_answer_as_the_openapi_document_says(
    worker: WorkerProcess, http: triton.InferenceServerClient, tmp_path: Path, report: Report
) -> None:
    file = tmp_path / "openapi.json"
    file.write_text(json.dumps(document(worker)))
    before = http.get_inference_statistics("simple")["model_stats"][0]["inference_count"]
    command = [sys.executable, "-m", "schemathesis.cli", f"--config-file={CONFIG}", "run", str(file)]
    command += [f"--url=http://127.0.0.1:{worker.ports.http}", f"--checks={','.join(CHECKS)}"]
    command += ["--phases=examples,coverage,fuzzing", f"--max-examples={EXAMPLES}", f"--seed={SEED}"]
    command += ["--no-shrink", "--continue-on-failure", "--warnings=off", "--no-color"]

    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=SECONDS)

    assert done.returncode == 0, done.stdout + done.stderr
    generated = re.search(r"(\d+) generated, (\d+) passed", done.stdout)
    assert generated, done.stdout
    assert int(generated[1]) > 500
    assert http.get_inference_statistics("simple")["model_stats"][0]["inference_count"] > before
    report(f"{generated[0]} of schemathesis")
