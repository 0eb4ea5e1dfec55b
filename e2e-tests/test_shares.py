"""Shares of device time by weight, on a real device: of models beside many that nobody calls, and of tenants."""

import hashlib
import json
import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.synchronize import Event
from pathlib import Path

import grpc
import pytest
from tritonclient.grpc.service_pb2_grpc import GRPCInferenceServiceStub

import spinning_bundle
from calls import request
from conftest import Launch, Report
from spinning_bundle import turns
from worker_process import WorkerProcess, wait_until

pytestmark = pytest.mark.alone

IDLE = 98
WEIGHTS = {"heavy": 3, "light": 1}
RUN_SECONDS = {"heavy": 0.012, "light": 0.0009}  # long enough for callers in Python to keep up on a slow machine
OUTSTANDING = {"heavy": 64, "light": 512}
LEAST_WAITING = 2
ATTEMPTS = 3  # a queue that runs empty gives its share away: then it was the callers that were measured
SETTLE_SECONDS = 2
MEASURED_SECONDS = 5
DUE = 0.75
TOLERANCE = 0.02
TURNS = 5_000_000

TENANTS = {"products": 3, "research": 1}
MODELS = 98
TENANT_RUN_SECONDS = 0.003
TENANT_OUTSTANDING = 2 * MODELS
TENANT_MEASURED_SECONDS = 4


def bearer(token: str) -> list[tuple[str, str]] | None:
    return [("authorization", f"Bearer {token}")] if token else None


@dataclass(frozen=True)
class Caller:
    """Has so many calls under way, to models in turn, of so many turns each."""

    models: list[str]
    count: int
    outstanding: int
    token: str = ""

    def keep_filled(self, address: str, over: Event) -> None:
        """In a process of its own, so that one client's work does not hold up the other's."""
        messages = [request(model, turns(self.count)) for model in self.models]
        metadata = bearer(self.token)
        with grpc.insecure_channel(address) as channel:
            stub = GRPCInferenceServiceStub(channel)
            ask = [messages[i % len(messages)] for i in range(self.outstanding)]
            calls = [stub.ModelInfer.future(message, metadata=metadata) for message in ask]
            while not over.is_set():
                for i in range(self.outstanding):
                    calls[i].result(60)
                    calls[i] = stub.ModelInfer.future(ask[i], metadata=metadata)
            for call in calls:
                call.result(60)


@contextmanager
def saturated(worker: WorkerProcess, asking: list[Caller]) -> Iterator[None]:
    context = multiprocessing.get_context("spawn")
    over = context.Event()
    callers = [
        context.Process(target=caller.keep_filled, args=(worker.address, over), daemon=True) for caller in asking
    ]
    for caller in callers:
        caller.start()
    try:
        yield
    finally:
        over.set()
        for caller in callers:
            caller.join(60)
    assert [caller.exitcode for caller in callers] == [0, 0]


def show(worker: WorkerProcess) -> dict[str, dict]:
    status, body = worker.get(worker.ports.metrics, "/actuator/models")
    assert status == 200, body
    return {model["name"]: model for model in json.loads(body)["models"]}


def device_seconds(worker: WorkerProcess) -> dict[str, float]:
    return {name: model["runs"]["computeSeconds"] for name, model in show(worker).items()}


def turns_per_second(worker: WorkerProcess, model: str, token: str = "") -> float:
    """The best of some runs, since the machine may be busy."""
    metadata = bearer(token)
    best = 0.0
    with grpc.insecure_channel(worker.address) as channel:
        stub = GRPCInferenceServiceStub(channel)
        for _ in range(5):
            before = device_seconds(worker)[model]
            stub.ModelInfer(request(model, turns(TURNS)), metadata=metadata)
            best = max(best, TURNS / (device_seconds(worker)[model] - before))
    return best


def share_of_heavy(worker: WorkerProcess, fewest: dict[str, int]) -> float:
    """Between two looks; in between, notes the fewest calls that waited for each."""
    before = device_seconds(worker)
    began = time.monotonic()
    while time.monotonic() - began < MEASURED_SECONDS:
        for name, model in show(worker).items():
            if name in fewest:
                fewest[name] = min(fewest[name], model["queueDepth"])
        time.sleep(0.1)
    after = device_seconds(worker)
    spent = {name: after[name] - before[name] for name in WEIGHTS}
    return spent["heavy"] / sum(spent.values())


