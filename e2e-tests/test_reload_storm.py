"""Every bundle of a repository changes each second, while callers go on and a third of the models fit on the device."""

import re
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

import scaling_bundle
from calls import arrays, infer
from conftest import Launch, Report
from worker_process import WorkerProcess, wait_until

pytestmark = pytest.mark.alone

MODELS = 30
FIT = 10
WEIGHT_BYTES = 256 << 10
CALLERS = 4
STEADY_SECONDS = 5
STORM_SECONDS = 15
GENERATION = 1000  # a model's factor is its number, and a thousand more for each change


def name(index: int) -> str:
    return f"scale-{index:02}"


def write(repository: Path, generation: int) -> None:
    """Puts every bundle in the place of the one before, as a careful operator does: by renames."""
    for index in range(MODELS):
        new = scaling_bundle.write(repository, f".{name(index)}", index + 1 + generation * GENERATION, WEIGHT_BYTES)
        folder = repository / name(index)
        before = repository / f".{name(index)}-before"
        if folder.exists():
            folder.rename(before)
        new.rename(folder)
        shutil.rmtree(before, ignore_errors=True)


def call(worker: WorkerProcess, first: int, over: threading.Event) -> list[float]:
    """Calls one model after the other; each answer is one that its model has given or will. The seconds each took."""
    seconds = []
    with worker.client() as client:
        index = first
        while not over.is_set():
            index = (index + 7) % MODELS
            began = time.perf_counter()
            answer = arrays(infer(client, name(index), scaling_bundle.numbers(1)))["y"]
            seconds.append(time.perf_counter() - began)
            factor = answer[0, 0]
            np.testing.assert_array_equal(answer[0], factor * np.arange(1, 5))
            assert factor % GENERATION == index + 1
    return seconds


def called_for(worker: WorkerProcess, seconds: float, meanwhile: threading.Thread | None = None) -> list[float]:
    over = threading.Event()
    with ThreadPoolExecutor(CALLERS) as pool:
        calls = [pool.submit(call, worker, first, over) for first in range(CALLERS)]
        try:
            if meanwhile:
                meanwhile.start()
                meanwhile.join()
            else:
                time.sleep(seconds)
        finally:
            over.set()
        return sorted(chain.from_iterable(each.result() for each in calls))


def p99(seconds: list[float]) -> float:
    return seconds[len(seconds) * 99 // 100]


def test_should_answer_every_call_while_every_bundle_changes_each_second(
    tmp_path: Path, launch: Launch, report: Report
) -> None:
    repository = tmp_path / "models"
    repository.mkdir()
    write(repository, 0)
    worker = launch(
        repository,
        "--roundhouse.worker.device.cpu.weights=copy",
        f"--roundhouse.worker.residency.device-memory={(FIT * WEIGHT_BYTES >> 10) + 16}KB",
        "--roundhouse.worker.residency.wiggle=0",
        "--roundhouse.worker.repository.poll-interval=200ms",
        f"--roundhouse.worker.compile.cache={tmp_path / 'executables'}",
    ).await_ready()

    def storm() -> None:
        for generation in range(1, STORM_SECONDS + 1):
            began = time.monotonic()
            write(repository, generation)
            time.sleep(max(0, began + 1 - time.monotonic()))

    steady = called_for(worker, STEADY_SECONDS)
    during = called_for(worker, STORM_SECONDS, threading.Thread(target=storm))

    last = STORM_SECONDS * GENERATION
    with worker.client() as client:

        def serves_the_last(index: int) -> bool:
            answer = arrays(infer(client, name(index), scaling_bundle.numbers(1)))["y"]
            return answer[0, 0] == index + 1 + last

        wait_until(lambda: all(map(serves_the_last, range(MODELS))), 60, "the last of every bundle")
    _, metrics = worker.get(worker.ports.metrics, "/metrics")
    compiled = float(re.search(r"^roundhouse_programs_compiled_total (\S+)", metrics, re.MULTILINE).group(1))
    assert compiled <= MODELS, "a program that has not changed is not compiled again"
    loads = worker.log().count("is ready after") - MODELS
    assert worker.terminate() == 143
    report(
        f"{MODELS} bundles changed each second for {STORM_SECONDS} s, {FIT} fit: {loads} models loaded, no call failed;"
        f" calls {len(steady) / STEADY_SECONDS:.0f} and {len(during) / STORM_SECONDS:.0f} a second,"
        f" p99 {p99(steady) * 1e3:.1f} and {p99(during) * 1e3:.1f} ms"
    )
