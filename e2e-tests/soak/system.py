"""What the faults are for: a node of two workers, its supervisor and its gateway, and a second gateway before the two.

Gateways and workers have the names that the supervisor gives them, as sequences find their worker by its name.
"""

import json
import re
import shlex
import urllib.request
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import grpc
from tritonclient.grpc.service_pb2_grpc import GRPCInferenceServiceStub

from calls import request
from node_process import gateway_command, trained_gateway
from soak import models
from supervised_node import Node, children_of, is_running
from trained import Trained, java
from worker_process import JVM_OPTIONS, Ports, WorkerProcess, free_ports, memory_options, trained_worker, wait_until

WORKER_MEBIBYTES = 1100
GATEWAY_OPTIONS = ("-Xmx256m", "-XX:MaxDirectMemorySize=256m")
HANG_SECONDS = 3
LOOK_SECONDS = 3
SUPERVISED = ("worker0", "worker1", "gateway0")  # in the order in which the supervisor tells of them
DEVICE_KIBIBYTES = (models.FIT * models.WEIGHT_BYTES >> 10) + 2048


@dataclass(frozen=True)
class Place:
    """Where a worker listens, as ``gateway_command`` asks."""

    ports: Ports
    host: str = "127.0.0.1"

    @property
    def address(self) -> str:
        return f"{self.host}:{self.ports.grpc}"


class SecondGateway(WorkerProcess):
    def __init__(
        self, places: list[Place], ports: Ports, log: Path, settings: tuple[str, ...], before: list[str]
    ) -> None:
        command = gateway_command(trained_gateway(), ports, places, settings, names="worker")
        super().__init__([*before, *command], ports, log)


class System:
    """Owns all processes from construction to ``close``; ``disk`` may be full, ``tokens`` may change."""

    def __init__(self, folder: Path, disk: Path, before: list[str]) -> None:
        """``before`` is what the commands of its processes stand behind."""
        self.folder, self.disk, self.before = folder, disk, before
        self.repository = folder / "models"
        self.tokens = folder / "tokens"
        models.write_all(self.repository)
        worker = program(folder / "worker", trained_worker(), memory_options(WORKER_MEBIBYTES), before)
        gateway = program(folder / "gateway", trained_gateway(), GATEWAY_OPTIONS, before)
        settings = self._settings(worker, gateway)
        self.node = Node(self.repository, folder / "node.log", *settings, before=before)
        self.second_ports = free_ports()
        self.second_logs: list[Path] = []
        self.second: SecondGateway | None = None

    def _gateway_settings(self, name: str) -> list[str]:
        return [
            f"roundhouse.gateway.access.identities.operator.token-files={self.tokens}",
            "roundhouse.gateway.access.identities.operator.may=control",
            "roundhouse.gateway.access.control=token",
            f"roundhouse.gateway.audit.file={self.disk}/audit-{name}",
        ]

    def _settings(self, worker: Path, gateway: Path) -> Iterator[str]:
        for setting in (
            f"roundhouse.node.worker.command={worker}",
            f"roundhouse.node.gateway.command={gateway}",
            "roundhouse.worker.device.cpu.weights=copy",
            f"roundhouse.worker.residency.device-memory={DEVICE_KIBIBYTES}KB",
            "roundhouse.worker.residency.wiggle=0",
            "roundhouse.worker.residency.host.shared=true",
            "roundhouse.worker.repository.poll-interval=500ms",
            "roundhouse.worker.shared-memory.enabled=true",
            f"roundhouse.worker.watchdog.device-call={HANG_SECONDS}s",
            f"roundhouse.worker.compile.cache={self.disk}/executables",
            f"roundhouse.worker.scheduler.cost-file={self.disk}/costs.json",
            # else a worker that is ended often would be away for half a minute each time
            "roundhouse.node.restart.max-backoff=1s",
            *self._gateway_settings("gateway0"),
        ):
            yield "--set"
            yield setting

    def start(self) -> "System":
        self.node.await_ready()
        self.start_second()
        wait_until(self.is_whole, 60, "both gateways have both workers")
        return self

    def start_second(self) -> None:
        places = [Place(Ports(**self.process(name)["ports"])) for name in SUPERVISED[:2]]
        log = self.folder / f"gateway1-{len(self.second_logs)}.log"
        self.second_logs.append(log)
        settings = tuple(f"--{each}" for each in self._gateway_settings("gateway1"))
        self.second = SecondGateway(places, self.second_ports, log, settings, self.before)

    def process(self, name: str) -> dict:
        return self.node.worker(SUPERVISED.index(name))

    def pid(self, name: str) -> int | None:
        """None where it does not run."""
        if name == "gateway1":
            return self.second.process.pid if self.second.process.poll() is None else None
        return self.process(name)["pid"]

    def restarts(self) -> dict[str, int]:
        return {name: self.process(name)["restarts"] for name in SUPERVISED}

    @property
    def grpc(self) -> list[str]:
        return [self.node.gateway, self.second.address]

    @property
    def http(self) -> list[str]:
        return [f"127.0.0.1:{port}" for port in (self.node.http, self.second_ports.http)]

    def metrics_ports(self) -> list[int]:
        return [self.node.metrics, self.second_ports.metrics]

    def is_whole(self) -> bool:
        """Whether every process is ready, and both gateways have both workers and answer by them."""
        try:
            if not all(each["ready"] for each in self.node.status()["processes"]):
                return False
            return all(map(has_both, self.metrics_ports())) and all(map(answers, self.grpc))
        except OSError:
            return False

    def logs(self) -> Iterator[tuple[str, str]]:
        """Lines with the name of the log."""
        for log in (self.node.log_file, *self.second_logs):
            for line in log.read_text(errors="replace").splitlines():
                yield log.name, line

    def pids(self) -> dict[str, int]:
        """Of what should run all the time."""
        found = {name: self.pid(name) for name in (*SUPERVISED, "gateway1")}
        return {"supervisor": self.node.process.pid, **{name: pid for name, pid in found.items() if pid}}

    def stop(self) -> None:
        """In order, as an operator does."""
        self.second.process.terminate()
        self.node.process.terminate()
        self.second.process.wait(60)
        self.node.process.wait(60)

    def close(self) -> None:
        if self.second:
            self.second.process.kill()
            self.second.close()
        children = children_of(self.node.process.pid) if self.node.process.poll() is None else set()
        self.node.close()
        wait_until(lambda: not any(map(is_running, children)), 60, "the node's processes end with it")


