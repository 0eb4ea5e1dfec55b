"""Traces from the Java client through gateway and worker, as a real OpenTelemetry Collector has them."""

import json
import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import client_tools
import java_bundles
from conftest import logs_shown
from node_process import NodeProcess
from trained import java
from unused_ports import unused_ports
from worker_process import ROOT, SAMPLE_MODELS, trained_worker, wait_until

pytestmark = pytest.mark.skipif(
    "ROUNDHOUSE_E2E_TRACE" not in os.environ, reason="builds a collector: ./roundhouse test --trace"
)

FOLDER = Path(__file__).parent / "collector"
TWICE_CONTRACT = """\
client_inputs:
- {name: x, dtype: f32, shape: [n, 16]}
client_outputs:
- {name: y, dtype: f32, shape: [n, 4]}
"""
TWICE = """\
import dev.roundhouse.hooks.*;

/** Calls affine, and once more. */
class Model implements MetaModel {
  @Override
  public Tensors run(HookRequest request, Calls calls) {
    Tensors x = Tensors.of(request.input("x"));
    calls.call("affine", x);
    return calls.call("affine", x);
  }
}
"""
ENSEMBLE = """\
format_version: "3"
kind: ensemble
inputs: [{name: x, dtype: f32, shape: [n, 16]}]
outputs: [{name: y, dtype: f32, shape: [n, 4]}, {name: z, dtype: f32, shape: [n, 4]}]
steps:
- {model: affine, inputs: {x: x}, outputs: {y: y}}
- {model: affine, inputs: {x: x}, outputs: {y: z}}
files: {}
"""
STAGES = {"queue", "input", "compute", "output"}


@dataclass(frozen=True)
class Span:
    service: str
    name: str
    trace: str
    id: str
    parent: str


class Collector:
    """Owns the process, with ports of its own and a folder for what it writes."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.grpc, self.http = unused_ports(2)
        configuration = (FOLDER / "collector.yaml").read_text()
        for named, own in ((4317, self.grpc), (4318, self.http)):
            assert f":{named}}}" in configuration
            configuration = configuration.replace(f":{named}}}", f":{own}}}")
        (folder / "collector.yaml").write_text(configuration)
        self.log, self._spans = folder / "log", folder / "spans.json"
        command = [client_tools.go_module(FOLDER, "collector"), "--config=collector.yaml"]
        with self.log.open("w") as out:
            self.process = subprocess.Popen(command, cwd=folder, stdout=out, stderr=out)

    def await_ready(self) -> "Collector":
        wait_until(lambda: "Everything is ready" in self.log.read_text(), 30, "the collector is ready")
        return self

    def endpoint(self, protocol: str) -> str:
        return f"http://127.0.0.1:{self.grpc if protocol == 'grpc' else self.http}"

    def spans(self) -> list[Span]:
        """Of whole lines: the last may be half written."""
        text = self._spans.read_text() if self._spans.exists() else ""
        return [span for line in text.split("\n")[:-1] for span in _spans(json.loads(line))]

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(30)


def _spans(message: dict) -> Iterator[Span]:
    for resource in message["resourceSpans"]:
        attributes = {each["key"]: each["value"].get("stringValue", "") for each in resource["resource"]["attributes"]}
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                ids = span["traceId"], span["spanId"], span.get("parentSpanId", "")
                yield Span(attributes["service.name"], span["name"], *ids)


@dataclass(frozen=True)
class Served:
    collector: Collector
    node: NodeProcess
    protocol: str


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("traced")
    shutil.copytree(SAMPLE_MODELS / "affine", folder / "affine")
    (folder / "both").mkdir()
    (folder / "both" / "manifest.yaml").write_text(ENSEMBLE)
    java_bundles.write(folder, "twice", TWICE_CONTRACT, TWICE, "affine")
    return folder


@pytest.fixture(scope="module", params=["grpc", "http"])
def served(request: pytest.FixtureRequest, models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp(request.param)
    collector = Collector(folder / "collector")
    try:
        endpoint = collector.await_ready().endpoint(request.param)
        settings = [
            f"--roundhouse.{role}.telemetry.{setting}"
            for role in ("worker", "gateway")
            for setting in (f"endpoint={endpoint}", f"protocol={request.param}", "sample-ratio=0")
        ]
        node = NodeProcess.launch(1, models, folder / "log", *settings)
        try:
            with logs_shown(node):
                node.await_ready()
                yield Served(collector, node, request.param)
        finally:
            node.close()
    finally:
        collector.close()


def class_path() -> str:
    """The client, and what it and OpenTelemetry's SDK need out of what the worker brings."""
    named = os.environ.get("ROUNDHOUSE_E2E_CLIENT_JAR")
    client = Path(named) if named else next((ROOT / "kserve-client" / "target").glob("kserve-client-*.jar"))
    return f"{client}:{trained_worker().jar.parent / 'lib'}/*"


@pytest.mark.parametrize(("model", "calls"), [("affine", 0), ("both", 2), ("twice", 2)])
def test_should_have_one_tree_from_the_application_to_the_stages(served: Served, model: str, calls: int) -> None:
    collector, protocol = served.collector, served.protocol
    program = [java(), "-cp", class_path(), str(FOLDER / "TracedCalls.java")]
    arguments = [served.node.address, model, protocol, collector.endpoint(protocol)]
    done = subprocess.run([*program, *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    one, stream = done.stdout.split()
    gateway, worker = ("roundhouse-gateway", f"infer {model}"), ("roundhouse-worker", f"infer {model}")
    client, sent = ("application", f"infer {model}"), ("roundhouse-gateway", "worker w0")
    once = {one: [("application", "one"), client, gateway, sent], stream: [("application", "stream"), gateway, sent]}
    requests = {one: 1, stream: 2}

    def ended() -> bool:
        seen = Counter((span.trace, (span.service, span.name)) for span in collector.spans())
        return all(seen[trace, name] for trace in once for name in once[trace]) and all(
            seen[trace, worker] == count for trace, count in requests.items()
        )

    wait_until(ended, 30, "the spans of both traces have come")
    for trace, way in once.items():
        seen = Counter(ways([span for span in collector.spans() if span.trace == trace]))
        for depth in range(1, len(way) + 1):
            assert seen.pop(tuple(way[:depth])) == 1
        assert seen.pop((*way, worker)) == requests[trace]
        within = (*way, worker)
        if calls:
            within = (*within, ("roundhouse-worker", "call affine"))
            assert seen.pop(within) == calls * requests[trace]
        assert seen[*within, ("roundhouse-worker", "compute")] == max(1, calls) * requests[trace]
        assert set(seen) <= {(*within, ("roundhouse-worker", stage)) for stage in STAGES}, "and nothing else"


def ways(spans: list[Span]) -> Iterator[tuple[tuple[str, str], ...]]:
    """Of each span of one trace, the services and names of all that it is within, the outermost first, and its own."""
    by_id = {span.id: span for span in spans}

    def way(span: Span) -> tuple[tuple[str, str], ...]:
        above = way(by_id[span.parent]) if span.parent else ()
        return (*above, (span.service, span.name))

    return map(way, spans)
