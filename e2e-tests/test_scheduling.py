"""What operators and callers see of the scheduler: cancelling, weights, the actuator under load, held batches."""

import json
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest
from tritonclient.grpc.service_pb2_grpc import GRPCInferenceServiceStub

import damaged_bundles
import spinning_bundle
from calls import request
from conftest import Launch, running
from metrics import waiting
from node_process import workers_behind_gateway
from spinning_bundle import turns
from worker_process import WorkerProcess, wait_until

pytestmark = pytest.mark.alone

CROWD = 1000
BLOCK_SECONDS = 8  # longer than the actuator waits for a busy dispatch thread, twice
RUN_SECONDS = 0.004
OUTSTANDING = 32
MEASURED_SECONDS = 3
SETTLE_SECONDS = 2  # four half-lives: what was used before counts little
MODELS = ("spin", "turn")


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    """Two models of equal cost; each test leaves it idle, with weights of 1."""
    if workers_behind_gateway():
        pytest.skip("what a worker's own scheduler does is asked at its own port, which a gateway has not")
    folder = tmp_path_factory.mktemp("scheduling")
    for name in MODELS:
        spinning_bundle.write(folder / "models", name)
    settings = ("scheduler.discipline=fair", "scheduler.ema-half-life=500ms", f"scheduler.max-queue-depth={CROWD}")
    arguments = [f"--roundhouse.worker.{setting}" for setting in settings]
    with running(folder / "models", folder / "log", *arguments) as process:
        yield process


@pytest.fixture(scope="module")
def turns_per_second(worker: WorkerProcess) -> float:
    """How fast this machine turns the loop; the best of some runs, since it may be busy."""
    count = 20_000_000
    with grpc.insecure_channel(worker.address) as channel:
        stub = GRPCInferenceServiceStub(channel)
        best = 0.0
        for _ in range(5):
            before = figures(worker, "spin")["runs"]["computeSeconds"]
            stub.ModelInfer(request("spin", turns(count)))
            best = max(best, count / (figures(worker, "spin")["runs"]["computeSeconds"] - before))
    return best


def show(worker: WorkerProcess, endpoint: str) -> dict[str, Any]:
    status, body = worker.get(worker.ports.metrics, f"/actuator/{endpoint}")
    assert status == 200, body
    return json.loads(body)


def figures(worker: WorkerProcess, model: str) -> dict[str, Any]:
    return show(worker, f"models/{model}")


