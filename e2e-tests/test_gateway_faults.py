"""What a gateway and its workers do when the network between them, their processes or the system under them fails.

One set-up for all: two workers and two gateways before them, which go about it differently. Where networks can be made
each worker has its own. ROUNDHOUSE_E2E_FAULTS=full takes the gateway's own settings and holds each fault for 30 s;
ROUNDHOUSE_E2E_FAULTS=quick has faults noticed within a second and holds them for 3 s.
"""

import hashlib
import os
import resource
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from tritonclient.grpc.service_pb2_grpc import GRPCInferenceServiceStub

import adding_bundle
import networks
from calls import request, simple_inputs
from conftest import Report, logs_shown
from faults import FaultLoad, disturbed, failures, now
from networks import Networks, Place
from node_process import gateway_command, trained_gateway
from pids import PidsLimit
from placed_process import Server
from worker_process import SAMPLE_MODELS, free_ports, trained_worker, wait_until, worker_command

FORM = os.environ.get("ROUNDHOUSE_E2E_FAULTS", "")
LONG = FORM == "full"
HOLD_SECONDS = 30 if LONG else 3
BACK_SECONDS = 15 if LONG else 60  # as long as the cut where the connection of before is tried again
QUICK = ["health.interval=200ms", "health.timeout=1s", "health.silence=1s"]
SLOW_SECONDS = 0.5
ESTABLISHED = "01"
pytestmark = pytest.mark.skipif(
    FORM not in ("full", "quick"),
    reason="takes minutes, root, and a machine that does little else: ./roundhouse test --faults runs it",
)
TOKEN = "of-operators"
REPACK = "/reactant_control.GatewayControlService/Repack"


class Fleet:
    """Owns its processes and networks from construction to ``close``."""

    def __init__(self, folder: Path) -> None:
        self.models = folder / "models"
        shutil.copytree(SAMPLE_MODELS / "simple", self.models / "simple")
        self.why_no_networks = networks.why_not()
        self.networks = None if self.why_no_networks else Networks("gateways", "w0", "w1")
        places = self.networks.places if self.networks else {name: Place() for name in ("gateways", "w0", "w1")}
        self.place = places["gateways"]
        self.workers = [self._worker(name, places[name], folder / name) for name in ("w0", "w1")]
        tokens = folder / "tokens"
        tokens.write_text(f"sha256:{hashlib.sha256(TOKEN.encode()).hexdigest()}\n")
        self.gateways = [
            self._gateway(folder / "g0", "scheduling.mode=round_robin"),
            # told to place models anew, from its network's address
            self._gateway(
                folder / "g1",
                "scheduling.mode=lpt_packing",
                f"access.identities.operator.token-files={tokens}",
                "access.identities.operator.may=control",
            ),
        ]

    def _worker(self, name: str, place: Place, log: Path) -> Server:
        ports = free_ports()
        worker = trained_worker()
        settings = (
            "--roundhouse.worker.repository.poll-interval=200ms",
            # a load for which no compiler can be started is none of these
            "--roundhouse.worker.repository.load-attempts=1",
            "--roundhouse.worker.server.lame-duck=2s",
        )
        return Server(worker_command(worker.jar, self.models, ports, worker.jvm, settings), ports, log, place)

    def _gateway(self, log: Path, *settings: str) -> Server:
        ports = free_ports()
        own = tuple(f"--roundhouse.gateway.{each}" for each in (*settings, *([] if LONG else QUICK)))
        return Server(gateway_command(trained_gateway(), ports, self.workers, own), ports, log, self.place)

    @property
    def servers(self) -> list[Server]:
        return self.workers + self.gateways

    def await_ready(self) -> "Fleet":
        for server in self.servers:
            server.await_ready()
        wait_until(
            lambda: all(gateway.sees(worker) for gateway in self.gateways for worker in ("w0", "w1")),
            60,
            "both gateways see both workers",
        )
        return self

    def executed(self) -> int:
        return sum(worker.executed() for worker in self.workers)

    def close(self) -> None:
        for server in self.servers:
            server.process.kill()
        for server in self.servers:
            server.close()
        if self.networks:
            self.networks.close()


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """The same for all tests; whatever they do to it, nothing is started again."""
    servers = Fleet(tmp_path_factory.mktemp("fleet"))
    try:
        with logs_shown(*servers.servers):
            yield servers.await_ready()
    finally:
        servers.close()


@pytest.fixture
def loads(tmp_path: Path) -> Iterator[list[FaultLoad]]:
    started: list[FaultLoad] = []
    yield started
    for load in started:
        load.close()


