"""Two workers and two gateways of an earlier build are replaced by this build's, one by one under load, and back again.

ROUNDHOUSE_E2E_UPGRADE_FROM names a folder with the earlier build's ``worker.jar`` and ``gateway.jar``
(``./roundhouse test --upgrade=COMMIT``). The callers, their histories and their judge are those of the soak.
"""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from conftest import Report
from node_process import gateway_command, gateway_jar
from soak import models
from soak.callers import Callers
from soak.history import REPLACE_GATEWAY, REPLACE_WORKER, Checker, Happened, Spell
from soak.plan import Traffic
from soak.report import by_outcome
from soak.system import DEVICE_KIBIBYTES, answers, has_both, page
from trained import Trained
from worker_process import Ports, WorkerProcess, free_ports, wait_until, worker_command, worker_jar

EARLIER = os.environ.get("ROUNDHOUSE_E2E_UPGRADE_FROM", "")
pytestmark = pytest.mark.skipif(
    not EARLIER, reason="builds an earlier commit and takes ten minutes: ./roundhouse test --upgrade=COMMIT runs it"
)
SEED = 1
QUIET_SECONDS = 4
WHOLE_SECONDS = 180
STOP_SECONDS = 60
LAME_DUCK_SECONDS = 6  # as long as a caller's deadline
TRAFFIC = Traffic(
    {"unary": 2, "http": 2, "stream": 2, "sums": 2, "shared": 2, "parts": 2}, pause=0.1, deadline=6.0, cancelled_share=0
)
UNWANTED = (" ERROR ", "costs of earlier runs are not used", "damaged", "is not used")


@dataclass(frozen=True)
class Build:
    name: str
    worker: Path
    gateway: Path


def builds() -> tuple[Build, Build]:
    """The earlier one, and this one."""
    folder = Path(EARLIER)
    return (
        Build("earlier", folder / "worker.jar", folder / "gateway.jar"),
        Build("this", worker_jar(), gateway_jar()),
    )


class Fleet:
    """Each process keeps its ports, whatever its build; owns them from construction to ``close``."""

    def __init__(self, folder: Path, build: Build) -> None:
        self.folder = folder
        self.repository = folder / "models"
        models.write_all(self.repository)
        self.ports = {name: free_ports() for name in ("w0", "w1", "g0", "g1")}
        self.processes: dict[str, WorkerProcess] = {}
        self.logs: list[Path] = []
        for name in self.ports:
            self.start(name, build)

    def start(self, name: str, build: Build) -> None:
        log = self.folder / f"{len(self.logs)}-{name}-{build.name}.log"
        self.logs.append(log)
        ports = self.ports[name]
        command = self._gateway(ports, build) if name.startswith("g") else self._worker(ports, build)
        self.processes[name] = WorkerProcess(command, ports, log)

    def _worker(self, ports: Ports, build: Build) -> list[str]:
        own = {
            "repository.poll-interval": "1s",
            "device.cpu.weights": "copy",
            "residency.device-memory": f"{DEVICE_KIBIBYTES}KB",
            "residency.wiggle": "0",
            "residency.host.shared": "true",
            "shared-memory.enabled": "true",
            "server.lame-duck": f"{LAME_DUCK_SECONDS}s",
            "compile.cache": self.folder / "executables",
            "scheduler.cost-file": self.folder / "costs.json",
        }
        settings = [f"--roundhouse.worker.{key}={value}" for key, value in own.items()]
        return worker_command(build.worker, self.repository, ports, (), settings)

    def _gateway(self, ports: Ports, build: Build) -> list[str]:
        workers = [self.processes[name] for name in ("w0", "w1")]
        command = gateway_command(Trained(build.gateway, ()), ports, workers, ())
        return [each for each in command if ".metrics=" not in each]  # a key that the earlier build may not have

    def replace(self, name: str, build: Build) -> Happened:
        """As an operator does: told to end, and started again when it has."""
        before = self.processes[name]
        began = time.monotonic()
        before.process.terminate()
        code = before.process.wait(STOP_SECONDS)
        assert code == 0 or code == 128 + 15, f"{name} ended with {code}"
        before.close()
        self.start(name, build)
        wait_until(self.is_whole, WHOLE_SECONDS, f"all are ready with {name} of {build.name} build")
        kind, target = (REPLACE_GATEWAY, f"gateway{name[1]}") if name.startswith("g") else (REPLACE_WORKER, name)
        return Happened(kind, target, began, time.monotonic())

    def addresses(self) -> tuple[list[str], list[str]]:
        gateways = [self.processes[name] for name in ("g0", "g1")]
        return [each.address for each in gateways], [f"127.0.0.1:{each.ports.http}" for each in gateways]

    def is_whole(self) -> bool:
        for name, process in self.processes.items():
            assert process.process.poll() is None, f"{name} has ended: {process.own_log()[-2000:]}"
        try:
            ready = [page(self.ports[name].http, "/v2/health/ready") for name in self.ports]
            return len(ready) == 4 and all(
                has_both(self.ports[name].metrics) and answers(f"127.0.0.1:{self.ports[name].grpc}")
                for name in ("g0", "g1")
            )
        except OSError:
            return False

    def unwanted(self) -> Iterator[str]:
        for log in self.logs:
            for line in log.read_text(errors="replace").splitlines():
                if any(each in line for each in UNWANTED):
                    yield f"{log.name}: {line[:300]}"

    def compiled(self, name: str) -> float:
        """Programs that a worker has compiled itself, since it started."""
        for line in page(self.ports[name].metrics, "/metrics").splitlines():
            if line.startswith("roundhouse_programs_compiled_total"):
                return float(line.split()[-1])
        raise AssertionError(f"{name} does not say what it has compiled")

    def close(self) -> None:
        for process in self.processes.values():
            process.close()


def test_should_fail_no_call_that_may_go_elsewhere_when_builds_are_replaced_and_put_back(
    tmp_path: Path, report: Report
) -> None:
    earlier, this = builds()
    fleet = Fleet(tmp_path, earlier)
    callers = Callers(tmp_path / "histories", SEED, TRAFFIC, fleet.addresses)
    spells: list[Spell] = []
    compiled: dict[str, float] = {}
    try:
        wait_until(fleet.is_whole, WHOLE_SECONDS, "all are ready")
        callers.start()
        callers.go()
        time.sleep(QUIET_SECONDS)
        there = [(name, this) for name in ("w0", "w1", "g0", "g1")]
        back = [(name, earlier) for name in ("g0", "g1", "w0", "w1")]
        for name, build in there + back:
            happened = fleet.replace(name, build)
            spells.append(Spell((happened,), happened.began, happened.ended))
            if name.startswith("w"):
                compiled[f"{name} of {build.name} build"] = fleet.compiled(name)
            time.sleep(QUIET_SECONDS)
        callers.rest()
    finally:
        callers.close()
        fleet.close()
    checker = Checker(spells)
    for path in callers.histories():
        with path.open() as written:
            checker.read(written)
    took = max(spell.whole - spell.began for spell in spells)
    report(
        f"{len(spells)} replacements, at most {took:.1f} s each; {checker.verdict.outcomes.total()} requests:"
        f" {by_outcome(checker.verdict.outcomes)}; {checker.verdict.count} violations; compiled anew: {compiled}"
    )
    assert checker.verdict.violations == []
    assert list(fleet.unwanted()) == []
    assert set(compiled.values()) == {0}, "each build reads what the other has compiled"
