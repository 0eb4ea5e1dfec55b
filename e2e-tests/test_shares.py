"""Shares of device time by weight, on a real device, beside many models that nobody calls."""

import json
import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.synchronize import Event
from pathlib import Path

import grpc
import pytest
from tritonclient.grpc.service_pb2_grpc import GRPCInferenceServiceStub

import spinning_bundle
from calls import request
from conftest import Launch, Report
from spinning_bundle import turns
from worker_process import WorkerProcess, wait_until

pytestmark = pytest.mark.alone

IDLE = 98
WEIGHTS = {"heavy": 3, "light": 1}
RUN_SECONDS = {"heavy": 0.012, "light": 0.0009}  # long enough for callers in Python to keep up on a slow machine
OUTSTANDING = {"heavy": 64, "light": 512}
LEAST_WAITING = 2
ATTEMPTS = 3  # a queue that runs empty gives its share away: then it was the callers that were measured
SETTLE_SECONDS = 2
MEASURED_SECONDS = 5
DUE = 0.75
TOLERANCE = 0.02
TURNS = 5_000_000


def keep_filled(address: str, model: str, count: int, outstanding: int, over: Event) -> None:
    """In a process of its own, so that one client's work does not hold up the other's."""
    message = request(model, turns(count))
    calls = []
    with grpc.insecure_channel(address) as channel:
        stub = GRPCInferenceServiceStub(channel)
        for _ in range(outstanding):
            calls.append(stub.ModelInfer.future(message))
        while not over.is_set():
            for i in range(outstanding):
                calls[i].result(60)
                calls[i] = stub.ModelInfer.future(message)
        for call in calls:
            call.result(60)


@contextmanager
def saturated(worker: WorkerProcess, counts: dict[str, int]) -> Iterator[None]:
    context = multiprocessing.get_context("spawn")
    over = context.Event()
    callers = [
        context.Process(target=keep_filled, args=(worker.address, model, count, OUTSTANDING[model], over), daemon=True)
        for model, count in counts.items()
    ]
    for caller in callers:
        caller.start()
    try:
        yield
    finally:
        over.set()
        for caller in callers:
            caller.join(60)
    assert [caller.exitcode for caller in callers] == [0, 0]


def show(worker: WorkerProcess) -> dict[str, dict]:
    status, body = worker.get(worker.ports.metrics, "/actuator/models")
    assert status == 200, body
    return {model["name"]: model for model in json.loads(body)["models"]}


def device_seconds(worker: WorkerProcess) -> dict[str, float]:
    return {name: model["runs"]["computeSeconds"] for name, model in show(worker).items()}


def turns_per_second(worker: WorkerProcess) -> float:
    """The best of some runs, since the machine may be busy."""
    best = 0.0
    with grpc.insecure_channel(worker.address) as channel:
        stub = GRPCInferenceServiceStub(channel)
        for _ in range(5):
            before = device_seconds(worker)["heavy"]
            stub.ModelInfer(request("heavy", turns(TURNS)))
            best = max(best, TURNS / (device_seconds(worker)["heavy"] - before))
    return best


def share_of_heavy(worker: WorkerProcess, fewest: dict[str, int]) -> float:
    """Between two looks; in between, notes the fewest calls that waited for each."""
    before = device_seconds(worker)
    began = time.monotonic()
    while time.monotonic() - began < MEASURED_SECONDS:
        for name, model in show(worker).items():
            if name in fewest:
                fewest[name] = min(fewest[name], model["queueDepth"])
        time.sleep(0.1)
    after = device_seconds(worker)
    spent = {name: after[name] - before[name] for name in WEIGHTS}
    return spent["heavy"] / sum(spent.values())


@pytest.mark.parametrize("discipline", ["fair", "virtual-time"])
def test_should_share_by_weight_when_98_idle_models_are_registered_too(
    discipline: str, tmp_path: Path, launch: Launch, report: Report
) -> None:
    for name in (*WEIGHTS, *(f"idle-{i}" for i in range(IDLE))):
        spinning_bundle.write(tmp_path / "models", name)
    weights = [f"--roundhouse.worker.models.{name}.weight={weight}" for name, weight in WEIGHTS.items()]
    setting = f"--roundhouse.worker.scheduler.discipline={discipline}"
    worker = launch(tmp_path / "models", setting, *weights).await_ready()
    speed = turns_per_second(worker)
    counts = {name: int(seconds * speed) for name, seconds in RUN_SECONDS.items()}
    with saturated(worker, counts):
        wait_until(
            lambda: all(show(worker)[name]["queueDepth"] > OUTSTANDING[name] // 2 for name in WEIGHTS),
            30,
            "queues are filled",
        )
        time.sleep(SETTLE_SECONDS)
        for _ in range(ATTEMPTS):
            fewest = dict(OUTSTANDING)
            share = share_of_heavy(worker, fewest)
            if min(fewest.values()) >= LEAST_WAITING:
                break
        models = show(worker)
    means = {name: round(models[name]["programs"][0]["meanMicros"]) for name in WEIGHTS}
    report(f"{discipline}: {share:.2%} of device time, due {DUE:.0%}; runs of {means} us; fewest waiting {fewest}")
    assert all(models[f"idle-{i}"]["runs"]["executions"] == 0 for i in range(IDLE))
    assert min(fewest.values()) >= LEAST_WAITING, "the callers kept no queue filled; the machine is too busy"
    assert share == pytest.approx(DUE, abs=TOLERANCE)
