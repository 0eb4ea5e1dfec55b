"""``./roundhouse up --workers N``: a supervisor with workers and a gateway before them."""

import json
import os
import re
import shutil
import signal
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import pytest
import tritonclient.grpc as triton
from tritonclient.grpc.service_pb2_grpc import GRPCInferenceServiceStub

import observed
import spinning_bundle
from calls import request
from conftest import Report
from faults import FaultLoad, disturbed, failures, now
from live_page import look_at_gateway, look_at_node
from supervised_node import QUICK, SCRIPT, Node, children_of, is_running
from worker_process import ROOT, SAMPLE_MODELS, START_SECONDS, wait_until

GATEWAY = 2  # of the processes, after two workers
HANG_LIMIT_SECONDS = 2
DEADLINE = 30
FOR_EVER = 2**62
SLOW_SECONDS = 0.5
PAUSE_SECONDS = 0.05
STEP = re.compile(r"\[\d/\d\] ")  # what ./roundhouse says before it starts the supervisor


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """The same for the tests that follow, the last of which stops it."""
    folder = tmp_path_factory.mktemp("node")
    models = folder / "models"
    shutil.copytree(SAMPLE_MODELS / "simple", models / "simple")
    spinning_bundle.write(models, "spin", costly=True)
    limit = f"roundhouse.worker.watchdog.device-call={HANG_LIMIT_SECONDS}s"
    started = Node(models, folder / "log", "--set", limit, *QUICK)
    yield started
    started.close()


@pytest.fixture(scope="module")
def node_of_records(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    folder = tmp_path_factory.mktemp("node")
    models = folder / "models"
    shutil.copytree(SAMPLE_MODELS / "simple", models / "simple")
    started = Node(models, folder / "log", "--set", "logging.structured.format.console=ecs", *QUICK)
    try:
        ready = '"message":"ready grpc='
        started.await_log(lambda log: log.count(ready) == 4, "4 x ready")
        yield started
    finally:
        started.close()


def fields(record: dict, above: str = "") -> Iterator[str]:
    for name, value in record.items():
        if isinstance(value, dict):
            yield from fields(value, f"{above}{name}.")
        else:
            yield above + name


def documented_fields() -> set[str]:
    """Of the table in docs/logs.md."""
    page = (ROOT / "docs" / "logs.md").read_text()
    rows = page.split("| field | in records | |")[1].split("\n\n")[0].splitlines()
    return {field for row in rows[2:] for field in re.findall(r"`([^`]+)`", row.split("|")[1])}


def server_ready(port: int) -> bool:
    with triton.InferenceServerClient(f"127.0.0.1:{port}") as client:
        return client.is_server_ready()


def killed(process: dict) -> dict:
    os.kill(process["pid"], signal.SIGKILL)
    return process


@pytest.fixture
def loads(tmp_path: Path, node: Node) -> Iterator[Callable[..., FaultLoad]]:
    """Starts callers of the gateway that end with the test at the latest."""
    started: list[FaultLoad] = []

    def start(**options: float) -> FaultLoad:
        # at a pace that leaves processors to what starts again
        load = FaultLoad(tmp_path / f"records-{len(started)}", node.gateway, **({"pause": PAUSE_SECONDS} | options))
        started.append(load)
        load.await_answers(50)
        return load

    yield start
    for load in started:
        load.close()


def test_should_answer_every_call_while_a_worker_is_killed(
    node: Node, loads: Callable[..., FaultLoad], report: Report
) -> None:
    node.await_ready()
    for index in range(2):
        assert server_ready(node.worker(index)["ports"]["grpc"])
    load = loads()
    killed(node.worker(1))
    wait_until(
        lambda: node.worker(1)["restarts"] == 1 and node.worker(1)["ready"], START_SECONDS, "the second worker again"
    )
    load.await_answers(50)
    outcomes = load.stop()
    assert failures(outcomes) == {}
    slowest = max(each.seconds for each in outcomes)
    report(f"{len(outcomes)} calls while one of two workers was killed, none failed, slowest {slowest:.2f} s")
    assert node.worker(1)["lastExit"] == 128 + signal.SIGKILL
    assert node.worker(0)["restarts"] == 0
    assert server_ready(node.worker(1)["ports"]["grpc"])


def test_should_show_each_worker_in_a_terminal(node: Node) -> None:
    node.await_ready()
    command = [SCRIPT, "top", str(node.metrics), "--once"]
    several = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE)
    assert several.returncode == 1
    names = several.stderr.strip().partition("choose one with --worker NAME, of ")[2].split(", ")
    assert len(names) == 2
    for name in names:
        shown = subprocess.run([*command, "--worker", name], capture_output=True, text=True, timeout=DEADLINE)
        assert shown.returncode == 0, shown.stderr
        assert [row.split()[:2] for row in shown.stdout.splitlines()[4:]] == [["simple", "ready"], ["spin", "ready"]]


