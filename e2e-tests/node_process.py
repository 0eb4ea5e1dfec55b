"""A gateway before several workers, in the place of one worker: ROUNDHOUSE_E2E_GATEWAY says how many."""

import functools
import os
from collections.abc import Sequence
from pathlib import Path

from trained import Trained, java, trained
from worker_process import ROOT, SAMPLE_MODELS, Ports, WorkerProcess, free_ports, wait_until


def workers_behind_gateway() -> int:
    """0 for a worker without a gateway."""
    return int(os.environ.get("ROUNDHOUSE_E2E_GATEWAY", "0"))


def gateway_jar() -> Path:
    """The jar that ``./roundhouse test`` names, else the one that Maven left."""
    if named := os.environ.get("ROUNDHOUSE_E2E_GATEWAY_JAR"):
        return Path(named)
    return max((ROOT / "gateway-service" / "target").glob("gateway-service-*.jar"), key=lambda jar: jar.stat().st_mtime)


@functools.cache
def trained_gateway() -> Trained:
    return trained(gateway_jar(), _train_gateway)


def _train_gateway(jar: Path, option: str, folder: Path) -> str:
    worker = WorkerProcess.launch(SAMPLE_MODELS, folder / "log-of-worker")
    try:
        ports = free_ports()
        command = gateway_command(Trained(jar, (option,)), ports, [worker.await_ready()], ())
        gateway = WorkerProcess(command, ports, folder / "log")
        gateway.train(ports.http, "/v2/models/simple")
        return gateway.log()
    finally:
        worker.close()


def shared_out(settings: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Those of a gateway, and those of its workers."""
    own = tuple(setting for setting in settings if setting.startswith("--roundhouse.gateway."))
    return own, tuple(setting for setting in settings if setting not in own)


def gateway_command(
    gateway: Trained, ports: Ports, workers: Sequence[WorkerProcess], settings: tuple[str, ...], names: str = "w"
) -> list[str]:
    command = [java(), "-Xmx256m", *gateway.jvm, "-jar", str(gateway.jar)]
    for number, worker in enumerate(workers):
        key = f"--roundhouse.gateway.workers.{names}{number}"
        command += [f"{key}.address={worker.address}", f"{key}.http={worker.host}:{worker.ports.http}"]
        command.append(f"{key}.metrics={worker.host}:{worker.ports.metrics}")
    command += [
        f"--server.port={ports.http}",
        f"--spring.grpc.server.port={ports.grpc}",
        f"--management.server.port={ports.metrics}",
    ]
    return [*command, *settings]


class NodeProcess(WorkerProcess):
    """Has the ports of its gateway; workers get the settings that name them, the gateway the others."""

    workers: list[WorkerProcess]

    @classmethod
    def launch(cls, count: int, models: Path, log: Path, *settings: str) -> "NodeProcess":
        own, others = shared_out(settings)
        workers = [
            WorkerProcess.launch(models, log.with_name(f"{log.name}-w{number}"), *others) for number in range(count)
        ]
        ports = free_ports()
        node = cls(gateway_command(trained_gateway(), ports, workers, own), ports, log)
        node.workers = workers
        return node

    def await_ready(self) -> "NodeProcess":
        for worker in self.workers:
            worker.await_ready()
        super().await_ready()
        self.await_workers()
        return self

    def await_workers(self) -> None:
        """Waits until the gateway has seen every worker be ready."""
        line = "gateway_worker_ready{"
        wait_until(
            lambda: (
                sum(
                    text.startswith(line) and text.endswith(" 1.0")
                    for text in self.get(self.ports.metrics, "/metrics?workers=false")[1].splitlines()
                )
                == len(self.workers)
            ),
            60,
            f"{len(self.workers)} workers ready behind the gateway",
        )

    def ready_line(self) -> str | None:
        return next((line for line in self.own_log().splitlines() if line.startswith("ready ")), None)

    def log(self) -> str:
        return "".join(part.own_log() for part in self.parts())

    def parts(self) -> list[WorkerProcess]:
        return [self, *getattr(self, "workers", [])]

    def close(self) -> None:
        super().close()
        for worker in self.workers:
            worker.close()
