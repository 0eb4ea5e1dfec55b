"""Clients that read nothing and clients that send a byte a second hold up nobody, and are not held for ever.

100 of each by default; ``ROUNDHOUSE_SLOW_PEERS=1000`` has a thousand slow readers and a thousand slow senders at either
port.
"""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import tritonclient.grpc as triton

import damaged_bundles
import slow_peers
import widening_bundle
from calls import arrays, infer, simple_inputs
from conftest import Launch, Report
from worker_process import WorkerProcess, memory_options, wait_until

pytestmark = pytest.mark.alone

PEERS = int(os.environ.get("ROUNDHOUSE_SLOW_PEERS", "100"))
# As `./roundhouse up` divides it, so that what all of the peers hold fits the budget and no more than that.
MEBIBYTES = 2048 if PEERS <= 200 else 8192
CALLS = 500 if PEERS <= 200 else 2000
CALL_SECONDS = 30
END_SECONDS = 120
LONG = (
    "--roundhouse.worker.server.stalled-message-timeout=10m",
    "--roundhouse.worker.server.unread-answer-timeout=10m",
    "--roundhouse.worker.server.http.connection-timeout=10m",
)
SHORT = (
    "--roundhouse.worker.server.stalled-message-timeout=2s",
    "--roundhouse.worker.server.unread-answer-timeout=2s",
    "--roundhouse.worker.server.http.connection-timeout=2s",
)
FEW = 20


