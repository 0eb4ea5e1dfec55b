"""Prints what hedging does to the slowest calls: ``python hedging_figures.py [ROUNDS]``.

Two workers on the CPU, of which one stands still for 60 ms of each second (SIGSTOP), behind two gateways, one that
hedges and one that does not. Eight callers ask each gateway in turns. Nothing is asserted.
"""

import re
import shutil
import signal
import statistics
import sys
import tempfile
import threading
from pathlib import Path

from faults import FaultLoad, Outcome, failures
from node_process import NodeProcess, gateway_command, trained_gateway
from worker_process import ROOT, WorkerProcess, free_ports

SECONDS = 10
WARM_UP = 8
STILL, PERIOD = 0.06, 1.0
PARTS = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p99.9": 0.999, "slowest": 1.0}
HEDGING = ("--roundhouse.gateway.hedging.delay=5ms", "--roundhouse.gateway.hedging.quantile=0.95")


class StandingStill:
    """Has a worker stand still for a part of each second until it is left."""

    def __init__(self, worker: WorkerProcess) -> None:
        self._worker = worker
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(PERIOD - STILL):
            self._worker.process.send_signal(signal.SIGSTOP)
            self._over.wait(STILL)
            self._worker.process.send_signal(signal.SIGCONT)


def ask(gateway: NodeProcess, records: Path, seconds: float) -> list[Outcome]:
    load = FaultLoad(records, gateway.address, pause=0.005)
    threading.Event().wait(seconds)
    return load.stop()


def quantiles(outcomes: list[Outcome]) -> dict[str, float]:
    times = sorted(each.seconds * 1000 for each in outcomes)
    return {name: times[min(len(times) - 1, int(part * len(times)))] for name, part in PARTS.items()}


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory(prefix="roundhouse-hedging-") as name:
        folder = Path(name)
        models = folder / "models"
        shutil.copytree(ROOT / "examples" / "models" / "simple", models / "simple")
        workers = [WorkerProcess.launch(models, folder / f"w{number}") for number in range(2)]
        gateways: dict[str, NodeProcess] = {}
        try:
            for kind, settings in {"never": (), "hedged": HEDGING}.items():
                ports = free_ports()
                gateways[kind] = NodeProcess(
                    gateway_command(trained_gateway(), ports, workers, settings), ports, folder / kind
                )
                gateways[kind].workers = workers
            for gateway in gateways.values():
                gateway.await_ready()
                ask(gateway, folder / "records", WARM_UP)
            measure(gateways, workers, folder / "records", rounds)
        finally:
            for process in [*gateways.values(), *workers]:
                WorkerProcess.close(process)


def measure(gateways: dict[str, NodeProcess], workers: list[WorkerProcess], records: Path, rounds: int) -> None:
    figures: dict[str, dict[str, list[float]]] = {kind: {part: [] for part in PARTS} for kind in gateways}
    calls = dict.fromkeys(gateways, 0)
    for _ in range(rounds):
        for kind, gateway in gateways.items():
            with StandingStill(workers[0]):
                outcomes = ask(gateway, records, SECONDS)
            if failed := failures(outcomes):
                print(f"{kind}: {failed}")
            calls[kind] += len(outcomes)
            for part, milliseconds in quantiles(outcomes).items():
                figures[kind][part].append(milliseconds)
    for kind, parts in figures.items():
        told = "   ".join(f"{part} {statistics.median(values):6.2f} ms" for part, values in parts.items())
        print(f"{kind:8} {calls[kind]:6} calls   {told}")
    page = gateways["hedged"].get(gateways["hedged"].ports.metrics, "/metrics?workers=false")[1]
    print("   ".join(re.findall(r"^gateway_hedges_\w+_total \S+", page, re.MULTILINE)))


if __name__ == "__main__":
    main()