def test_should_drain_a_worker_from_the_gateways_page(node: Node, tmp_path: Path) -> None:
    node.await_ready()
    seen = look_at_gateway(f"127.0.0.1:{node.metrics}", tmp_path, "usual")
    assert seen["errors"] == []
    assert [(row[0], row[2]) for row in seen["rows"]] == [("worker0", "ready"), ("worker1", "ready")]
    assert sorted(row[0] for row in seen["placed"]) == sorted(seen["models"]) == ["simple", "spin"]
    assert {row[1] for row in seen["placed"]} == {"2"}
    drained = seen["hash"].removeprefix("#").split("/")[0]
    assert seen["drain"]["question"].startswith(f"Drain worker '{drained}'?")
    assert {row[0]: (row[2], row[7]) for row in seen["drained"]}[drained] == ("not ready", "it says so")
    assert sum(row[2] == "ready" for row in seen["drained"]) == 1
    assert '"ready":true' in seen["serving"]["done"]


def test_should_show_its_processes_on_its_page(node: Node, tmp_path: Path) -> None:
    seen = look_at_node(f"127.0.0.1:{node.port}", tmp_path, "usual")
    assert seen["errors"] == []
    assert {row[0]: row[1] for row in seen["rows"]} == dict.fromkeys(("gateway", "worker0", "worker1"), "running")
    assert sorted(seen["models"]) == ["simple", "spin"]
    assert (seen["byKeys"], seen["byClick"]) == ("worker0", "worker1")


def test_should_show_only_metrics_that_the_page_describes(node: Node) -> None:
    """At the node's port, which has its own, its gateway's and its workers', and at the gateway's."""
    node.await_ready()
    for port in (node.port, node.metrics):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=DEADLINE) as response:
            scrape = response.read().decode()
        for own in ("gateway_requests_total", "roundhouse_executions_total"):
            assert f"\n{own}{{" in scrape
        assert observed.strange(scrape) == set()


def test_should_answer_every_call_while_a_device_hangs(
    node: Node, loads: Callable[..., FaultLoad], report: Report
) -> None:
    before = [node.worker(index)["restarts"] for index in range(2)]
    load = loads(deadline=DEADLINE)
    with grpc.insecure_channel(f"127.0.0.1:{node.worker(1)['ports']['grpc']}") as channel:
        began = now()
        hanging = GRPCInferenceServiceStub(channel).ModelInfer.future(
            request("spin", spinning_bundle.turns(FOR_EVER)), timeout=DEADLINE
        )
        error = hanging.exception()
    told = now() - began
    wait_until(lambda: not node.gateway_sees("worker1"), 30, "the gateway takes the worker for not ready")
    unready = now() - began
    wait_until(
        lambda: node.worker(1)["restarts"] == before[1] + 1 and node.gateway_sees("worker1"), START_SECONDS, "it again"
    )
    again = now() - began
    load.await_answers(50)
    outcomes = load.stop()
    late = [each for each in outcomes if each.seconds > DEADLINE + 1]
    report(
        f"the call that hangs told after {told:.1f} s (limit {HANG_LIMIT_SECONDS} s), not ready for the gateway after"
        f" {unready:.1f} s, served from again after {again:.1f} s; {len(outcomes)} other calls, none failed,"
        f" {len(late)} beyond their deadline of {DEADLINE} s, slowest {max(each.seconds for each in outcomes):.1f} s"
    )
    assert error.code() == grpc.StatusCode.UNAVAILABLE
    assert failures(outcomes) == {}
    assert late == []
    assert node.worker(1)["lastExit"] == 70
    assert node.worker(0)["restarts"] == before[0]


