"""More models than fit on the device: whose weights are there, on the CPU plugin that copies them first."""

import json
import random
import re
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path

import grpc
import numpy as np
import pytest

import scaling_bundle
from calls import arrays, infer
from conftest import Launch, Report
from worker_process import WorkerProcess, wait_until

pytestmark = pytest.mark.alone

MODELS = 200
FIT = 10
WEIGHT_BYTES = 256 << 10
CALLERS = 8
CALLS = 500
MEMORY = (FIT * WEIGHT_BYTES >> 10) + 16  # KiB; a little for inputs and outputs
TEN_FIT = (
    "--roundhouse.worker.device.cpu.weights=copy",
    f"--roundhouse.worker.residency.device-memory={MEMORY}KB",
    "--roundhouse.worker.residency.wiggle=0",
)
PINNED_DEVICE = 3
SHARED_MEMORY = Path("/dev/shm")


def name(index: int) -> str:
    return f"scale-{index:03}"


def write_models(repository: Path, count: int) -> None:
    for index in range(count):
        scaling_bundle.write(repository, name(index), index + 1, WEIGHT_BYTES)


def residency(worker: WorkerProcess) -> dict:
    status, body = worker.get(worker.ports.metrics, "/actuator/residency")
    assert status == 200, body
    return json.loads(body)


def call_by_popularity(worker: WorkerProcess, seed: int) -> list[float]:
    """Calls models by Zipf's law with exponent 1.1, checks every answer, returns the seconds each took."""
    draw = random.Random(seed)
    weights = [1 / (rank + 1) ** 1.1 for rank in range(MODELS)]
    seconds = []
    with worker.client() as client:
        for index in draw.choices(range(MODELS), weights, k=CALLS):
            inputs = scaling_bundle.numbers(draw.randrange(1000))
            began = time.perf_counter()
            answer = arrays(infer(client, name(index), inputs))["y"]
            seconds.append(time.perf_counter() - began)
            np.testing.assert_array_equal(answer, inputs["x"] * (index + 1))
    return seconds


def pin(worker: WorkerProcess, model: str) -> None:
    """SetModelResidency, whose message is a name and a number."""
    message = b"\x0a" + bytes([len(model)]) + model.encode() + b"\x10" + bytes([PINNED_DEVICE])
    with grpc.insecure_channel(worker.address) as channel:
        call = channel.unary_unary("/reactant_control.ControlService/SetModelResidency")
        assert call(message, timeout=30) == b"\x08" + bytes([PINNED_DEVICE])


def test_should_answer_two_hundred_models_when_ten_fit(tmp_path: Path, launch: Launch, report: Report) -> None:
    write_models(tmp_path / "models", MODELS)
    worker = launch(tmp_path / "models", *TEN_FIT).await_ready()
    pin(worker, name(MODELS - 1))
    before = residency(worker)
    assert before["totals"]["models"] == MODELS

    with ThreadPoolExecutor(CALLERS) as pool:
        seconds = sorted(chain.from_iterable(pool.map(lambda seed: call_by_popularity(worker, seed), range(CALLERS))))

    after = residency(worker)
    models = {model["name"]: model for model in after["models"]}
    pinned = models[name(MODELS - 1)]
    assert (pinned["state"], pinned["pinned"]) == ("resident", True)
    assert pinned["evictions"] == before["models"][MODELS - 1]["evictions"]
    assert after["device"]["residentBytes"] <= after["device"]["weightBudgetBytes"]
    assert after["totals"]["resident"] <= FIT
    loads = after["totals"]["loads"] - before["totals"]["loads"]
    evictions = after["totals"]["evictions"] - before["totals"]["evictions"]
    assert loads > MODELS / 4
    assert abs(loads - evictions) <= FIT
    assert models[name(0)]["loads"] < loads / 4, "the most popular model is not thrown out by rare ones"
    _, metrics = worker.get(worker.ports.metrics, "/metrics")
    counted = sum(float(n) for n in re.findall(r"^roundhouse_weights_loads_total\{.*\} (\S+)", metrics, re.MULTILINE))
    assert counted == after["totals"]["loads"]
    calls = len(seconds)
    report(
        f"{calls} calls of {MODELS} models, {FIT} fit: {loads} loads, {1 - loads / calls:.0%} found their weights;"
        f" median {seconds[calls // 2] * 1e3:.1f} ms, p99 {seconds[calls * 99 // 100] * 1e3:.1f} ms"
    )


def test_should_start_again_without_a_compile_and_without_leaks_when_killed_while_it_loads(
    tmp_path: Path, launch: Launch, report: Report
) -> None:
    count = 60
    write_models(tmp_path / "models", count)
    regions = set(SHARED_MEMORY.iterdir())
    settings = (
        *TEN_FIT,
        f"--roundhouse.worker.compile.cache={tmp_path / 'executables'}",
        "--roundhouse.worker.residency.host.shared=true",
        "--roundhouse.worker.compile.isolation=in-process",
    )
    worker = launch(tmp_path / "models", *settings)
    wait_until(lambda: worker.log().count("is ready after") >= count // 3, 60, "a third of the models")
    worker.process.kill()
    worker.process.wait()

    first = launch(tmp_path / "models", *settings).await_ready()
    assert first.terminate() == 143
    began = time.monotonic()
    worker = launch(tmp_path / "models", *settings).await_ready()
    took = time.monotonic() - began
    _, metrics = worker.get(worker.ports.metrics, "/metrics")
    assert float(re.search(r"^roundhouse_programs_compiled_total (\S+)", metrics, re.MULTILINE).group(1)) == 0
    with worker.client() as client:
        inputs = scaling_bundle.numbers(7)
        answer = arrays(infer(client, name(count - 1), inputs))["y"]
        np.testing.assert_array_equal(answer, inputs["x"] * count)
    assert worker.terminate() == 143
    assert set(SHARED_MEMORY.iterdir()) - regions == set()
    report(f"{count} models ready {took:.1f} s after a start that compiles nothing")