@pytest.mark.parametrize("discipline", ["fair", "virtual-time"])
def test_should_share_by_weight_when_98_idle_models_are_registered_too(
    discipline: str, tmp_path: Path, launch: Launch, report: Report
) -> None:
    for name in (*WEIGHTS, *(f"idle-{i}" for i in range(IDLE))):
        spinning_bundle.write(tmp_path / "models", name)
    weights = [f"--roundhouse.worker.models.{name}.weight={weight}" for name, weight in WEIGHTS.items()]
    setting = f"--roundhouse.worker.scheduler.discipline={discipline}"
    worker = launch(tmp_path / "models", setting, *weights).await_ready()
    speed = turns_per_second(worker, "heavy")
    callers = [Caller([name], int(RUN_SECONDS[name] * speed), OUTSTANDING[name]) for name in WEIGHTS]
    with saturated(worker, callers):
        wait_until(
            lambda: all(show(worker)[name]["queueDepth"] > OUTSTANDING[name] // 2 for name in WEIGHTS),
            30,
            "queues are filled",
        )
        time.sleep(SETTLE_SECONDS)
        for _ in range(ATTEMPTS):
            fewest = dict(OUTSTANDING)
            share = share_of_heavy(worker, fewest)
            if min(fewest.values()) >= LEAST_WAITING:
                break
        models = show(worker)
    means = {name: round(models[name]["programs"][0]["meanMicros"]) for name in WEIGHTS}
    report(f"{discipline}: {share:.2%} of device time, due {DUE:.0%}; runs of {means} us; fewest waiting {fewest}")
    assert all(models[f"idle-{i}"]["runs"]["executions"] == 0 for i in range(IDLE))
    assert min(fewest.values()) >= LEAST_WAITING, "the callers kept no queue filled; the machine is too busy"
    assert share == pytest.approx(DUE, abs=TOLERANCE)


def waiting(worker: WorkerProcess) -> int:
    return sum(model["queueDepth"] for model in show(worker).values())


def tenant_seconds(worker: WorkerProcess) -> dict[str, float]:
    scrape = worker.get(worker.ports.metrics, "/metrics")[1].splitlines()
    series = 'roundhouse_tenant_device_seconds_total{tenant="%s"} '
    return {
        tenant: float(next(line.split()[-1] for line in scrape if line.startswith(series % tenant)))
        for tenant in TENANTS
    }


def test_should_share_by_tenant_whichever_models_they_use(tmp_path: Path, launch: Launch, report: Report) -> None:
    models = [f"m-{i}" for i in range(MODELS)]
    for name in models:
        spinning_bundle.write(tmp_path / "models", name)
    settings = ["--roundhouse.worker.access.inference=token"]
    for tenant, weight in TENANTS.items():
        tokens = tmp_path / tenant
        tokens.write_text(f"sha256:{hashlib.sha256(tenant.encode()).hexdigest()}\n")  # its name is its token
        identity = f"--roundhouse.worker.access.identities.{tenant}"
        settings += [f"--roundhouse.worker.tenants.{tenant}.weight={weight}", f"{identity}.tenant={tenant}"]
        settings += [f"{identity}.token-files={tokens}", f"{identity}.may=inference"]
    worker = launch(tmp_path / "models", *settings).await_ready()
    count = int(TENANT_RUN_SECONDS * turns_per_second(worker, models[0], "products"))
    for use, of_products, of_research in (
        ("both use all", models, models),
        ("one of them one model", models[:1], models[1:]),
        ("the other one model", models[1:], models[:1]),
    ):
        with saturated(
            worker,
            [
                Caller(of_products, count, TENANT_OUTSTANDING, "products"),
                Caller(of_research, count, TENANT_OUTSTANDING, "research"),
            ],
        ):
            wait_until(lambda: waiting(worker) > TENANT_OUTSTANDING, 30, "queues are filled")
            time.sleep(SETTLE_SECONDS)
            before = tenant_seconds(worker)
            time.sleep(TENANT_MEASURED_SECONDS)
            after = tenant_seconds(worker)
        spent = {tenant: after[tenant] - before[tenant] for tenant in TENANTS}
        share = spent["products"] / sum(spent.values())
        report(f"{use}: products had {share:.2%} of {sum(spent.values()):.1f} device seconds, due {DUE:.0%}")
        assert share == pytest.approx(DUE, abs=TOLERANCE), use