@pytest.mark.parametrize("dropped", ["both ways", "requests", "answers"])
def test_should_lose_no_call_when_a_worker_is_cut_off(
    dropped: str, fleet: Fleet, loads: list[FaultLoad], tmp_path: Path, report: Report
) -> None:
    if fleet.networks is None:
        pytest.skip(f"a link is cut between networks: {fleet.why_no_networks}")
    gateway, cut_off = fleet.gateways[0], fleet.workers[1]
    executed, followed = fleet.executed(), gateway.followed()
    load = FaultLoad(tmp_path / "records", gateway.address, place=fleet.place)
    loads.append(load)
    load.await_answers(100)
    began = now()
    if dropped != "answers":
        fleet.networks.drop("gateways", "w1")
    if dropped != "requests":
        fleet.networks.drop("w1", "gateways")
    try:
        wait_until(lambda: not gateway.sees("w1"), 60, "the gateway takes w1 for not ready")
        load.await_answers(100)
        wait_until(lambda: now() - began > HOLD_SECONDS, 2 * HOLD_SECONDS, "the time that the cut is to last")
        alone = cut_off.executed()
    finally:
        fleet.networks.heal()
    healed = now()
    wait_until(lambda: cut_off.executed() > alone + 10, BACK_SECONDS, "w1 executes again")
    back = now() - healed
    outcomes = load.stop()

    answered = sum(each.status == "OK" for each in outcomes)
    executed = fleet.executed() - executed
    followed = gateway.followed() - followed
    report(
        f"{len(outcomes)} calls, {len(outcomes) - answered} not answered, {executed - answered} executed twice of"
        f" {followed} that were asked for again; calls failed or took over {SLOW_SECONDS} s for"
        f" {disturbed(outcomes, began, SLOW_SECONDS) * 1e3:.0f} ms after the cut, the slowest"
        f" {max(each.seconds for each in outcomes):.1f} s; w1 used again {back * 1e3:.0f} ms after the cut was mended"
    )
    assert failures(outcomes) == {}
    assert 0 <= executed - answered <= followed
    assert "An exceptionCaught() event was fired" not in gateway.log(), "a lost connection is nothing to be warned of"
    assert all(server.process.poll() is None for server in fleet.servers)


@pytest.mark.skipif(not LONG, reason="waits for six minutes: ./roundhouse test --faults runs it")
def test_should_close_connections_that_nobody_has_used_for_five_minutes(
    fleet: Fleet, loads: list[FaultLoad], tmp_path: Path, report: Report
) -> None:
    gateway = fleet.gateways[0]
    ports = [worker.ports.grpc for worker in fleet.workers]
    load = FaultLoad(tmp_path / "records", gateway.address, place=fleet.place)
    loads.append(load)
    load.await_answers(100)
    used = [connections_to(gateway, port) for port in ports]
    load.stop()
    idle = now()
    looks = [len(fleet.gateways)] * 2  # each gateway has one of its own to each worker, by which it looks at it
    wait_until(lambda: [connections_to(gateway, port) for port in ports] == looks, 420, f"{used} are down to {looks}")
    closed = now() - idle
    report(f"{[each - looks[0] for each in used]} connections to workers, closed {closed:.0f} s after the last call")
    assert min(used) > looks[0]
    assert closed > 295


def connections_to(server: Server, port: int) -> int:
    """How many connections its network has to a port."""
    lines = Path(f"/proc/{server.process.pid}/net/tcp").read_text().splitlines()[1:]
    lines += Path(f"/proc/{server.process.pid}/net/tcp6").read_text().splitlines()[1:]
    fields = [line.split() for line in lines]
    return sum(each[2].endswith(f":{port:04X}") and each[3] == ESTABLISHED for each in fields)


def test_should_answer_every_call_by_gateways_that_disagree(
    fleet: Fleet, loads: list[FaultLoad], tmp_path: Path, report: Report
) -> None:
    addresses = [gateway.address for gateway in fleet.gateways]
    load = FaultLoad(tmp_path / "records", *addresses, place=fleet.place)
    loads.append(load)
    before = [worker.executed() for worker in fleet.workers]
    load.await_answers(100)
    for _ in range(5):
        fleet.place.run(lambda: repack(fleet.gateways[1].address))
        load.await_answers(50)
    outcomes = load.stop()
    by_worker = [worker.executed() - count for worker, count in zip(fleet.workers, before, strict=True)]
    placed = [fleet.gateways[1].metric(r'gateway_model_replicas\{model="simple"\}')]
    report(f"{len(outcomes)} calls through two gateways, {by_worker} by worker, {len(failures(outcomes))} failed")
    assert failures(outcomes) == {}
    assert placed == [1], "one gateway has the model on one worker"
    assert min(by_worker) > 0, "the other uses both"
    assert sum(by_worker) == len(outcomes)


def repack(address: str) -> bytes:
    with grpc.insecure_channel(address) as channel:
        shown = (("authorization", f"Bearer {TOKEN}"),)
        return channel.unary_unary(REPACK)(b"", timeout=30, metadata=shown)


