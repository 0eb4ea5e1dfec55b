"""docker/compose.yaml, run by the commands that docs/images.md gives: ``./roundhouse test --images``.

What its variables do is asked wherever there is ``docker compose``, for which it takes no engine.
"""

import json
import os
import re
import shutil
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import spinning_bundle
from compose import PORTS, Project, free_ports, need_compose, need_init, usual_ports, variables
from conftest import Report
from container_calls import CallUnderWay, affine, sums, text
from containers import GRPC, HTTP, METRICS, NODE
from worker_process import SAMPLE_MODELS, wait_until

TAG = os.environ.get("ROUNDHOUSE_E2E_IMAGES", "")
IMAGE = f"roundhouse-node:{TAG}"
MIB = 1 << 20
AGAIN_SECONDS = 300

Look = Callable[[dict], object]

needs_images = pytest.mark.skipif(not TAG, reason="runs container images: ./roundhouse test --images")


@pytest.fixture(autouse=True)
def _there_is_compose() -> None:
    need_compose()


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The samples, and one that takes as long as it is told to."""
    folder = tmp_path_factory.mktemp("models")
    shutil.copytree(SAMPLE_MODELS, folder, dirs_exist_ok=True)
    spinning_bundle.write(folder, "spin", costly=True)
    folder.chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def node(models: Path) -> Iterator[Project]:
    """A project that is up, with nothing said that need not be; a test must leave it so."""
    need_compose()
    need_init(IMAGE)
    project = Project(ROUNDHOUSE_IMAGE=IMAGE, ROUNDHOUSE_MODELS=str(models), **usual_ports())
    try:
        yield project.up()
    finally:
        project.close()


def assert_serves(project: Project) -> None:
    assert affine(project.address(GRPC)).shape[0] == 1
    assert (sums(project.address(HTTP)) == 3).all()


def value(metrics: str, name: str) -> float:
    return sum(float(line.rpartition(" ")[2]) for line in metrics.splitlines() if line.startswith(name))


@needs_images
def test_should_serve_both_protocols_when_it_is_up(node: Project) -> None:
    assert node.health() == "healthy", "'--wait' is over before that"
    assert_serves(node)
    assert "gateway=false" in node.log()
    assert value(text(node.address(NODE), "/metrics"), "roundhouse_node_ready") == 1


@needs_images
def test_should_publish_on_loopback_alone_unless_told(node: Project) -> None:
    published = node.inspect()["NetworkSettings"]["Ports"]
    told = dict(zip(PORTS.values(), (int(node.given.get(name, port)) for name, port in PORTS.items()), strict=True))
    assert {int(port.partition("/")[0]): hosts for port, hosts in published.items()} == {
        inside: [{"HostIp": "127.0.0.1", "HostPort": str(outside)}] for inside, outside in told.items()
    }


@needs_images
def test_should_run_as_nobody_and_write_where_it_is_declared_alone(node: Project) -> None:
    assert node.execute("id", "-u") == "65532"
    assert node.execute("cat", "/proc/1/comm") == "docker-init"
    for place in ("/x", "/models/x", "/opt/roundhouse/x"):
        assert node.run("exec", "-T", "node", "touch", place).returncode != 0, place
    node.execute("touch", "/tmp/x", "/var/cache/roundhouse/x")
    status = node.execute("cat", "/proc/1/status")
    assert re.search(r"^CapBnd:\t0+$", status, re.MULTILINE), status
    assert re.search(r"^NoNewPrivs:\t1$", status, re.MULTILINE), status
    assert node.inspect()["HostConfig"]["Memory"] == 4096 * MIB


@needs_images
def test_should_compile_nothing_when_it_is_up_again(node: Project, report: Report) -> None:
    first = text(node.address(METRICS), "/metrics")
    assert value(first, "roundhouse_programs_compiled_total") > 0
    node.do("down")
    assert [kind.split()[0] for kind in node.left()] == ["volume"]
    began = time.monotonic()
    node.up()
    report(f"healthy {time.monotonic() - began:.1f} s after the second 'up'")
    second = text(node.address(METRICS), "/metrics")
    assert value(second, "roundhouse_programs_compiled_total") == 0
    assert value(second, "roundhouse_programs_cache_hits_total") > 0
    assert_serves(node)


@needs_images
def test_should_start_again_when_the_supervisor_has_died(node: Project, report: Report) -> None:
    before = node.inspect()
    began = time.monotonic()
    # process 1 has one child, the supervisor; the end of the container may cut this off
    node.run("exec", "-T", "node", "bash", "-c", "kill -KILL $(</proc/1/task/1/children)")
    wait_until(lambda: node.inspect()["RestartCount"] == before["RestartCount"] + 1, AGAIN_SECONDS, "a restart")
    wait_until(lambda: node.health() == "healthy", AGAIN_SECONDS, "health after the restart")
    report(f"healthy {time.monotonic() - began:.1f} s after the supervisor's end")
    assert node.inspect()["Id"] == before["Id"]
    assert_serves(node)


@needs_images
def test_should_stay_killed_until_it_is_up_again(node: Project) -> None:
    node.do("kill")
    state = node.inspect()["State"]
    assert (state["Status"], state["ExitCode"]) == ("exited", 137)
    assert_serves(node.up())


@needs_images
def test_should_answer_what_it_has_taken_and_end_in_time_when_it_is_stopped(node: Project, report: Report) -> None:
    metrics = node.address(METRICS)
    call = CallUnderWay(node.address(GRPC), metrics, seconds=5)
    stopping = threading.Thread(target=node.do, args=("stop",))
    told = time.monotonic()
    stopping.start()
    # nothing is taken from then on: what is answered later was under way when the signal came
    wait_until(lambda: not is_ready(metrics), 30, "the end of readiness")
    draining = time.monotonic()
    answered = call.answered()
    stopping.join(60)
    stopped = time.monotonic()
    assert answered > draining, "it had been answered before; the test needs a longer call"
    state = node.inspect()["State"]
    assert (state["Status"], state["ExitCode"]) == ("exited", 143), "137 is what did not end in time"
    report(f"stopped in {stopped - told:.1f} s, {answered - draining:.1f} s of them for the call under way")
    assert_serves(node.up())


def is_ready(address: str) -> bool:
    try:
        return "UP" in text(address, "/actuator/health/readiness")
    except (urllib.error.URLError, OSError):
        return False


@needs_images
def test_should_have_a_gateway_before_two_workers_and_leave_nothing_when_it_is_down(
    models: Path, tmp_path: Path
) -> None:
    need_init(IMAGE)
    mine = tmp_path / "mine.yaml"
    mine.write_text("services: {node: {environment: {ROUNDHOUSE_WORKER_SERVER_NAME: mine}}}\n")
    given = {"ROUNDHOUSE_IMAGE": IMAGE, "ROUNDHOUSE_MODELS": str(models), "ROUNDHOUSE_ADDRESS": "127.0.0.2"}
    project = Project(mine, ROUNDHOUSE_WORKERS="2", ROUNDHOUSE_MEMORY="3g", **given, **free_ports())
    try:
        project.up()
        assert "workers=2 gateway=true" in project.log()
        assert project.address(GRPC).startswith("127.0.0.2:")
        assert project.address(NODE).startswith("127.0.0.1:")
        assert_serves(project)
        assert json.loads(text(project.address(HTTP), "/v2"))["name"] == "mine"
        assert project.inspect()["HostConfig"]["Memory"] == 3072 * MIB
        up = value(text(project.address(NODE), "/metrics"), "roundhouse_node_process_up")
        assert up == 3, "two workers and the gateway"
        assert {each.split()[0] for each in project.left()} == {"container", "network", "volume"}
        project.do("down", "--volumes")
        assert project.left() == []
    finally:
        project.close()


@needs_images
def test_should_refuse_a_folder_of_models_that_is_not_there_and_not_make_it(tmp_path: Path) -> None:
    need_init(IMAGE)
    absent = tmp_path / "absent"
    project = Project(ROUNDHOUSE_IMAGE=IMAGE, ROUNDHOUSE_MODELS=str(absent), **free_ports())
    try:
        refused = project.run("up", "--detach", "--wait")
        assert refused.returncode != 0
        assert str(absent) in refused.stderr
        assert not absent.exists()
    finally:
        project.close()
    assert project.left() == []


def published(config: dict) -> dict[int, tuple[str, int]]:
    return {each["target"]: (each["host_ip"], int(each["published"])) for each in config["services"]["node"]["ports"]}


def source(config: dict) -> str:
    return next(each["source"] for each in config["services"]["node"]["volumes"] if each["target"] == "/models")


USES: dict[str, tuple[str, Look, object, object]] = {
    "ROUNDHOUSE_IMAGE": ("a/node:7", lambda config: config["services"]["node"]["image"], None, "a/node:7"),
    "ROUNDHOUSE_MODELS": ("/a b", source, str(SAMPLE_MODELS), "/a b"),
    "ROUNDHOUSE_WORKERS": (
        "3",
        lambda config: config["services"]["node"]["environment"],
        {"ROUNDHOUSE_NODE_DEVICES_CPU_WORKERS": "1"},
        {"ROUNDHOUSE_NODE_DEVICES_CPU_WORKERS": "3"},
    ),
    "ROUNDHOUSE_MEMORY": (
        "6g",
        lambda config: int(config["services"]["node"]["mem_limit"]),
        4096 * MIB,
        6144 * MIB,
    ),
    "ROUNDHOUSE_ADDRESS": (
        "0.0.0.0",
        lambda config: {port: address for port, (address, _) in published(config).items()},
        dict.fromkeys((HTTP, GRPC, METRICS, NODE), "127.0.0.1"),
        dict.fromkeys((HTTP, GRPC), "0.0.0.0") | dict.fromkeys((METRICS, NODE), "127.0.0.1"),
    ),
} | {
    name: ("9000", lambda config, port=port: published(config)[port], ("127.0.0.1", port), ("127.0.0.1", 9000))
    for name, port in PORTS.items()
}


@pytest.mark.parametrize("name", sorted(variables()))
def test_should_do_what_a_variable_says(name: str) -> None:
    given, look, usual, expected = USES[name]
    if usual is not None:  # the image's is test_image_files'
        assert look(Project().config()) == usual
    assert look(Project(**{name: given}).config()) == expected