def set_weight(worker: WorkerProcess, model: str, weight: float) -> dict[str, Any]:
    post = urllib.request.Request(
        f"http://127.0.0.1:{worker.ports.metrics}/actuator/models/{model}",
        json.dumps({"weight": weight}).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(post, timeout=10) as response:
        return json.load(response)


def test_should_free_a_thousand_places_at_once_when_a_thousand_queued_calls_are_cancelled(
    worker: WorkerProcess, turns_per_second: float
) -> None:
    before = figures(worker, "spin")["requests"]
    quick = request("spin", turns(1))
    with grpc.insecure_channel(worker.address) as channel:
        stub = GRPCInferenceServiceStub(channel)
        blocker = stub.ModelInfer.future(request("spin", turns(int(BLOCK_SECONDS * turns_per_second))))
        assert stub.ModelInfer.future(quick).cancel()  # on the same connection: the blocker was there first
        wait_until(lambda: waiting(worker, "spin") == 0, 5, "the blocking call runs")
        crowd = [stub.ModelInfer.future(quick) for _ in range(CROWD)]
        wait_until(lambda: waiting(worker, "spin") == CROWD, 5, f"{CROWD} calls are queued")
        with pytest.raises(grpc.RpcError) as refusal:
            stub.ModelInfer(quick)
        assert refusal.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        assert f"{CROWD} requests wait for model 'spin' and the limit is {CROWD}" in refusal.value.details()

        for call in crowd:
            call.cancel()
        wait_until(lambda: figures(worker, "spin")["queueDepth"] == 0, 5, "no call is queued any more")
        others = [stub.ModelInfer.future(quick) for _ in range(CROWD)]
        wait_until(lambda: waiting(worker, "spin") == CROWD, 5, f"{CROWD} other calls are queued")
        assert not blocker.done(), "places may have become free because calls ran"

        assert blocker.result(60)
        assert all(other.result(60) for other in others)
    after = figures(worker, "spin")["requests"]
    assert after["completed"] - before["completed"] == 1 + CROWD
    assert CROWD <= after["cancelled"] - before["cancelled"] <= CROWD + 1
    assert after["accepted"] == after["completed"] + after["cancelled"] + after["failed"] + sum(after["shed"].values())
    assert show(worker, "scheduler")["queued"] == {
        "requests": 0,
        "maxRequestsPerModel": CROWD,
        "bytes": 0,
        "maxBytes": 2**30,
    }
    # how often the model's loop turns is up to its input, which the trial of its program says
    told = [line for line in worker.log().splitlines() if "WARN" in line or "ERROR" in line]
    assert not [line for line in told if "a run on trial with extreme values" not in line]


@contextmanager
def saturated(worker: WorkerProcess, run_turns: int) -> Iterator[None]:
    """Keeps both models' queues filled."""
    stopping = threading.Event()
    problems: list[str] = []

    def keep_filled(model: str) -> None:
        message = request(model, turns(run_turns))
        room = threading.Semaphore(OUTSTANDING)

        def ended(call: grpc.Future) -> None:
            room.release()
            if call.exception():
                problems.append(f"{model}: {call.exception()}")

        with grpc.insecure_channel(worker.address) as channel:
            stub = GRPCInferenceServiceStub(channel)
            while not stopping.is_set():
                room.acquire()
                stub.ModelInfer.future(message).add_done_callback(ended)
            for _ in range(OUTSTANDING):
                room.acquire()

    threads = [threading.Thread(target=keep_filled, args=(model,)) for model in MODELS]
    for thread in threads:
        thread.start()
    try:
        wait_until(lambda: all(waiting(worker, model) > OUTSTANDING // 2 for model in MODELS), 20, "queues are filled")
        yield
    finally:
        stopping.set()
        for thread in threads:
            thread.join(60)
    assert problems == []


def device_seconds(worker: WorkerProcess) -> dict[str, float]:
    return {model["name"]: model["runs"]["computeSeconds"] for model in show(worker, "models")["models"]}


def ratio_of_device_time(worker: WorkerProcess) -> float:
    time.sleep(SETTLE_SECONDS)
    before = device_seconds(worker)
    time.sleep(MEASURED_SECONDS)
    after = device_seconds(worker)
    spent = {model: after[model] - before[model] for model in MODELS}
    return spent["spin"] / spent["turn"]


def test_should_shift_shares_when_a_weight_is_changed_under_load(
    worker: WorkerProcess, turns_per_second: float
) -> None:
    with saturated(worker, int(RUN_SECONDS * turns_per_second)):
        assert ratio_of_device_time(worker) == pytest.approx(1, rel=0.15)
        assert set_weight(worker, "spin", 3) == {"name": "spin", "before": 1.0, "weight": 3.0}
        assert ratio_of_device_time(worker) == pytest.approx(3, rel=0.15)
        assert_sane(show(worker, "scheduler"), {"spin": 0.75, "turn": 0.25})
        assert set_weight(worker, "spin", 1)["before"] == 3.0
    assert "weight of model 'spin' changed from 1.0 to 3.0" in worker.log()


def assert_sane(scheduler: dict[str, Any], shares: dict[str, float]) -> None:
    assert scheduler["discipline"] == "fair"
    assert scheduler["unknownBecause"] is None
    assert scheduler["running"] in (*MODELS, None)
    assert 0 < scheduler["queued"]["requests"] <= 2 * OUTSTANDING
    assert 16 <= scheduler["queued"]["bytes"] <= 16 * 2 * OUTSTANDING
    assert {model["name"]: model["share"] for model in scheduler["models"]} == pytest.approx(shares)
    for model in scheduler["models"]:
        assert 0 < model["queueDepth"] <= OUTSTANDING
        assert 0 < model["oldestWaitMicros"] < 10e6
        assert model["held"] is False


def test_should_show_batches_that_add_up_when_a_model_has_run(worker: WorkerProcess, turns_per_second: float) -> None:
    assert turns_per_second > 0
    for model in show(worker, "models")["models"]:
        runs, programs = model["runs"], model["programs"]
        assert runs["executions"] == sum(program["runs"] for program in programs)
        assert runs["rows"] == sum(program["rows"] for program in programs) == model["requests"]["completed"]
        assert [program["batchSize"] for program in programs] == [1]
        assert programs[0]["meanMicros"] > 0


def test_should_lose_no_held_call_when_terminated(tmp_path: Path, launch: Launch) -> None:
    damaged_bundles.copy_sample("affine", tmp_path / "models")
    worker = launch(tmp_path / "models", "--roundhouse.worker.models.affine.max-queue-delay=3s").await_ready()
    with grpc.insecure_channel(worker.address) as channel:
        stub = GRPCInferenceServiceStub(channel)
        message = request("affine", {"x": np.ones((1, 16), np.float32)})
        calls = [stub.ModelInfer.future(message) for _ in range(3)]
        wait_until(lambda: figures(worker, "affine")["queueDepth"] == 3, 2, "three calls wait")
        assert figures(worker, "affine")["held"] is True
        assert not any(call.done() for call in calls)
        assert worker.terminate() in (0, 143)
        answers = [call.result(30).raw_output_contents[0] for call in calls]
        assert len(answers) == 3
        assert len(set(answers)) == 1