@pytest.mark.parametrize("which", ["worker", "gateway"])
def test_should_serve_on_without_file_descriptors_and_name_it(
    which: str, fleet: Fleet, loads: list[FaultLoad], tmp_path: Path, report: Report
) -> None:
    gateway = fleet.gateways[0]
    server = fleet.workers[1] if which == "worker" else gateway
    load = FaultLoad(tmp_path / "records", gateway.address, place=fleet.place)
    loads.append(load)
    load.await_answers(100)
    pid = server.process.pid
    limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)

    def is_starved() -> bool:
        """Lowers the limit again each time: what was open when it was set may have been closed since."""
        least = min(lowest_free_descriptor(pid), resource.prlimit(pid, resource.RLIMIT_NOFILE)[0])
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (least, limits[1]))
        return not fleet.place.run(lambda: answers(server.address))

    try:
        wait_until(is_starved, 30, "no further connection")
        wait_until(lambda: "Too many open files" in server.log(), 30, "the log names it")
        load.await_answers(100)
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)
    restored = now()
    wait_until(lambda: fleet.place.run(lambda: answers(server.address)), 60, "further connections")
    report(f"{which}: takes connections again after {(now() - restored) * 1e3:.0f} ms")
    outcomes = load.stop()
    assert failures(outcomes) == {}
    assert server.process.poll() is None


def lowest_free_descriptor(pid: int) -> int:
    """A limit of descriptors is one of their numbers, and those below it may be free."""
    taken = set.intersection(*({int(each.name) for each in Path(f"/proc/{pid}/fd").iterdir()} for _ in range(5)))
    return next(number for number in range(len(taken) + 1) if number not in taken)


def answers(address: str) -> bool:
    """Whether a connection of its own is taken and a call on it answered."""
    options = (("grpc.use_local_subchannel_pool", 1),)
    with grpc.insecure_channel(address, options=options) as channel:
        try:
            GRPCInferenceServiceStub(channel).ModelInfer(request("simple", simple_inputs()), timeout=2)
        except grpc.RpcError:
            return False
    return True


@pytest.mark.parametrize("which", ["worker", "gateway"])
def test_should_serve_on_without_threads_and_recover(
    which: str, fleet: Fleet, loads: list[FaultLoad], tmp_path: Path, report: Report
) -> None:
    if why := PidsLimit.why_not():
        pytest.skip(why)
    gateway = fleet.gateways[0]
    server = fleet.workers[1] if which == "worker" else gateway
    load = FaultLoad(tmp_path / "records", gateway.address, place=fleet.place)
    loads.append(load)
    load.await_answers(100)
    added = f"added-to-{which}"
    with PidsLimit(server.process.pid) as limit:
        limit.no_more()
        load.await_answers(100)
        assert fleet.place.run(lambda: answers(server.address)), "a new connection needs no thread"
        adding_bundle.write(fleet.models, added, "i32")
        wait_until(lambda: model_is_ready(fleet.workers[0], added), 60, "w0 has the new model")
        load.await_answers(100)
        refused = limit.refused()
    restored = now()
    wait_until(lambda: model_is_ready(fleet.workers[1], added), 60, "w1 has the new model")
    wait_until(server.is_ready, 60, f"the {which} is ready")
    report(
        f"{which}: {refused} threads refused, ready with everything {(now() - restored) * 1e3:.0f} ms after there were"
    )
    outcomes = load.stop()
    assert failures(outcomes) == {}
    assert server.process.poll() is None


def model_is_ready(server: Server, model: str) -> bool:
    return server.get(server.ports.http, f"/v2/models/{model}/ready")[0] == 200


def test_should_lose_no_call_of_a_client_that_tries_again_when_a_gateway_is_stopped(
    fleet: Fleet, loads: list[FaultLoad], tmp_path: Path, report: Report
) -> None:
    stopped = fleet.gateways[1]
    addresses = [stopped.address, fleet.gateways[0].address]
    load = FaultLoad(tmp_path / "records", *addresses, callers=32, pause=0, retry=20, place=fleet.place)
    loads.append(load)
    load.await_answers(200)
    began = now()
    code = stopped.terminate()
    exited = now() - began
    load.await_answers(200)
    outcomes = load.stop()
    again = sum(each.attempts > 1 for each in outcomes)
    report(
        f"{len(outcomes)} calls at full load, {sum(failures(outcomes).values())} failed, {again} were made again,"
        f" exit after {exited:.1f} s"
    )
    assert failures(outcomes) == {}
    assert code in (0, 128 + signal.SIGTERM)


def test_should_lose_no_call_when_a_worker_is_stopped_behind_the_gateway(
    fleet: Fleet, loads: list[FaultLoad], tmp_path: Path, report: Report
) -> None:
    stopped = fleet.workers[1]
    load = FaultLoad(tmp_path / "records", fleet.gateways[0].address, callers=32, pause=0, place=fleet.place)
    loads.append(load)
    load.await_answers(200)
    began = now()
    code = stopped.terminate()
    exited = now() - began
    load.await_answers(200)
    outcomes = load.stop()
    report(
        f"{len(outcomes)} calls at full load, {sum(failures(outcomes).values())} failed, slowest"
        f" {max(each.seconds for each in outcomes):.2f} s, exit after {exited:.1f} s"
    )
    assert failures(outcomes) == {}
    assert code in (0, 128 + signal.SIGTERM)
