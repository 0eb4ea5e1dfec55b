"""A device that hangs ends the worker, in the open: nobody waits for an answer that never comes."""

import json
import re
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from tritonclient.grpc.service_pb2 import ServerLiveRequest, ServerReadyRequest
from tritonclient.grpc.service_pb2_grpc import GRPCInferenceServiceStub

import damaged_bundles
import metrics
import spinning_bundle
from calls import request, simple_inputs
from conftest import Launch, Report, logs_shown
from node_process import NodeProcess
from worker_process import WorkerProcess, wait_until

pytestmark = pytest.mark.alone

FOR_EVER = 2**62
LIMIT = "--roundhouse.worker.watchdog.device-call=2s"
LIMIT_SECONDS = 2
EXIT_CODE = 70
BEGAN = "roundhouse-began"
CALLS = 4


@pytest.mark.parametrize("costly", [False, True], ids=["inside-the-call", "on-its-own-thread"])
def test_should_end_every_call_and_exit_with_its_code_when_a_program_never_ends(
    costly: bool, tmp_path: Path, launch: Launch, report: Report
) -> None:
    spinning_bundle.write(tmp_path / "models", "spin", costly)
    damaged_bundles.copy_sample("simple", tmp_path / "models")
    worker = launch(tmp_path / "models", LIMIT).await_ready()
    assert metrics.waiting(worker, "spin") == 0
    with grpc.insecure_channel(worker.address) as channel:
        stub = GRPCInferenceServiceStub(channel)
        health = health_pb2_grpc.HealthStub(channel)
        stub.ModelInfer(request("simple", simple_inputs()))
        began = time.monotonic()
        hanging = [stub.ModelInfer.future(request("spin", spinning_bundle.turns(FOR_EVER))) for _ in range(CALLS)]
        wait_until(lambda: metrics.waiting(worker, "spin") == CALLS - 1, LIMIT_SECONDS, "the endless program runs")
        waiting = [stub.ModelInfer.future(request("simple", simple_inputs())) for _ in range(CALLS)]
        last = hanging[-1].exception(LIMIT_SECONDS + 10)
        told = time.monotonic() - began
        # The open calls are told; the process stays for a moment so that probes can see why.
        not_ready = not stub.ServerReady(ServerReadyRequest()).ready
        not_alive = not stub.ServerLive(ServerLiveRequest()).live
        serving = health.Check(health_pb2.HealthCheckRequest()).status
        states = [
            worker.get(worker.ports.http, "/v2/health/ready")[0],
            worker.get(worker.ports.http, "/v2/health/live")[0],
            worker.get(worker.ports.metrics, "/actuator/health")[0],
        ]
        errors = [call.exception(10) for call in hanging + waiting]
    code = worker.process.wait(10)
    exited = time.monotonic() - began

    report(f"told after {told:.1f} s, exit after {exited:.1f} s")
    assert told > LIMIT_SECONDS * 0.9
    assert last.code() == grpc.StatusCode.UNAVAILABLE
    assert [error.code() for error in errors] == [grpc.StatusCode.UNAVAILABLE] * (2 * CALLS)
    assert all("a run on the device has taken" in error.details() for error in errors)
    assert not_ready
    assert not_alive
    assert serving == health_pb2.HealthCheckResponse.NOT_SERVING
    assert states == [503, 503, 503]
    assert code == EXIT_CODE
    assert exited < LIMIT_SECONDS + 6
    log = worker.log()
    assert re.search(
        rf"a run .* may take {LIMIT_SECONDS * 1000:.0f} ms: .*; in 200 ms thread \d+ '.*' computed for", log
    )
    assert log.count("the engine fails and stops") == 1
    assert f"the process exits with code {EXIT_CODE}" in log


def test_should_end_one_worker_each_time_a_program_never_ends_behind_a_gateway(tmp_path: Path, report: Report) -> None:
    spinning_bundle.write(tmp_path / "models", "spin", costly=True)
    damaged_bundles.copy_sample("simple", tmp_path / "models")
    node = NodeProcess.launch(3, tmp_path / "models", tmp_path / "node.log", LIMIT)
    try:
        with logs_shown(node), grpc.insecure_channel(node.await_ready().address) as channel:
            stub = GRPCInferenceServiceStub(channel)
            for count, by in enumerate(("gRPC", "HTTP"), 1):
                told, errors = end_one(node, stub, by, count)
                codes = [worker.process.poll() for worker in node.workers]
                report(f"by {by}: told after {told:.1f} s, workers ended with {codes}, {len(errors)} calls that waited")
                assert sorted(codes, key=str) == [EXIT_CODE] * count + [None] * (3 - count)
                assert errors == [None] * (3 * CALLS), "those that waited at the worker that failed go to others"
    finally:
        node.close()


def end_one(
    node: NodeProcess, stub: GRPCInferenceServiceStub, by: str, count: int
) -> tuple[float, list[Exception | None]]:
    """After how long the call that never ends is told, and what became of others; ``count`` workers have ended then."""
    began = time.monotonic()
    hanging = ThreadPoolExecutor(1).submit(hang, node, by)
    wait_until(lambda: any(map(runs, node.workers)), 30, "the endless program runs")
    waiting = [stub.ModelInfer.future(request("simple", simple_inputs())) for _ in range(3 * CALLS)]
    assert hanging.result(60) == (503, "true")
    told = time.monotonic() - began
    errors = [call.exception(60) for call in waiting]
    wait_until(lambda: sum(worker.process.poll() is not None for worker in node.workers) == count, 30, "one ends")
    for _ in range(3 * CALLS):
        stub.ModelInfer(request("simple", simple_inputs()))
    wait_until(lambda: time.monotonic() - began > told + LIMIT_SECONDS + 2, 30, "another one would have ended")
    return told, errors


def runs(worker: WorkerProcess) -> bool:
    """Whether a request of it runs: it has been accepted and does not wait."""
    accepted = r'roundhouse_requests_accepted_total\{model="spin"\} 1\.0'
    return worker.process.poll() is None and bool(
        re.search(accepted, worker.get(worker.ports.metrics, "/metrics")[1]) and metrics.waiting(worker, "spin") == 0
    )


def hang(node: NodeProcess, by: str) -> tuple[int, str | None]:
    """Has a program run for ever; how that ends as a code of HTTP, and what is said of it."""
    if by == "gRPC":
        with grpc.insecure_channel(node.address) as channel:
            wanted = request("spin", spinning_bundle.turns(FOR_EVER))
            error = GRPCInferenceServiceStub(channel).ModelInfer.future(wanted).exception(60)
        return (503 if error.code() == grpc.StatusCode.UNAVAILABLE else 0), dict(error.trailing_metadata()).get(BEGAN)
    url = f"http://{node.host}:{node.ports.http}/v2/models/spin/infer"
    tensor = {"name": spinning_bundle.INPUT, "datatype": "INT64", "shape": [1, 1], "data": [FOR_EVER]}
    body = json.dumps({"inputs": [tensor]}).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body), timeout=60) as answer:
            return answer.status, answer.headers.get(BEGAN)
    except urllib.error.HTTPError as refusal:
        return refusal.code, refusal.headers.get(BEGAN)
