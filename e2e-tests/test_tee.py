"""Copies of a real worker's requests: batches by the client that learners are given, files, and a collector."""

import json
import re
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import tritonclient.grpc as triton
from safetensors.numpy import load_file

from payload_collector import PayloadCollector
from worker_process import ROOT, SAMPLE_MODELS, WorkerProcess, wait_until

sys.path.insert(0, str(ROOT / "kserve-client" / "python"))
from tee import Batch, Folder, Learner, TeeError, read

BATCH = 8


@pytest.fixture(scope="module")
def collector() -> Iterator[PayloadCollector]:
    with PayloadCollector() as started:
        yield started


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tee")


@pytest.fixture(scope="module")
def worker(folder: Path, collector: PayloadCollector) -> Iterator[WorkerProcess]:
    models = folder / "models"
    models.mkdir()
    for each in ("scalar", "simple"):
        (models / each).symlink_to(SAMPLE_MODELS / each)
    (folder / "files").mkdir()
    settings = (
        "tee.models=scalar",
        f"tee.batch-size={BATCH}",
        "tee.port=0",
        f"tee.socket={folder / 'socket'}",
        f"tee.folder={folder / 'files'}",
        f"payload-log.url={collector.url}",
        "payload-log.models=simple",
        "payload-log.inference-service=iris",
    )
    started = WorkerProcess.launch(models, folder / "log", *(f"--roundhouse.worker.{each}" for each in settings))
    try:
        yield started.await_ready()
    finally:
        started.close()


def ask(worker: WorkerProcess, values: np.ndarray) -> np.ndarray:
    given = triton.InferInput("x", values.shape, "FP32")
    given.set_data_from_numpy(values)
    with worker.client() as client:
        return client.infer("scalar", [given]).as_numpy("score")


def rows(start: int) -> np.ndarray:
    return np.arange(start, start + 3, dtype=np.float32)


@pytest.mark.parametrize("local", [False, True], ids=["tcp", "unix"])
def test_should_give_a_learner_requests_and_answers_in_order(worker: WorkerProcess, folder: Path, local: bool) -> None:
    port = re.search("tee=([0-9]+)", worker.ready_line() or "")[1]
    address = str(folder / "socket") if local else f"127.0.0.1:{port}"
    with Learner(address, "scalar", timeout=30) as learner:
        with pytest.raises(TeeError, match="OVERLOADED: model 'scalar' has a learner already"):
            Learner(address, "scalar", timeout=30)
        expected = {}
        batches: list[Batch] = []
        for start in range(3 * BATCH):
            expected[start] = ask(worker, rows(start))
            if start % BATCH == BATCH - 1:
                batches.append(next(learner))
        assert [batch.first_row for batch in batches] == [batches[0].first_row + i * BATCH for i in range(3)]
        asked = 0
        for batch in batches:
            assert (batch.model, batch.generation) == ("scalar", 1)
            for x, score in zip(batch.inputs["x"], batch.outputs["score"], strict=True):
                np.testing.assert_array_equal(x, rows(asked))
                np.testing.assert_array_equal(score, expected[asked])
                asked += 1
    with pytest.raises(TeeError, match=r"NO_SUCH_MODEL: .*tee\.models"):
        Learner(address, "simple", timeout=30)


def metric(worker: WorkerProcess, name: str) -> float:
    page = worker.get(worker.ports.metrics, "/metrics")[1]
    return sum(
        float(line.rpartition(" ")[2]) for line in page.splitlines() if line.startswith(f"roundhouse_tee_{name}")
    )


def test_should_write_files_that_numpy_and_safetensors_open(worker: WorkerProcess, folder: Path) -> None:
    files = folder / "files"
    expected = {start: ask(worker, rows(start)) for start in range(3 * BATCH)}  # more than is lost at the start
    filled = metric(worker, "batches_filled_total")
    assert filled >= 2
    wait_until(lambda: metric(worker, "files_written_total") == filled, 30, "every batch is a file")
    assert metric(worker, "files_failed_total") == 0
    other = files / "mine.safetensors"
    other.write_bytes(b"of somebody else")
    batches = list(Folder(str(files), "scalar"))
    other.unlink()
    assert len(batches) == filled
    for x, score in zip(batches[-1].inputs["x"], batches[-1].outputs["score"], strict=True):
        np.testing.assert_array_equal(x, rows(int(x[0])))
        np.testing.assert_array_equal(score, expected[int(x[0])])
    newest = max(files.glob("*.safetensors"))
    opened = load_file(newest)
    np.testing.assert_array_equal(opened["inputs/x"], read(newest).inputs["x"])
    np.testing.assert_array_equal(opened["outputs/score"], read(newest).outputs["score"])
    assert len(list(Folder(str(files), "scalar", remove=True))) == filled
    assert not list(files.glob("*"))


def test_should_send_a_collector_what_rest_says(worker: WorkerProcess, collector: PayloadCollector) -> None:
    _, contract = worker.get(worker.ports.http, "/v2/models/simple")
    inputs = [
        {"name": each["name"], "datatype": each["datatype"], "shape": [1, *each["shape"][1:]]}
        for each in json.loads(contract)["inputs"]
    ]
    for each in inputs:
        each["data"] = [1] * int(np.prod(each["shape"]))
    body = json.dumps({"id": "seven", "inputs": inputs}).encode()
    url = f"http://127.0.0.1:{worker.ports.http}/v2/models/simple/infer"
    with urllib.request.urlopen(urllib.request.Request(url, body), timeout=30) as answer:
        answered = answer.read().decode()
    request, response = collector.await_events(2)
    assert request.is_request
    assert not response.is_request
    assert request.headers["ce-id"] == response.headers["ce-id"] == "seven"
    assert request.headers["ce-inferenceservicename"] == "iris"
    assert request.headers["ce-specversion"] == "1.0"
    assert json.loads(request.body) == json.loads(body)
    assert response.body == answered
    assert "roundhouse_payloads_sent_total 2.0" in worker.get(worker.ports.metrics, "/metrics")[1]
