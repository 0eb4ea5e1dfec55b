"""Rules and dashboards name what there is; promtool and a real Prometheus take them, and find data.

What needs Prometheus is skipped where it is not in the cache: ``./roundhouse test --scrape`` fetches it, and runs all.
"""

import json
import math
import os
import re
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

import client_tools
import observed
from conftest import Report
from load import callers
from observed import ADDED, DASHBOARDS, Expression
from supervised_node import Node
from unused_ports import unused_ports
from worker_process import ROOT, SAMPLE_MODELS, wait_until

WHOLE = "ROUNDHOUSE_E2E_SCRAPE" in os.environ
TESTS = ROOT / "e2e-tests" / "alerts" / "alerts_test.yaml"
OPERATIONS = ROOT / "docs" / "operations.md"
ALL = [*observed.ruled(), *(each for file in DASHBOARDS for each in observed.drawn(file))]
SOON = 90


def promtool(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    if not WHOLE and not client_tools.has_prometheus():
        pytest.skip("there is no Prometheus on this machine; ./roundhouse test --scrape fetches it")
    program = client_tools.prometheus().with_name("promtool")
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=60)


def anchors() -> set[str]:
    titles = re.findall(r"^#+ (.*)$", OPERATIONS.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("expression", ALL, ids=lambda each: each.where)
def test_should_name_series_and_labels_that_there_are(expression: Expression) -> None:
    there = observed.told()
    selected = list(expression.selected())
    assert selected
    for name, labels in selected:
        assert name in there
        assert labels <= there[name] | ADDED, name
    assert expression.grouped() <= {"le"} | ADDED | set().union(*(there[name] for name, _ in selected))


@pytest.mark.parametrize("file", DASHBOARDS, ids=lambda file: file.stem)
def test_should_offer_labels_that_there_are(file: Path) -> None:
    there = observed.told()
    for expression, label in observed.offered(file):
        ((name, matched),) = expression.selected()
        assert matched | {label} <= there[name] | ADDED


def test_should_find_names_and_labels_in_an_expression() -> None:
    text = 'sum by (a, le) (rate(x_bucket{b=~"c|d",e!="f g"}[5m])) / on (h) scalar(count(y:z)) and up > bool 0.5'
    expression = Expression("", text)
    assert list(expression.selected()) == [("x_bucket", {"b", "e"}), ("y:z", set()), ("up", set())]
    assert expression.grouped() == {"a", "le", "h"}


def test_should_say_what_an_alert_is_and_what_to_do() -> None:
    text = OPERATIONS.read_text()
    for alert in observed.alerts():
        name, notes = alert["alert"], alert["annotations"]
        assert set(notes) == {"summary", "description", "runbook"}, name
        assert "$value" in notes["description"], name
        page, anchor = notes["runbook"].split("#")
        assert ROOT / page == OPERATIONS, name
        assert anchor in anchors(), name
        assert f"| `{name}` |" in text, name
        assert alert["labels"]["severity"] in ("critical", "warning", "info"), name


def test_should_tell_of_no_alert_that_there_is_not() -> None:
    rows = re.findall(r"^\| `(Roundhouse\w+)` \|", OPERATIONS.read_text(), re.MULTILINE)
    assert rows == [alert["alert"] for alert in observed.alerts()]


def test_should_have_an_alert_fire_in_a_test_each() -> None:
    tests = yaml.safe_load(TESTS.read_text())["tests"]
    fired = {each["alertname"] for test in tests for each in test.get("alert_rule_test", []) if each["exp_alerts"]}
    assert fired == {alert["alert"] for alert in observed.alerts()}


@pytest.mark.parametrize("file", DASHBOARDS, ids=lambda file: file.stem)
def test_should_be_a_dashboard_that_grafana_can_tell_from_others(file: Path) -> None:
    board = observed.dashboard(file)
    assert board["uid"] == f"roundhouse-{file.stem}"
    panels = board["panels"]
    assert len({panel["id"] for panel in panels}) == len({panel["title"] for panel in panels}) == len(panels)
    for panel in panels:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])
    taken = [(at["y"], x) for at in (panel["gridPos"] for panel in panels) for x in range(at["x"], at["x"] + at["w"])]
    assert len(set(taken)) == len(taken)