def program(path: Path, application: Trained, options: Iterable[str], before: list[str]) -> Path:
    """Starts an application as images do: with a cache of an earlier start, which halves the time of the next."""
    command = [
        *before,
        java(),
        *JVM_OPTIONS,
        *application.jvm,
        *options,
        "-XX:ActiveProcessorCount=2",
        "-jar",
        str(application.jar),
    ]
    path.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
    path.chmod(0o755)
    return path


def page(port: int, path: str) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=LOOK_SECONDS) as response:
        return response.read().decode()


def has_both(metrics_port: int) -> bool:
    return (
        len(re.findall(r"^gateway_worker_ready\{.*\} 1\.0$", page(metrics_port, "/metrics?workers=false"), re.M)) == 2
    )


def models_ready(http_port: int, name: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{http_port}/v2/models/{name}/ready", timeout=LOOK_SECONDS):
            return True
    except OSError:
        return False


def failures_of(address: str) -> dict[str, str]:
    """Names and reasons of models that the index of a worker or gateway says are not ready."""
    http = f"http://{address}/v2/repository/index"
    with urllib.request.urlopen(urllib.request.Request(http, b"{}"), timeout=LOOK_SECONDS) as response:
        return {each["name"]: each.get("reason", "") for each in json.load(response) if each.get("state") != "READY"}


def answers(address: str) -> bool:
    with grpc.insecure_channel(address, options=(("grpc.use_local_subchannel_pool", 1),)) as channel:
        try:
            GRPCInferenceServiceStub(channel).ModelInfer(
                request(models.scale(0), {"x": models.row(1).reshape(1, -1)}), timeout=LOOK_SECONDS
            )
        except grpc.RpcError:
            return False
    return True