def test_should_answer_every_call_that_is_made_again_when_the_gateway_is_killed(
    node: Node, loads: Callable[..., FaultLoad], report: Report
) -> None:
    before = [each["restarts"] for each in node.status()["processes"]]
    load = loads(retry=2 * START_SECONDS)
    began = now()
    killed(node.worker(GATEWAY))
    wait_until(
        lambda: node.worker(GATEWAY)["restarts"] == before[GATEWAY] + 1 and node.worker(GATEWAY)["ready"],
        START_SECONDS,
        "the gateway again",
    )
    load.await_answers(50)
    outcomes = load.stop()
    again = sum(each.attempts > 1 for each in outcomes)
    report(
        f"{len(outcomes)} calls, none failed, {again} were made again, answered again after"
        f" {disturbed(outcomes, began, SLOW_SECONDS):.1f} s"
    )
    assert failures(outcomes) == {}
    assert [each["restarts"] for each in node.status()["processes"]] == [*before[:GATEWAY], before[GATEWAY] + 1]


def test_should_answer_what_it_has_taken_and_leave_nothing_when_it_is_stopped_at_full_load(
    node: Node, loads: Callable[..., FaultLoad], report: Report
) -> None:
    load = loads(callers=32, pause=0)
    load.await_answers(200)
    children = children_of(node.process.pid)
    began = now()
    node.process.terminate()
    assert node.process.wait(60) in (0, 128 + signal.SIGTERM)
    exited = now() - began
    outcomes = load.stop()
    taken = [each for each in outcomes if each.began < began]
    after = [each for each in outcomes if each.began >= began]
    report(
        f"stopped at full load: {len(taken)} calls begun before, {sum(failures(taken).values())} of them failed; of"
        f" {len(after)} begun later {len(after) - sum(failures(after).values())} answered; exit after {exited:.1f} s"
    )
    assert failures(taken) == {}
    assert {each.status for each in after} <= {"OK", "UNAVAILABLE"}
    assert not [child for child in children if is_running(child)]
    log = node.log()
    assert log.rindex("gateway ended") < log.rindex("worker0 ended")


def test_should_log_nothing_but_records(node_of_records: Node) -> None:
    lines = [line for line in node_of_records.log().splitlines() if not STEP.match(line)]
    records = [json.loads(line) for line in lines]
    assert all({"@timestamp", "message", "ecs"} <= record.keys() for record in records), lines
    assert {field for record in records for field in fields(record)} <= documented_fields()
    told = {record.get("service", {}).get("node", {}).get("name") for record in records}
    assert {"worker0", "worker1", "gateway"} <= told
    ready = [record["message"] for record in records if record["message"].startswith("ready grpc=")]
    assert len(ready) == 4, "two workers, the gateway and the node"


def test_should_leave_no_worker_behind_when_the_supervisor_is_killed(node_of_records: Node) -> None:
    node = node_of_records
    children = children_of(node.process.pid)
    assert len(children) == 3
    descendants = children | {each for child in children for each in children_of(child)}
    node.process.kill()
    wait_until(lambda: not any(is_running(each) for each in descendants), 60, f"the end of {descendants}")


@pytest.mark.parametrize(
    ("arguments", "memory", "complaint"),
    [
        (("--workers", "0"), "8000", "--workers takes a number from 1 to 999, not '0'"),
        (("--workers", "2", "--grpc-port", "8003"), "8000", "port 8003 is given twice"),
        (("--workers", "2", "--set", "server.port=1"), "8000", "--set takes keys that begin with roundhouse.worker."),
        (("--workers", "3"), "4000", "3 workers need 4032 MiB with their gateway and may use 4000 MiB here"),
    ],
)
def test_should_refuse_and_name_the_flag(arguments: tuple[str, ...], memory: str, complaint: str) -> None:
    environment = os.environ | {"ROUNDHOUSE_MEMORY_MIB": memory}
    ports = ("--http-port", "0", "--metrics-port", "0")
    result = subprocess.run(
        [SCRIPT, "up", *ports, *arguments], capture_output=True, text=True, env=environment, timeout=60
    )
    assert result.returncode != 0
    assert complaint in result.stderr