def test_should_fire_in_staged_faults_and_be_silent_in_ordinary_load() -> None:
    for command in (("check", "rules", observed.RULES), ("test", "rules", TESTS)):
        done = promtool(*command)
        assert done.returncode == 0, done.stdout + done.stderr


def beside(command: str, cache: Path, path: str) -> subprocess.Popen[str]:
    """A program in the place of the server, started as ``up --observe`` starts that."""
    script = f"""
        ROOT=$PWD CLI=$PWD/tools/cli CACHE={cache}
        for part in terminal child tools ports observe; do source tools/cli/$part.sh; done
        begin_steps 1
        ensure_prometheus
        start_observer 0 1
        exec {command}
        """
    start = ["bash", "-euo", "pipefail", "-c", script]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(start, cwd=ROOT, env=os.environ | {"PATH": path}, **pipes)


def is_served(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=10):
            return True
    except urllib.error.HTTPError:
        return True
    except urllib.error.URLError:
        return False


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_should_end_prometheus_when_the_server_ends(how: signal.Signals, tmp_path: Path) -> None:
    program = client_tools.prometheus() if WHOLE or client_tools.has_prometheus() else None
    if not program:
        pytest.skip("there is no Prometheus on this machine; ./roundhouse test --scrape fetches it")
    server = beside("sleep 600", tmp_path, f"{program.parent}:{os.environ['PATH']}")
    try:
        url = server.stdout.readline().removeprefix("observe ").strip()
        assert is_served(url)
        server.send_signal(how)
        server.wait(20)
        wait_until(lambda: not is_served(url), 20, "the end of Prometheus")
    finally:
        server.kill()
        server.communicate()


def test_should_say_how_to_get_a_prometheus_when_there_is_none(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for program in ("bash", "mkdir", "mktemp", "rm"):
        (tmp_path / "bin" / program).symlink_to(shutil.which(program))
    done = beside("true", tmp_path / "cache", str(tmp_path / "bin"))
    said = done.communicate(timeout=60)[1]
    assert done.returncode == 1
    assert "there is no 'prometheus' on PATH, which --observe needs, and no apt-get to fetch it with" in said


# --- a node under load, with the Prometheus that up --observe starts

live = pytest.mark.skipif(not WHOLE, reason="runs a node and a Prometheus: ./roundhouse test --scrape")
# what a node on the CPU that places nothing has not, with the reason
WITHOUT = {
    "roundhouse_node_device_memory_used_bytes": "no GPU",
    "roundhouse_node_device_memory_total_bytes": "no GPU",
    "roundhouse_device_memory_in_use_bytes": "the CPU plugin counts none",
    "roundhouse_device_memory_limit_bytes": "the CPU plugin counts none",
    "roundhouse_device_memory_peak_bytes": "the CPU plugin counts none",
    "roundhouse_device_memory_largest_free_block_bytes": "the CPU plugin counts none",
    "gateway_model_replicas": "not in lpt_packing",
    "gateway_model_utilization": "not in lpt_packing",
    "gateway_replica_outstanding": "not in lpt_packing",
}
MODELS = ("simple", "scalar")


class Observed:
    """A node that was started with --observe."""

    def __init__(self, folder: Path) -> None:
        (self.port,) = unused_ports(1)
        self.models = folder / "models"
        for model in MODELS:
            shutil.copytree(SAMPLE_MODELS / model, self.models / model)
        # so that weights have a budget
        settings = ("residency.device-memory=1GB", "device.cpu.weights=copy")
        options = ["--observe", "--observe-port", str(self.port)]
        for setting in settings:
            options += ["--set", f"roundhouse.worker.{setting}"]
        self.node = Node(self.models, folder / "log", *options)

    def get(self, path: str) -> dict:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/v1/{path}", timeout=10) as response:
            return json.load(response)["data"]

    def ask(self, query: str) -> list[float]:
        found = self.get(f"query?{urllib.parse.urlencode({'query': query})}")["result"]
        return [float(each["value"][1]) for each in found]

    def drawn(self, expression: Expression) -> list[float]:
        """What a panel has drawn of the last minutes, with a step of 5 s."""
        now = time.time()
        query = {"query": expression.asked("1m"), "start": now - 180, "end": now, "step": 5}
        found = self.get(f"query_range?{urllib.parse.urlencode(query)}")["result"]
        return [float(value) for each in found for _, value in each["values"]]

    def lacks(self, expressions: list[Expression]) -> list[Expression]:
        """Those to which there is no number."""
        return [each for each in expressions if all(math.isnan(value) for value in self.drawn(each))]

    def await_data(self, expressions: list[Expression]) -> None:
        missing = expressions

        def is_found() -> bool:
            nonlocal missing
            missing = self.lacks(missing)
            return not missing

        try:
            wait_until(is_found, SOON, "data for every query")
        except AssertionError as late:
            late.add_note("\n".join(f"{each.where}: {each.text}" for each in missing))
            raise

    def await_alerts(self, state: str, name: str, count: int) -> None:
        query = f'ALERTS{{alertname="{name}",alertstate="{state}"}}'
        wait_until(lambda: len(self.ask(query)) == count, SOON, f"{count} of {query}")


@pytest.fixture(scope="module")
def observing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Observed]:
    started = Observed(tmp_path_factory.mktemp("node"))
    try:
        started.node.await_ready()
        yield started
    finally:
        started.node.close()


