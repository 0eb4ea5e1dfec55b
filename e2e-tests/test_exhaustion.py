"""A worker whose disk or shared memory is full, or whose repository cannot be read, says so, serves on, and recovers.

It has file systems of its own, small ones, and may only read its repository, which is mounted so.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import adding_bundle
import scaling_bundle
from calls import arrays, infer, simple_inputs
from conftest import Report, logs_shown
from faults import full, now
from worker_process import SAMPLE_MODELS, Ports, WorkerProcess, free_ports, trained_worker, wait_until, worker_command

pytestmark = pytest.mark.alone

MOUNT = """
mount -t tmpfs -o size=1m tmpfs /dev/shm
mount -t tmpfs -o size=1m tmpfs "$1"
mount --bind "$2" "$2"
mount -o remount,ro,bind "$2"
shift 2
exec setpriv --bounding-set=-dac_override,-dac_read_search "$@"
"""
TOOLS = ("unshare", "mount", "setpriv")
WEIGHT_BYTES = 128 << 10


def why_not() -> str:
    if os.geteuid() != 0:
        return "file systems are mounted by root only"
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if missing:
        return f"needs {', '.join(missing)}"
    probe = subprocess.run(["unshare", "--mount", "true"], capture_output=True, text=True, timeout=30)
    return "" if probe.returncode == 0 else f"no file system can be mounted: {probe.stderr.strip()}"


class Confined(WorkerProcess):
    """Sees small file systems at ``/dev/shm`` and ``disk``."""

    def __init__(self, folder: Path) -> None:
        self.models, self.disk = folder / "models", folder / "disk"
        shutil.copytree(SAMPLE_MODELS / "simple", self.models / "simple")
        self.disk.mkdir()
        ports: Ports = free_ports()
        worker = trained_worker()
        settings = (
            "--roundhouse.worker.repository.poll-interval=200ms",
            "--roundhouse.worker.residency.host.shared=true",
            f"--roundhouse.worker.compile.cache={self.disk}/executables",
            f"--roundhouse.worker.scheduler.cost-file={self.disk}/costs.json",
            f"--roundhouse.worker.trace.file={self.disk}/trace.json",
            "--roundhouse.worker.trace.level=timestamps",
            "--roundhouse.worker.trace.rate=1",
            "--roundhouse.worker.trace.log-frequency=1",
        )
        mounting = ["unshare", "--mount", "--propagation=private", "sh", "-euc", MOUNT, "sh"]
        command = [
            *mounting,
            str(self.disk),
            str(self.models),
            *worker_command(worker.jar, self.models, ports, worker.jvm, settings),
        ]
        super().__init__(command, ports, folder / "log")

    def seen(self, path: Path) -> Path:
        """A path as the worker sees it, for this process."""
        return Path(f"/proc/{self.process.pid}/root{path}")

    def metric(self, name: str) -> float:
        page = self.get(self.ports.metrics, "/metrics?workers=false")[1]
        return sum(float(value) for value in re.findall(rf"^{name} (\S+)$", page, re.MULTILINE))

    def await_model(self, name: str) -> None:
        wait_until(lambda: self.get(self.ports.http, f"/v2/models/{name}/ready")[0] == 200, 60, f"{name} is ready")

    def await_line(self, text: str) -> str:
        wait_until(lambda: text in self.log(), 60, f"a line of '{text}' in the log")
        return next(line for line in self.log().splitlines() if text in line)

    def adds(self) -> None:
        """Answers for the model that was there from the start."""
        with self.client() as client:
            inputs = simple_inputs()
            total = arrays(infer(client, "simple", inputs, client_timeout=30))["OUTPUT0"]
        np.testing.assert_array_equal(total, inputs["INPUT0"] + inputs["INPUT1"])


@pytest.fixture(scope="module")
def confined(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Confined]:
    if why := why_not():
        pytest.skip(why)
    process = Confined(tmp_path_factory.mktemp("confined"))
    try:
        with logs_shown(process):
            yield process.await_ready()
    finally:
        process.close()


def test_should_serve_and_load_with_a_full_disk_and_keep_things_again_later(confined: Confined, report: Report) -> None:
    disk = confined.seen(confined.disk)
    with full(disk):
        dropped = confined.metric("roundhouse_traces_dropped_total")
        confined.adds()
        adding_bundle.write(confined.models, "with-a-full-disk", "i32")
        confined.await_model("with-a-full-disk")
        assert "No space left on device" in confined.await_line("compiled programs are not kept")
        wait_until(
            lambda: confined.metric("roundhouse_traces_dropped_total") > dropped, 30, "traces are dropped and counted"
        )
        kept = confined.metric("roundhouse_programs_cache_bytes")
        assert confined.get(confined.ports.metrics, "/actuator/health/readiness")[0] == 200
    freed = now()
    written = confined.metric("roundhouse_traces_written_total")
    confined.adds()
    wait_until(lambda: confined.metric("roundhouse_traces_written_total") > written, 30, "traces are written")
    adding_bundle.write(confined.models, "with-room-again", "i64")
    confined.await_model("with-room-again")
    wait_until(lambda: confined.metric("roundhouse_programs_cache_bytes") > kept, 30, "programs are kept")
    report(f"traces and programs are kept again {now() - freed:.1f} s after there was room on the disk")
    assert confined.process.poll() is None


def test_should_hold_weights_privately_when_shared_memory_is_full(confined: Confined, report: Report) -> None:
    shared = confined.seen(Path("/dev/shm"))
    with full(shared):
        scaling_bundle.write(confined.models, "private", 3, WEIGHT_BYTES)
        confined.await_model("private")
        line = confined.await_line("weights of model 'private' are not shared")
        assert scales(confined, "private", 3)
        assert host_weights(confined, "private")["shared"] is False
        assert list(shared.glob("*private*")) == []
    freed = now()
    scaling_bundle.write(confined.models, "shared", 5, WEIGHT_BYTES)
    confined.await_model("shared")
    report(f"'{line.partition(': ')[2]}'; shared again {now() - freed:.1f} s after there was room")
    assert scales(confined, "shared", 5)
    assert len(list(shared.glob("*shared*"))) == 1
    assert confined.process.poll() is None


def scales(worker: Confined, model: str, factor: int) -> bool:
    inputs = scaling_bundle.numbers(1)
    with worker.client() as client:
        return bool((arrays(infer(client, model, inputs))["y"] == inputs["x"] * factor).all())


def host_weights(worker: Confined, model: str) -> dict:
    page = json.loads(worker.get(worker.ports.metrics, "/actuator/residency")[1])
    return next(each["host"] for each in page["models"] if each["name"] == model)


def test_should_serve_what_it_has_while_the_repository_cannot_be_read(confined: Confined, report: Report) -> None:
    models = confined.models
    try:
        models.chmod(0)
        adding_bundle.write(models, "while-unreadable", "i32")
        assert "what was loaded from it serves on" in confined.await_line("cannot be listed")
        confined.adds()
        assert confined.get(confined.ports.metrics, "/actuator/health/readiness")[0] == 200
        assert confined.get(confined.ports.http, "/v2/models/while-unreadable/ready")[0] != 200
    finally:
        models.chmod(0o755)
    readable = now()
    confined.await_model("while-unreadable")
    report(f"a new model is ready {now() - readable:.1f} s after the repository could be read again")
    confined.adds()
    assert confined.process.poll() is None
