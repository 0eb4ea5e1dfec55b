"""What is counted for each thing that a client makes a worker keep is what that thing takes: the live heap and the
memory outside of it grow by no more than that, nor by much less.

RSS cannot tell: the heap keeps what the collector leaves for later. So garbage is collected before each look.
"""

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from attack.peers import Http2, call_fields, connect, framed
from attack.target import held_bytes
from trained import java
from worker_process import SAMPLE_MODELS, WorkerProcess, memory_options, wait_until

pytestmark = pytest.mark.alone

INFER = "/inference.GRPCInferenceService/ModelInfer"
STREAM = "/inference.GRPCInferenceService/ModelStreamInfer"
MEBIBYTES = 1024
# What classes, code and threads take that the first clients have loaded, made and started.
SLACK_BYTES = 3 << 20


@dataclass(frozen=True)
class Holding:
    """``least`` is the part of what is counted that must really be there: counting too much refuses too early.

    A connection is counted with what it takes while it sends; and buffers come from pools that the first try has grown.
    """

    what: str
    hold: Callable[[WorkerProcess], list[object]]
    least: float


def connections(worker: WorkerProcess) -> list[object]:
    return [Http2(worker.ports.grpc, "127.0.0.9") for _ in range(500)]


def calls(worker: WorkerProcess) -> list[object]:
    held = [Http2(worker.ports.grpc, f"127.0.0.{10 + number}") for number in range(6)]
    for each in held:
        for number in range(700):
            each.open(call_fields(INFER), once=[("x", f"{number:04d}" + "m" * 1000)])
    return held


def streams(worker: WorkerProcess) -> list[object]:
    held = [Http2(worker.ports.grpc, f"127.0.0.{10 + number}") for number in range(6)]
    for each in held:
        for _ in range(1000):
            each.open(call_fields(STREAM))
    return held


def messages(worker: WorkerProcess) -> list[object]:
    held = [Http2(worker.ports.grpc, f"127.0.0.{10 + number}") for number in range(4)]
    part = framed(bytes(2 << 20))[: 1 << 20]
    for each in held:
        for _ in range(8):
            each.write(each.open(call_fields(INFER)), part)
    return held


def heads(worker: WorkerProcess) -> list[object]:
    """Over HTTP, whose last line does not come."""
    held = [connect(worker.ports.http, "127.0.0.9") for _ in range(500)]
    for each in held:
        each.sendall(b"GET /v2 HTTP/1.1\r\nx: " + b"m" * 3000)
    return held


HOLDINGS = [
    Holding("500 connections over gRPC", connections, 0.3),
    Holding("4,200 calls with 1 KiB of metadata", calls, 0.3),
    Holding("6,000 streams", streams, 0.3),
    Holding("32 messages of which 1 MiB has come", messages, 0.8),
    Holding("500 heads over HTTP of which 3 KiB have come", heads, 0.1),
]


CHOSEN = HOLDINGS if os.environ.get("ROUNDHOUSE_E2E_ATTACK") == "full" else HOLDINGS[-2:]


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    log = tmp_path_factory.mktemp("counted") / "log"
    jvm = [*memory_options(MEBIBYTES), "-XX:NativeMemoryTracking=summary"]
    with_samples = WorkerProcess.launch(SAMPLE_MODELS, log, jvm=jvm)
    try:
        with_samples.await_ready()
        yield with_samples
    finally:
        with_samples.close()


def live_bytes(worker: WorkerProcess) -> int:
    """Of the heap without garbage, and what Java code has allocated outside of it."""
    jcmd(worker, "GC.run")
    heap = re.search(r"used (\d+)K", jcmd(worker, "GC.heap_info"))
    outside = re.search(r"Other \(reserved=\d+KB, committed=(\d+)KB", jcmd(worker, "VM.native_memory", "summary"))
    assert heap
    assert outside
    return int(heap[1]) + int(outside[1]) << 10


def jcmd(worker: WorkerProcess, *command: str) -> str:
    program = Path(java()).with_name("jcmd")
    return subprocess.run(
        [program, str(worker.process.pid), *command], capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.parametrize("holding", CHOSEN, ids=lambda holding: holding.what)
def test_should_count_what_is_kept(holding: Holding, worker: WorkerProcess) -> None:
    for opened in holding.hold(worker):  # what the first of a kind loads and grows is nobody's
        opened.close()
    counted_before = settled(worker)
    live_before = live_bytes(worker)
    held = holding.hold(worker)
    try:
        counted = settled(worker) - counted_before
        live = live_bytes(worker) - live_before
    finally:
        for each in held:
            each.close()
    print(f"\n{holding.what}: {counted / 1024:.0f} KiB counted, {live / 1024:.0f} KiB kept, {live / counted:.2f}")
    assert live <= counted + SLACK_BYTES
    assert live >= holding.least * counted
    wait_until(lambda: (held_bytes(worker) or 0) <= counted_before + (1 << 20), 20, "what was held is given back")


def settled(worker: WorkerProcess) -> int:
    """Counted, once it changes no more."""
    seen = [-1]

    def same() -> bool:
        seen.append(held_bytes(worker) or 0)
        return seen[-1] == seen[-2]

    wait_until(same, 20, "what is counted stays the same")
    return seen[-1]
