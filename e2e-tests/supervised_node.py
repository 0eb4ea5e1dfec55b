"""``./roundhouse up --workers 2``: a supervisor with workers and a gateway before them."""

import json
import os
import signal
import subprocess
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path

from unused_ports import unused_run
from worker_process import ROOT, START_SECONDS, free_ports, kept_files, wait_until

SCRIPT = ROOT / "roundhouse"
PORTS_OF_WORKERS = 6  # three for each of two
# For workers and gateways that end before C2 has paid for itself.
QUICK = tuple(
    part
    for process in ("worker", "gateway")
    for part in ("--set", f"roundhouse.node.{process}.jvm-options=-XX:TieredStopAtLevel=1")
)


def children_of(pid: int) -> set[int]:
    """Of all its threads."""
    files = Path(f"/proc/{pid}/task").glob("*/children")
    return {int(child) for file in files for child in file.read_text().split()}


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


class Node:
    """Owns the supervisor; whatever it started is gone after ``close``. Variables reach all its processes."""

    def __init__(self, models: Path, log: Path, *arguments: str, before: Sequence[str] = (), **variables: str) -> None:
        """``before``: what the command stands behind."""
        first, second = free_ports(), free_ports()
        self.port = second.http
        self.gateway = f"127.0.0.1:{first.grpc}"
        self.http = first.http
        self.metrics = first.metrics
        self.log_file = log
        ports = [first.http, first.grpc, first.metrics, self.port]
        flags = ["--http-port", "--grpc-port", "--metrics-port", "--node-port"]
        kept = [setting.removeprefix("--") for setting in kept_files()]
        settings = [setting for setting in kept if not any(a.startswith(setting.split("=")[0]) for a in arguments)]
        settings.append(f"roundhouse.node.ports.worker-base={unused_run(PORTS_OF_WORKERS)}")
        command = [SCRIPT, "up", "--workers", "2", "--models", models]
        for flag, port in zip(flags, ports, strict=True):
            command += [flag, port]
        for setting in settings:
            command += ["--set", setting]
        with log.open("w") as out:
            whole = [*before, *map(str, command), *arguments]
            self.process = subprocess.Popen(whole, stdout=out, stderr=out, env=os.environ | variables)
        self.started: set[int] = set()

    def log(self) -> str:
        return self.log_file.read_text(errors="replace")

    def status(self) -> dict:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/actuator/node", timeout=10) as response:
            return json.load(response)

    def worker(self, index: int) -> dict:
        found = self.status()["processes"][index]
        if found["pid"]:
            self.started.add(found["pid"])
        return found

    def gateway_sees(self, worker: str) -> bool:
        """Whether it sends requests there."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics}/metrics?workers=false", timeout=10) as response:
            return f'gateway_worker_ready{{worker="{worker}"}} 1.0' in response.read().decode()

    def await_ready(self) -> "Node":
        self.await_log(lambda log: "\nready " in log, "the line 'ready ...'")
        self.await_workers()
        return self

    def await_log(self, condition: Callable[[str], bool], what: str) -> None:
        try:
            wait_until(lambda: self.alive() and condition(self.log()), START_SECONDS, what)
        except AssertionError as late:
            late.add_note(self.log())
            raise

    def await_workers(self) -> None:
        wait_until(lambda: all(self.worker(i)["ready"] for i in range(2)), START_SECONDS, "both workers ready")

    def alive(self) -> bool:
        assert self.process.poll() is None, self.log()
        return True

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for pid in self.started:
            if is_running(pid):
                os.kill(pid, signal.SIGKILL)
