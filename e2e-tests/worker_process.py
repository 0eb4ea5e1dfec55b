"""A real worker in a process of its own, on free ports, with its log kept for whoever must explain a failure."""

import functools
import os
import re
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import tritonclient.grpc as triton

from trained import Trained, java, shared_folder, trained
from unused_ports import unused_ports

ROOT = Path(__file__).resolve().parents[1]
SAMPLE_MODELS = ROOT / "examples" / "models"
JVM_OPTIONS = ("--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow")
START_SECONDS = 120
STOP_SECONDS = 30
DUMP_SECONDS = 30
TRAINING_SECONDS = 300


@dataclass(frozen=True)
class Ports:
    http: int
    grpc: int
    metrics: int


def free_ports() -> Ports:
    return Ports(*unused_ports(3))


def worker_jar() -> Path:
    """The jar that ``./roundhouse test`` names, else the one that Maven left."""
    if named := os.environ.get("ROUNDHOUSE_E2E_JAR"):
        return Path(named)
    found = [p for p in (ROOT / "worker-service" / "target").glob("worker-service-*.jar") if "sources" not in p.name]
    if not found:
        raise FileNotFoundError(f"no worker jar under {ROOT}/worker-service/target; run ./roundhouse test, or build it")
    return found[0]


def worker_command(jar: Path, models: Path, ports: "Ports", jvm: Sequence[str], settings: Sequence[str]) -> list[str]:
    return [
        java(),
        *JVM_OPTIONS,
        *jvm,
        "-jar",
        str(jar),
        f"--roundhouse.worker.repository.directories={models}",
        *(default for default in kept_files() if not any(s.startswith(default.split("=")[0]) for s in settings)),
        f"--server.port={ports.http}",
        f"--spring.grpc.server.port={ports.grpc}",
        f"--management.server.port={ports.metrics}",
        *settings,
    ]


@functools.cache
def trained_worker() -> Trained:
    return trained(worker_jar(), _train_worker)


def _train_worker(jar: Path, option: str, folder: Path) -> str:
    ports = free_ports()
    worker = WorkerProcess(worker_command(jar, SAMPLE_MODELS, ports, (option,), ()), ports, folder / "log")
    worker.train(worker.ports.http, "/v2/models/simple")
    return worker.log()


def wait_until(condition: Callable[[], bool], seconds: float, what: str) -> None:
    """Polls until the condition holds; AssertionError naming ``what`` when it never does."""
    deadline = time.monotonic() + seconds
    pause = 0.01
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not within {seconds} s")
        time.sleep(pause)
        pause = min(pause * 1.5, 0.25)


def memory_options(mebibytes: int) -> list[str]:
    """What ``./roundhouse up`` gives the JVM of a worker that may use so much memory."""
    parts = "; ".join(f"source {ROOT}/tools/cli/{part}.sh" for part in ("terminal", "memory"))
    script = f'{parts}; memory_options; printf "%s\\n" "${{MEMORY_OPTIONS[@]}}"'
    environment = os.environ | {"ROUNDHOUSE_MEMORY_MIB": str(mebibytes)}
    command = ["bash", "-euo", "pipefail", "-c", script]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=True).stdout.split()


COMPILE_EVERYTHING = "--roundhouse.worker.compile.cache=none"


def kept_files() -> tuple[str, ...]:
    """Settings that keep a machine's costs and programs out of tests; those of a run compile each program once."""
    executables = shared_folder() / "executables"
    return ("--roundhouse.worker.scheduler.cost-file=none", f"--roundhouse.worker.compile.cache={executables}")


class WorkerProcess:
    """Owns the process from construction to ``close``."""

    def __init__(self, command: list[str], ports: Ports, log: Path) -> None:
        self.ports = ports
        self.log_file = log
        self._out = log.open("w")
        self.process = subprocess.Popen(command, stdout=self._out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)

    @classmethod
    def launch(cls, models: Path, log: Path, *settings: str, jvm: Sequence[str] = ()) -> "WorkerProcess":
        ports = free_ports()
        worker = trained_worker()
        command = worker_command(worker.jar, models, ports, (*worker.jvm, *jvm), settings)
        return cls(command, ports, log)

    @property
    def host(self) -> str:
        return "127.0.0.1"

    @property
    def address(self) -> str:
        return f"{self.host}:{self.ports.grpc}"

    def log(self) -> str:
        return self.own_log()

    def own_log(self) -> str:
        return self.log_file.read_text(errors="replace")

    def parts(self) -> list["WorkerProcess"]:
        """This process, and those that it stands before."""
        return [self]

    def dump_threads(self, occasion: str) -> str:
        """Writes what every thread does, virtual ones too, beside the log, and says where."""
        if (code := self.process.poll()) is not None:
            return f"ended with exit code {code}"
        name = re.sub(r"\W+", "-", occasion)
        file = self.log_file.with_name(f"{self.log_file.name}-{name}-{time.monotonic_ns()}.threads")
        command = [str(Path(java()).with_name("jcmd")), str(self.process.pid), "Thread.dump_to_file", str(file)]
        try:
            subprocess.run(command, capture_output=True, text=True, timeout=DUMP_SECONDS, check=True)
        except (OSError, subprocess.SubprocessError) as error:
            return f"no thread dump: {error}"
        return f"its threads: {file}"

    def client(self) -> triton.InferenceServerClient:
        return triton.InferenceServerClient(self.address)

    def ready_line(self) -> str | None:
        return next((line for line in self.log().splitlines() if line.startswith("ready ")), None)

    def await_ready(self) -> "WorkerProcess":
        wait_until(lambda: self._alive() and self.ready_line() is not None, START_SECONDS, "the line 'ready ...'")
        return self

    def get(self, port: int, path: str) -> tuple[int, str]:
        """Returns status and body of a GET on loopback."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def train(self, port: int, path: str) -> None:
        """Uses it once and ends it: an AOT cache is written on the way out."""
        try:
            self.await_ready()
            for at, what in ((port, path), (self.ports.metrics, "/actuator/prometheus")):
                assert self.get(at, what)[0] == 200
            self.process.terminate()
            self.process.wait(TRAINING_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
        finally:
            self.close()

    def terminate(self) -> int:
        """Sends SIGTERM and returns the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(STOP_SECONDS)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self._out.close()

    def _alive(self) -> bool:
        code = self.process.poll()
        assert code is None, f"the worker ended with exit code {code}"
        return True