@live
def test_should_tell_where_prometheus_is(observing: Observed) -> None:
    assert f"\nobserve http://127.0.0.1:{observing.port}\n" in observing.node.log()
    (target,) = observing.get("targets")["activeTargets"]
    assert target["scrapeUrl"] == f"http://127.0.0.1:{observing.node.port}/metrics"


@live
def test_should_find_data_for_every_query_of_every_dashboard(observing: Observed, report: Report) -> None:
    drawn = [each for file in DASHBOARDS for each in observed.drawn(file)]
    asked = [each for each in drawn if not any(name in WITHOUT for name, _ in each.selected())]
    assert len(asked) > len(drawn) - 12
    recorded = [Expression(rule["record"], rule["record"]) for rule in observed.rules() if "record" in rule]
    with callers(observing.node.gateway):
        observing.await_data(asked)
        observing.await_data(recorded)
    series = observing.ask('count({model="simple",worker="worker0"})')
    took = observing.ask("max_over_time(scrape_duration_seconds[5m])")
    report(f"{len(asked)} queries had data; a model has {series[0]:.0f} series; scrapes took {took[0]:.2f} s at most")


@live
def test_should_evaluate_every_rule_and_fire_none(observing: Observed) -> None:
    groups = observing.get("rules")["groups"]
    found = [rule for group in groups for rule in group["rules"]]
    assert len(found) == len(observed.rules())
    wait_until(
        lambda: all(rule["health"] == "ok" for group in observing.get("rules")["groups"] for rule in group["rules"]),
        SOON,
        "every rule evaluated",
    )
    assert observing.ask('ALERTS{alertstate="firing"}') == []


@live
def test_should_notice_a_worker_that_hangs(observing: Observed) -> None:
    pid = observing.node.worker(1)["pid"]
    os.kill(pid, signal.SIGSTOP)
    try:
        observing.await_alerts("pending", "RoundhouseWorkerNotAnswering", 1)
    finally:
        os.kill(pid, signal.SIGCONT)
    observing.await_alerts("pending", "RoundhouseWorkerNotAnswering", 0)


@live
def test_should_notice_a_model_that_does_not_load(observing: Observed) -> None:
    broken = observing.models / "broken"
    broken.mkdir()
    try:
        (broken / "manifest.yaml").write_text("name: [")
        observing.await_alerts("pending", "RoundhouseModelsFailed", 2)
    finally:
        shutil.rmtree(broken)
    observing.await_alerts("pending", "RoundhouseModelsFailed", 0)
