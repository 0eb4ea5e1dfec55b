"""What is told of a request through a gateway to a worker: its trace, as a collector has it, and its receipt."""

import json
import os
import socket
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from tritonclient.grpc import InferInput

from conftest import logs_shown
from node_process import NodeProcess
from otlp_receiver import OtlpReceiver, Span
from worker_process import SAMPLE_MODELS

TRACE = "0af7651916cd43dd8448eb211c80319c"
CALLER = "b7ad6b7169203331"


@pytest.fixture(scope="module")
def collector() -> Iterator[OtlpReceiver]:
    with OtlpReceiver() as receiver:
        yield receiver


@pytest.fixture(scope="module")
def node(collector: OtlpReceiver, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeProcess]:
    settings = [
        f"--roundhouse.{role}.telemetry.{setting}"
        for role in ("worker", "gateway")
        for setting in (f"endpoint={collector.endpoint}", "protocol=http", "sample-ratio=0")
    ]
    log: Path = tmp_path_factory.mktemp("spans") / "log"
    process = NodeProcess.launch(1, SAMPLE_MODELS, log, *settings)
    try:
        with logs_shown(process):
            process.await_ready()
            yield process
    finally:
        process.close()


def test_should_have_one_tree_from_the_caller_to_the_stages(collector: OtlpReceiver, node: NodeProcess) -> None:
    x = InferInput("x", [3], "FP32")
    x.set_data_from_numpy(np.ones(3, np.float32))
    with node.client() as client:
        client.infer("scalar", [x], headers={"traceparent": f"00-{TRACE}-{CALLER}-01", "tracestate": "a=b"})
        client.infer("scalar", [x])
    collector.await_spans(2, lambda span: span.trace == TRACE and span.name == "infer scalar")
    spans = [span for span in collector.spans if span.trace == TRACE]
    at_gateway, at_worker = sorted((s for s in spans if s.name == "infer scalar"), key=lambda s: s.service)
    sent = one(spans, "worker w0")
    assert (at_gateway.service, at_worker.service) == ("roundhouse-gateway", "roundhouse-worker")
    assert at_gateway.parent == CALLER
    assert sent.parent == at_gateway.id
    assert at_worker.parent == sent.id
    stages = [span for span in spans if span.parent == at_worker.id]
    assert {stage.name for stage in stages} <= {"queue", "input", "compute", "output"}
    assert one(stages, "compute").attributes == {}
    for outer, inner in [(at_gateway, sent), (sent, at_worker), *((at_worker, stage) for stage in stages)]:
        assert outer.start_ns <= inner.start_ns <= inner.end_ns, (outer, inner)
    for stage in stages:
        assert stage.end_ns <= at_worker.end_ns
    assert {span.trace for span in collector.spans} == {TRACE}, "the other request was not sampled"


def ask_by_grpc(node: NodeProcess) -> dict[str, object]:
    """The parameters of an answer to a request that wants a receipt."""
    x = InferInput("x", [3], "FP32")
    x.set_data_from_numpy(np.ones(3, np.float32))
    with node.client() as client:
        answer = client.infer("scalar", [x], parameters={"roundhouse_receipt": True}).get_response()
    return {name: getattr(each, each.WhichOneof("parameter_choice")) for name, each in answer.parameters.items()}


def ask_by_http(node: NodeProcess) -> dict[str, object]:
    tensor = {"name": "x", "datatype": "FP32", "shape": [3], "data": [1, 2, 3]}
    body = json.dumps({"parameters": {"roundhouse_receipt": True}, "inputs": [tensor]}).encode()
    url = f"http://{node.host}:{node.ports.http}/v2/models/scalar/infer"
    with urllib.request.urlopen(urllib.request.Request(url, body), timeout=30) as answer:
        return json.load(answer)["parameters"]


@pytest.mark.parametrize("ask", [ask_by_grpc, ask_by_http])
def test_should_have_the_receipt_of_the_worker(
    ask: Callable[[NodeProcess], dict[str, object]], node: NodeProcess
) -> None:
    began = time.monotonic_ns()
    parameters = ask(node)
    took = time.monotonic_ns() - began
    receipt = {name.removeprefix("roundhouse_receipt_"): value for name, value in parameters.items()}
    (worker,) = node.workers
    host = os.environ.get("HOSTNAME") or socket.gethostname()
    assert receipt["worker"] == f"{host}/{worker.process.pid}"
    assert receipt["device"].startswith("cpu:0 ")
    assert (receipt["version"], receipt["batch_rows"], receipt["weights_came"]) == ("1", 1, False)
    stages = [receipt[f"{stage}_ns"] for stage in ("queue", "input", "compute", "output")]
    assert min(stages) >= 0
    assert receipt["compute_ns"] > 0
    assert sum(stages) <= receipt["total_ns"] <= took


def one(spans: list[Span], name: str) -> Span:
    (found,) = [span for span in spans if span.name == name]
    return found
