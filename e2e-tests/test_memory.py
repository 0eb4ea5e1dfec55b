"""A worker's memory is counted before it is spent: small requests for large answers cannot take it down."""

import json
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path

import grpc
import numpy as np
import pytest
from tritonclient.grpc.service_pb2_grpc import GRPCInferenceServiceStub

import damaged_bundles
import widening_bundle
from calls import request, simple_inputs
from conftest import Launch, Report
from worker_process import WorkerProcess, memory_options, wait_until

pytestmark = pytest.mark.alone

MEBIBYTES = 2048
ATTACKERS = 8
ATTACK_ROWS = 9_000
FITTING_CALLERS = 3
FITTING_ROWS = 250
SECONDS = 4
# Each caller is a client of its own: by default the clients of one process share a connection, and its limits.
OPTIONS = [("grpc.max_receive_message_length", -1), ("grpc.use_local_subchannel_pool", 1)]
NUMBERS = re.compile(r"needs (\d+) \((\d+) of inputs, (\d+) of its answer\), more than the limit of (\d+) bytes")


def peak_mebibytes(worker: WorkerProcess) -> float:
    status = Path(f"/proc/{worker.process.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1024


def held_bytes(worker: WorkerProcess) -> int:
    status, body = worker.get(worker.ports.metrics, "/actuator/scheduler")
    assert status == 200, body
    return json.loads(body)["queued"]["bytes"]


def refused(stub: GRPCInferenceServiceStub, message: object) -> grpc.RpcError:
    with pytest.raises(grpc.RpcError) as refusal:
        stub.ModelInfer(message, timeout=60)
    return refusal.value


class Callers:
    """Threads that each repeat one thing, and what they found wrong."""

    def __init__(self, worker: WorkerProcess) -> None:
        self.worker = worker
        self.over = threading.Event()
        self.wrong: list[str] = []
        self.threads: list[threading.Thread] = []
        self.ended: dict[str, int] = {}
        self.slowest: dict[str, float] = {}

    def start(self, name: str, count: int, call: Callable[[GRPCInferenceServiceStub], None]) -> None:
        self.ended[name] = 0
        self.slowest[name] = 0
        for _ in range(count):
            thread = threading.Thread(target=self._repeat, args=(name, call), daemon=True)
            self.threads.append(thread)
            thread.start()

    def _repeat(self, name: str, call: Callable[[GRPCInferenceServiceStub], None]) -> None:
        with grpc.insecure_channel(self.worker.address, OPTIONS) as channel:
            stub = GRPCInferenceServiceStub(channel)
            while not self.over.is_set():
                began = time.monotonic()
                try:
                    call(stub)
                except Exception as problem:
                    self.wrong.append(f"{name}: {problem!r}")
                    return
                self.ended[name] += 1
                self.slowest[name] = max(self.slowest[name], time.monotonic() - began)

    def stop(self) -> None:
        self.over.set()
        for thread in self.threads:
            thread.join(120)
        assert not any(thread.is_alive() for thread in self.threads), "a call never ended"


def attack(stub: GRPCInferenceServiceStub) -> None:
    refusal = refused(stub, request("wide", widening_bundle.numbers(ATTACK_ROWS)))
    assert refusal.code() == grpc.StatusCode.RESOURCE_EXHAUSTED, refusal
    needed, inputs, answer, limit = map(int, NUMBERS.search(refusal.details()).groups())
    assert (inputs, answer) == (ATTACK_ROWS * 4, widening_bundle.answer_bytes(ATTACK_ROWS))
    assert needed == inputs + answer > limit


def call_that_fits(stub: GRPCInferenceServiceStub) -> None:
    numbers = widening_bundle.numbers(FITTING_ROWS)
    answer = stub.ModelInfer(request("wide", numbers), timeout=60)
    rows = np.frombuffer(answer.raw_output_contents[0], np.float32).reshape(FITTING_ROWS, -1)
    assert rows.shape[1] == widening_bundle.WIDTH
    assert (rows == numbers["number"]).all()


def control(stub: GRPCInferenceServiceStub) -> None:
    inputs = simple_inputs(rows=2)
    answer = stub.ModelInfer(request("simple", inputs), timeout=30)
    assert answer.raw_output_contents[0] == (inputs["INPUT0"] + inputs["INPUT1"]).tobytes()


def test_should_serve_on_within_its_memory_when_small_requests_ask_for_answers_of_gigabytes(
    tmp_path: Path, launch: Launch, report: Report
) -> None:
    repository = tmp_path / "models"
    widening_bundle.write(repository, "wide")
    damaged_bundles.copy_sample("simple", repository)
    worker = launch(repository, jvm=memory_options(MEBIBYTES)).await_ready()
    idle = peak_mebibytes(worker)
    callers = Callers(worker)
    callers.start("attack", ATTACKERS, attack)
    callers.start("call that fits", FITTING_CALLERS, call_that_fits)
    callers.start("control", 1, control)
    began = time.monotonic()
    try:
        wait_until(
            lambda: callers.wrong or (time.monotonic() - began > SECONDS and min(callers.ended.values()) > 3),
            60,
            "calls of all kinds end",
        )
    finally:
        callers.stop()
    peak = peak_mebibytes(worker)
    slowest = {name: round(seconds, 3) for name, seconds in callers.slowest.items()}
    report(f"peak RSS {peak:.0f} MiB of {MEBIBYTES}, {idle:.0f} before; calls {callers.ended}, slowest {slowest}")
    assert callers.wrong == []
    assert peak < MEBIBYTES
    wait_until(lambda: held_bytes(worker) == 0, 10, "no bytes are held")
    assert not [line for line in worker.log().splitlines() if "ERROR" in line or "OutOfMemory" in line]


def test_should_name_what_a_message_holds_when_an_answer_would_be_larger(tmp_path: Path, launch: Launch) -> None:
    widening_bundle.write(tmp_path / "models", "wide")
    worker = launch(tmp_path / "models", "--roundhouse.worker.scheduler.max-queued-bytes=16GB").await_ready()
    with grpc.insecure_channel(worker.address) as channel:
        refusal = refused(GRPCInferenceServiceStub(channel), request("wide", widening_bundle.numbers(20_000)))
    assert refusal.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert f"would have {widening_bundle.answer_bytes(20_000)} bytes and a message holds " in refusal.details()
