"""A real Prometheus that scrapes a node of two workers once, and what the chart's autoscalers ask it."""

import json
import os
import re
import shutil
import signal
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

import client_tools
from conftest import Report
from load import CALLERS, callers
from metrics_adapter import Kubernetes, MetricsAdapter
from supervised_node import Node
from worker_process import ROOT, SAMPLE_MODELS, free_ports, wait_until

pytestmark = pytest.mark.skipif(
    "ROUNDHOUSE_E2E_SCRAPE" not in os.environ, reason="runs a Prometheus: ./roundhouse test --scrape"
)

RULES = ROOT / "helm" / "roundhouse" / "files" / "prometheus-adapter.yaml"
BUSY, WAITING = "roundhouse_device_busy", "roundhouse_requests_waiting_per_worker"
CONFIGURATION = """
global: {{scrape_interval: 2s, scrape_timeout: 2s}}
scrape_configs:
  - job_name: node
    metrics_path: /metrics
    static_configs: [{{targets: ['127.0.0.1:{node}'], labels: {{namespace: serving, pod: node-0}}}}]
"""
ANSWERED = 'roundhouse_worker_scrape_up{worker!=""}'  # the gateway has process="gateway"
SOON = 60


class Prometheus:
    def __init__(self, folder: Path, node: int) -> None:
        self.port = free_ports().http
        configuration = folder / "prometheus.yaml"
        configuration.write_text(CONFIGURATION.format(node=node))
        command = [
            client_tools.prometheus(),
            f"--config.file={configuration}",
            f"--storage.tsdb.path={folder / 'data'}",
        ]
        self.log = folder / "prometheus.log"
        with self.log.open("w") as out:
            self.process = subprocess.Popen(
                [*command, f"--web.listen-address=127.0.0.1:{self.port}"], stdout=out, stderr=out
            )

    def ask(self, query: str) -> dict[tuple[str, str], float]:
        """Values by worker and pod, each empty where there is none."""
        asked = urllib.parse.urlencode({"query": query})
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/v1/query?{asked}", timeout=10) as response:
            found = json.load(response)["data"]["result"]
        return {
            (each["metric"].get("worker", ""), each["metric"].get("pod", "")): float(each["value"][1]) for each in found
        }

    def has(self, query: str, expected: dict[tuple[str, str], float]) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        try:
            return self.ask(query) == expected
        except OSError:
            return False

    def await_answer(self, query: str, expected: dict[tuple[str, str], float]) -> None:
        wait_until(lambda: self.has(query, expected), SOON, f"{expected} by {query}")

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    folder = tmp_path_factory.mktemp("node")
    shutil.copytree(SAMPLE_MODELS / "simple", folder / "models" / "simple")
    started = Node(folder / "models", folder / "log", "--set", "roundhouse.node.metrics.timeout=500ms")
    yield started.await_ready()
    started.close()


@pytest.fixture(scope="module")
def prometheus(node: Node, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    started = Prometheus(tmp_path_factory.mktemp("prometheus"), node.port)
    yield started
    started.close()


@pytest.fixture
def adapter(prometheus: Prometheus, tmp_path: Path) -> Iterator[MetricsAdapter]:
    kubernetes = Kubernetes("node-0")
    started = MetricsAdapter(tmp_path, RULES, prometheus.port, kubernetes)
    yield started
    started.close()
    kubernetes.close()


def adapter_query(name: str) -> str:
    """As prometheus-adapter asks it of the pods of a pool."""
    (rule,) = (each for each in yaml.safe_load(RULES.read_text())["rules"]["custom"] if each["name"]["as"] == name)
    series = re.match(r"\w+", rule["seriesQuery"])[0]
    text = rule["metricsQuery"].replace("<<.Series>>", series).replace("<<.GroupBy>>", "pod")
    return text.replace("<<.LabelMatchers>>", 'namespace="serving",pod=~"node-0"')


def test_should_scrape_every_worker_at_the_node(node: Node, prometheus: Prometheus, report: Report) -> None:
    with callers(node.gateway):
        prometheus.await_answer(ANSWERED, {("worker0", "node-0"): 1, ("worker1", "node-0"): 1})
        served = 'sum by (worker, pod) (rate(roundhouse_requests_completed_total{model="simple"}[30s])) > bool 0'
        prometheus.await_answer(served, {("worker0", "node-0"): 1, ("worker1", "node-0"): 1})
        assert prometheus.ask('count(gateway_worker_ready{process="gateway"})') == {("", ""): 2}
        took = prometheus.ask("max_over_time(scrape_duration_seconds[30s])")[("", "node-0")]
        report(f"one scrape of a node of two workers under load took {1000 * took:.0f} ms at most")


def test_should_have_what_autoscalers_ask_for(node: Node, prometheus: Prometheus) -> None:
    (series,) = {each["seriesQuery"] for each in yaml.safe_load(RULES.read_text())["rules"]["custom"]}
    with callers(node.gateway):
        prometheus.await_answer(f"{series} > bool 0", {("worker0", "node-0"): 1, ("worker1", "node-0"): 1})
        prometheus.await_answer(f"{adapter_query(BUSY)} > bool 0", {("", "node-0"): 1})
        assert 0 < prometheus.ask(adapter_query(BUSY))[("", "node-0")] <= 1
        waiting = prometheus.ask(adapter_query(WAITING))
        assert waiting.keys() == {("", "node-0")}
        assert 0 <= waiting[("", "node-0")] <= CALLERS / 2


def test_should_answer_autoscalers_through_the_adapter(
    node: Node, prometheus: Prometheus, adapter: MetricsAdapter, report: Report
) -> None:
    with callers(node.gateway):
        wait_until(lambda: adapter.values(BUSY).get("node-0", 0) > 0, SOON, "a busy device by the adapter")
        wait_until(lambda: adapter.values(WAITING).keys() == {"node-0"}, SOON, "waiting requests by the adapter")
        busy, waiting = adapter.values(BUSY)["node-0"], adapter.values(WAITING)["node-0"]
    report(f"an autoscaler is told that the device is {busy:.0%} busy and {waiting:.1f} requests wait")
    assert 0 < busy <= 1
    assert 0 <= waiting <= CALLERS / 2


def test_should_scrape_the_others_while_a_worker_hangs(node: Node, prometheus: Prometheus) -> None:
    pid = node.worker(1)["pid"]
    os.kill(pid, signal.SIGSTOP)
    try:
        prometheus.await_answer(ANSWERED, {("worker0", "node-0"): 1, ("worker1", "node-0"): 0})
        prometheus.await_answer("count by (pod) (roundhouse_memory_limit_bytes)", {("", "node-0"): 1})
        assert prometheus.ask('min_over_time(up{job="node"}[1m])') == {("", "node-0"): 1}
    finally:
        os.kill(pid, signal.SIGCONT)
    prometheus.await_answer(ANSWERED, {("worker0", "node-0"): 1, ("worker1", "node-0"): 1})
