"""What is attacked: a worker, or a gateway before two, with as much memory as it is told that it has."""

import re
import resource
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import summing_bundle
from node_process import NodeProcess, gateway_command, shared_out, trained_gateway
from worker_process import ROOT, SAMPLE_MODELS, WorkerProcess, free_ports, memory_options

STREAMS = [
    f"--roundhouse.{role}.stream.{setting}"
    for role in ("worker", "gateway")
    for setting in ("port=0", "address=127.0.0.1")
]
GATEWAY_MIB = 768
NODE_MIB = 192


@contextmanager
def few_files(most: int) -> Iterator[None]:
    """What is started meanwhile may have so many files open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@dataclass(frozen=True)
class Size:
    """``mebibytes`` are of the container: a node's are divided among its supervisor, its gateway and two workers."""

    kind: str
    mebibytes: int

    def __str__(self) -> str:
        return f"{self.kind} {self.mebibytes}"

    @property
    def worker_mebibytes(self) -> int:
        return (self.mebibytes - GATEWAY_MIB - NODE_MIB) // 2 if self.kind == "node" else self.mebibytes


def largest_message(mebibytes: int) -> int:
    """Bytes, as the launcher has a worker of that size take them."""
    option = next(o for o in memory_options(mebibytes) if "max-message-size" in o)
    return int(re.search(r"(\d+)MB", option)[1]) << 20


def shell_array(name: str) -> list[str]:
    script = f'source {ROOT}/tools/cli/memory.sh; printf "%s\\n" "${{{name}[@]}}"'
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout.split()


class SizedNode(NodeProcess):
    """A gateway and two workers with the memory that ``./roundhouse up --workers 2`` gives them."""

    @classmethod
    def sized(cls, size: Size, models: Path, log: Path, options: list[str], *settings: str) -> "SizedNode":
        jvm = [*memory_options(size.worker_mebibytes), *options]
        own, others = shared_out(settings)
        workers = [WorkerProcess.launch(models, log.with_name(f"{log.name}-w{n}"), *others, jvm=jvm) for n in range(2)]
        ports = free_ports()
        command = gateway_command(trained_gateway(), ports, workers, own)
        command[1:2] = [*shell_array("GATEWAY_OPTIONS"), *options]  # in the place of -Xmx
        node = cls(command, ports, log)
        node.workers = workers
        return node


class Target:
    """Owns its processes from construction to ``close``.

    ``files`` is their limit of open files, 0 for our own; ``streams`` has them take tensor streams.
    """

    def __init__(self, size: Size, folder: Path, files: int = 0, *, streams: bool = False) -> None:
        self.size, self.files, self.streams = size, files, streams
        folder.mkdir(parents=True)
        models = folder / "models"
        shutil.copytree(SAMPLE_MODELS / "simple", models / "simple")
        summing_bundle.write(models, "sums")
        self.traces = folder / "traces"
        self.traces.mkdir()
        settings = [f"--roundhouse.worker.trace.file={self.traces / 'trace.json'}"]
        if streams:
            settings += STREAMS
        log = folder / "log"
        options = ["-XX:-MaxFDLimit"] if files else []  # otherwise Java raises the limit that it is given
        with few_files(files):
            if size.kind == "node":
                self.process: WorkerProcess = SizedNode.sized(size, models, log, options, *settings)
            else:
                jvm = [*memory_options(size.mebibytes), *options]
                self.process = WorkerProcess.launch(models, log, *shared_out(settings)[1], jvm=jvm)
        self.largest = largest_message(size.worker_mebibytes)

    def await_ready(self) -> "Target":
        self.process.await_ready()
        return self

    @property
    def stream_port(self) -> int:
        """0 for none."""
        found = re.search(r" stream=(\d+)", self.process.ready_line() or "")
        return int(found[1]) if found else 0

    @property
    def parts(self) -> dict[str, WorkerProcess]:
        """By name, the one that clients know first."""
        names = ("gateway", "w0", "w1") if self.size.kind == "node" else ("worker",)
        return dict(zip(names, self.process.parts(), strict=True))

    def limit_bytes(self, name: str) -> int:
        return (GATEWAY_MIB if name == "gateway" else self.size.worker_mebibytes) << 20

    def exit_codes(self) -> dict[str, int]:
        """Of processes that have ended."""
        codes = {name: part.process.poll() for name, part in self.parts.items()}
        return {name: code for name, code in codes.items() if code is not None}

    def close(self) -> None:
        self.process.close()


def begin_peak(part: WorkerProcess) -> None:
    """Has the peak of its memory counted from now on."""
    Path(f"/proc/{part.process.pid}/clear_refs").write_text("5")


def memory_bytes(part: WorkerProcess, which: str) -> int:
    """VmRSS, or VmHWM for its peak; 0 of a process that has ended."""
    try:
        found = re.search(rf"{which}:\s+(\d+) kB", Path(f"/proc/{part.process.pid}/status").read_text())
    except FileNotFoundError:
        return 0
    return int(found[1]) << 10 if found else 0


def held_bytes(part: WorkerProcess) -> int | None:
    """What it says that peers make it keep; None where it says nothing."""
    try:
        page = part.get(part.ports.metrics, "/metrics?workers=false")[1]
    except OSError:
        return None
    kinds = re.findall(r'^roundhouse_peer_memory_bytes\{[^}]*kind="[^"]*"[^}]*\} (\S+)$', page, re.MULTILINE)
    kinds = kinds or re.findall(r"^(?:roundhouse|gateway)_memory_held_bytes (\S+)$", page, re.MULTILINE)
    return int(sum(map(float, kinds))) if kinds else None
