"""A device that hangs ends the worker, in the open: nobody waits for an answer that never comes."""

import time
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
from conftest import Launch, Report
from worker_process import wait_until

FOR_EVER = 2**62
LIMIT = "--roundhouse.worker.watchdog.device-call=2s"
LIMIT_SECONDS = 2
EXIT_CODE = 70
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
    assert log.count("the engine fails and stops") == 1
    assert f"the worker exits with code {EXIT_CODE}" in log
