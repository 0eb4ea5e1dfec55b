"""A gateway goes on with a worker soon after the network between them drops nothing any more.

A kernel doubles the time after which it sends anew what nobody acknowledges, so after a cut a connection is as good as
dead for as long as the cut has lasted. The gateway makes another one.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import networks
from conftest import Report, logs_shown
from faults import FaultLoad, now
from networks import Networks, Place
from node_process import gateway_command, trained_gateway
from placed_process import Server
from worker_process import SAMPLE_MODELS, free_ports, trained_worker, wait_until, worker_command

# The kernel sends anew 0.2, 0.6, 1.4, 3.0 and 6.2 s after the first time, and then not before 12.6 s.
CUT_SECONDS, KERNEL_SECONDS = 7.0, 12.6
SOON_SECONDS = 3.0
DEADLINE_SECONDS = 1.0
LOOK_SECONDS, LESS_THAN_A_LOOK_SECONDS = 8.0, 6.6
WHY_NOT = networks.why_not()
pytestmark = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)


@pytest.fixture(scope="module")
def cut() -> Iterator[Networks]:
    made = Networks("gateway", "worker")
    yield made
    made.close()


@pytest.fixture(scope="module")
def worker(cut: Networks, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    ports, trained = free_ports(), trained_worker()
    command = worker_command(trained.jar, SAMPLE_MODELS, ports, trained.jvm, ())
    server = Server(command, ports, tmp_path_factory.mktemp("worker") / "log", cut.places["worker"])
    with logs_shown(server):
        yield server
    server.close()


@contextmanager
def gateway_before(worker: Server, place: Place, folder: Path, *settings: str) -> Iterator[Server]:
    ports = free_ports()
    own = tuple(f"--roundhouse.gateway.health.{each}" for each in settings)
    server = Server(gateway_command(trained_gateway(), ports, [worker], own), ports, folder / "log", place)
    with logs_shown(server):
        yield server
    server.close()


@pytest.fixture(scope="module")
def gateway(cut: Networks, worker: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A gateway that does not learn of the cut by a look, and whose kernel does not end connections."""
    folder = tmp_path_factory.mktemp("gateway")
    with gateway_before(worker, cut.places["gateway"], folder, "timeout=60s", "silence=60s") as server:
        yield server


@pytest.fixture(scope="module")
def patient(cut: Networks, worker: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A gateway that gives a look as long as by default."""
    folder = tmp_path_factory.mktemp("patient")
    with gateway_before(worker, cut.places["gateway"], folder, "interval=100ms") as server:
        yield server


@pytest.fixture(scope="module")
def rare(cut: Networks, worker: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A gateway that seldom looks, and whose looks are over between two rounds."""
    folder = tmp_path_factory.mktemp("rare")
    with gateway_before(worker, cut.places["gateway"], folder, "interval=30s", "timeout=2s") as server:
        yield server


@pytest.fixture
def load(worker: Server, gateway: Server, tmp_path: Path) -> Iterator[FaultLoad]:
    worker.await_ready()
    gateway.await_ready()
    wait_until(lambda: gateway.sees("w0"), 60, "the gateway sees the worker")
    place = gateway.place
    calls = FaultLoad(tmp_path / "records", gateway.address, pause=0.02, deadline=DEADLINE_SECONDS, place=place)
    yield calls
    calls.close()


@pytest.mark.parametrize("dropped", ["both ways", "requests", "answers"])
def test_should_answer_soon_after_a_cut_by_another_connection(
    dropped: str, cut: Networks, gateway: Server, load: FaultLoad, report: Report
) -> None:
    load.await_answers(50)
    replaced = gateway.log().count("a new connection, as nothing was acknowledged")
    if dropped != "answers":
        cut.drop("gateway", "worker")
    if dropped != "requests":
        cut.drop("worker", "gateway")
    began = now()
    try:
        wait_until(lambda: now() - began > CUT_SECONDS, 2 * CUT_SECONDS, "the time that the cut is to last")
    finally:
        cut.heal()
    healed = now()
    load.await_answers(50)
    outcomes = load.stop()
    late = {each.status for each in outcomes if began + DEADLINE_SECONDS < each.began < healed - DEADLINE_SECONDS}
    assert late == {"DEADLINE_EXCEEDED"}
    first = min(each.ended for each in outcomes if each.status == "OK" and each.ended > healed)
    report(f"answered again {first - healed:.2f} s after a cut of {healed - began:.1f} s")
    assert first - healed < SOON_SECONDS < KERNEL_SECONDS - CUT_SECONDS - DEADLINE_SECONDS
    assert gateway.log().count("a new connection, as nothing was acknowledged") > replaced


def test_should_keep_a_worker_that_was_cut_off_for_less_than_a_look_may_take(
    cut: Networks, worker: Server, patient: Server
) -> None:
    worker.await_ready()
    patient.await_ready()
    wait_until(lambda: patient.sees("w0"), 60, "the gateway sees the worker")
    before = seen(patient)
    cut.drop("gateway", "worker")
    cut.drop("worker", "gateway")
    began = now()
    try:
        wait_until(lambda: now() - began > LESS_THAN_A_LOOK_SECONDS, 60, "the time that the cut is to last")
    finally:
        cut.heal()
    wait_until(lambda: now() - began > LOOK_SECONDS + 1, 60, "the look that met the cut is over")
    assert seen(patient) == before


def seen(gateway: Server) -> tuple[bool, str]:
    """Whether the worker is ready, and since when it is or is not."""
    (worker,) = json.loads(gateway.get(gateway.ports.metrics, "/actuator/workers")[1])["workers"]
    return worker["ready"], worker["since"]


def test_should_see_between_two_rounds_that_a_worker_is_silent_and_back(
    cut: Networks, worker: Server, rare: Server
) -> None:
    worker.await_ready()
    rare.await_ready()
    wait_until(lambda: rare.sees("w0"), 60, "the gateway sees the worker")
    cut.drop("gateway", "worker")
    cut.drop("worker", "gateway")
    try:
        wait_until(lambda: not rare.sees("w0"), 40, "the gateway takes the worker for not ready")
    finally:
        cut.heal()
    wait_until(lambda: rare.sees("w0"), 10, "the gateway sees the worker again, before its next round")