class Peers:
    """Slow peers in a process of their own, which measures nothing and is not measured."""

    def __init__(self, worker: WorkerProcess, count: int, *options: str) -> None:
        command = [sys.executable, slow_peers.__file__, str(worker.ports.grpc), str(worker.ports.http), str(count)]
        self.process = subprocess.Popen(
            [*command, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self.counts: dict[str, int] = self._line()

    def _line(self) -> dict:
        line = self.process.stdout.readline()
        assert line, f"the peers ended with exit code {self.process.wait()}"
        return json.loads(line)

    def ended(self) -> dict[str, dict[str, int]]:
        """How peers of each kind were ended so far."""
        self.process.stdin.write("\n")
        return self._line()

    def of(self, http: bool) -> int:
        return sum(self.counts[kind.name] for kind in slow_peers.kinds() if kind.http == http)

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait(30)
        self.process.stdout.close()


@contextmanager
def hanging(worker: WorkerProcess, count: int, *options: str) -> Iterator[Peers]:
    peers = Peers(worker, count, *options)
    try:
        yield peers
    finally:
        peers.close()


def gauges(worker: WorkerProcess) -> dict[str, int]:
    """What the worker says that it holds."""
    _, page = worker.get(worker.ports.metrics, "/metrics")
    names = (
        "memory_held_bytes",
        "grpc_receiving_bytes",
        "grpc_connections_open",
        "grpc_calls_open",
        "grpc_stalled_total",
    )
    found = {}
    for name in names:
        value = re.search(rf"^roundhouse_{name} (\S+)$", page, re.MULTILINE)
        assert value, page
        found[name] = int(float(value[1]))
    return found


def resident_bytes(worker: WorkerProcess, which: str) -> int:
    status = Path(f"/proc/{worker.process.pid}/status").read_text()
    return int(re.search(rf"{which}:\s+(\d+) kB", status)[1]) << 10


def p99_seconds(client: triton.InferenceServerClient) -> float:
    """Of calls one after the other, each of which is answered, and rightly."""
    inputs = simple_inputs()
    taken = []
    for _ in range(CALLS):
        began = time.perf_counter()
        answer = infer(client, "simple", inputs, client_timeout=CALL_SECONDS)
        taken.append(time.perf_counter() - began)
        np.testing.assert_array_equal(arrays(answer)["OUTPUT0"], inputs["INPUT0"] + inputs["INPUT1"])
    return float(np.percentile(taken, 99))


def write_models(repository: Path) -> Path:
    widening_bundle.write(repository, "wide")
    damaged_bundles.copy_sample("simple", repository)
    return repository


def test_should_serve_others_while_peers_are_slow(tmp_path: Path, launch: Launch, report: Report) -> None:
    worker = launch(write_models(tmp_path / "models"), *LONG, jvm=memory_options(MEBIBYTES)).await_ready()
    answer, large = map(widening_bundle.answer_bytes, (slow_peers.ROWS, slow_peers.LARGE_ROWS))
    with worker.client() as client:
        p99_seconds(client)
        before = p99_seconds(client)
        idle = resident_bytes(worker, "VmRSS")
        with hanging(worker, PEERS, "--again") as peers:
            counts = peers.counts
            stuck = counts["closed window"] * answer
            stuck += (counts["large unread socket"] + counts["large unread HTTP answer"]) * large
            # Those that the buffers of the sockets may have taken whole.
            buffered = (counts["unread socket"] + counts["unread HTTP answer"]) * answer
            arriving = counts["slow large message"] * slow_peers.LARGE_FIRST
            arriving += counts["slow message"] * (len(slow_peers.simple_request()) - slow_peers.PREFIX_BYTES)
            least = stuck + arriving
            wait_until(lambda: gauges(worker)["memory_held_bytes"] >= least, END_SECONDS, "answers are held")
            wait_until(lambda: gauges(worker)["grpc_receiving_bytes"] >= arriving, END_SECONDS, "messages are begun")
            during = p99_seconds(client)
            held = gauges(worker)
            peak = resident_bytes(worker, "VmHWM")
            grown = resident_bytes(worker, "VmRSS") - idle
            report(
                f"{peers.of(http=False)} slow peers at gRPC, {peers.of(http=True)} at HTTP: p99 {before * 1e3:.2f} ms "
                f"without, {during * 1e3:.2f} ms with, ratio {during / before:.2f}; RSS {idle >> 20} to "
                f"{(idle + grown) >> 20} MiB, peak {peak >> 20} of {MEBIBYTES}; {held}"
            )
            bodies = counts["slow HTTP body"] * 4096 + counts["slow large HTTP body"] * (64 << 10)
            assert least <= held["memory_held_bytes"] <= stuck + buffered + arriving + bodies
            assert held["grpc_receiving_bytes"] == arriving
            assert held["grpc_connections_open"] <= peers.of(http=False) + 1
            with_calls = ("closed window", "large unread socket", "slow message", "slow large message", "idle stream")
            calls = sum(counts[name] for name in with_calls)
            assert calls <= held["grpc_calls_open"] <= calls + counts["unread socket"]
            assert peak < MEBIBYTES << 20
        gone = {"memory_held_bytes": 0, "grpc_receiving_bytes": 0, "grpc_connections_open": 1, "grpc_calls_open": 0}
        wait_until(lambda: gone.items() <= gauges(worker).items(), END_SECONDS, "nothing is held")
        report(f"p99 {p99_seconds(client) * 1e3:.2f} ms after they have gone")
    assert not [line for line in worker.log().splitlines() if "ERROR" in line or "OutOfMemory" in line]


def test_should_end_what_stops_and_leave_what_is_idle(tmp_path: Path, launch: Launch) -> None:
    worker = launch(write_models(tmp_path / "models"), *SHORT).await_ready()
    with hanging(worker, FEW) as peers:
        counts = peers.counts
        ends = {
            "closed window": {"reset 11": counts["closed window"]},
            "large unread socket": {"closed": counts["large unread socket"]},
            "slow message": {"status": counts["slow message"]},
            "slow large message": {"status": counts["slow large message"]},
            "slow headers": {"closed": counts["slow headers"]},
            "silent": {"closed": counts["silent"]},
            "idle stream": {},
            "slow HTTP body": {"504": counts["slow HTTP body"]},
            "slow large HTTP body": {"504": counts["slow large HTTP body"]},
            "slow HTTP head": {"closed": counts["slow HTTP head"]},
            "silent HTTP": {"closed": counts["silent HTTP"]},
        }
        wait_until(lambda: ends.items() <= peers.ended().items(), END_SECONDS, "all that stop are ended")
        idle = {
            "memory_held_bytes": 0,
            "grpc_receiving_bytes": 0,
            "grpc_calls_open": counts["idle stream"],
        }
        wait_until(lambda: idle.items() <= gauges(worker).items(), END_SECONDS, "idle streams only are left")
        with worker.client() as client:
            assert infer(client, "simple", simple_inputs(), client_timeout=CALL_SECONDS)
    assert not [line for line in worker.log().splitlines() if "ERROR" in line or "OutOfMemory" in line]
