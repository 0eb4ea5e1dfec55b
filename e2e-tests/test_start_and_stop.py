"""The life of a worker: what it answers before it is ready, how it ends, what it refuses to start with."""

import signal
import threading
import time
from pathlib import Path

import grpc
import pytest
import tritonclient.grpc as triton
from grpc_health.v1 import health_pb2, health_pb2_grpc
from tritonclient.grpc.service_pb2 import ServerLiveRequest, ServerReadyRequest
from tritonclient.grpc.service_pb2_grpc import GRPCInferenceServiceStub

import damaged_bundles
from calls import infer, request, simple_inputs
from conftest import Launch
from worker_process import COMPILE_EVERYTHING, SAMPLE_MODELS, STOP_SECONDS, WorkerProcess, wait_until

pytestmark = pytest.mark.alone

CLIENTS = 8
WARM_CALLS = 200
WARM_SECONDS = 20  # the first calls of a fresh JVM are not what is measured
BUDGET_SECONDS = 0.5
SIGTERM_EXIT_CODES = (0, 143)  # the JVM's own answer to SIGTERM is 128 + 15


def answers_live(stub: GRPCInferenceServiceStub) -> bool:
    try:
        return stub.ServerLive(ServerLiveRequest(), timeout=5).live
    except grpc.RpcError:
        return False


def test_should_answer_but_not_be_ready_when_models_still_compile(tmp_path: Path, launch: Launch) -> None:
    names = [damaged_bundles.copy_sample("digits", tmp_path / "models", f"digits-{i}").name for i in range(4)]
    worker = launch(tmp_path / "models", COMPILE_EVERYTHING)
    options = [("grpc.initial_reconnect_backoff_ms", 50), ("grpc.max_reconnect_backoff_ms", 50)]
    with grpc.insecure_channel(worker.address, options) as channel:
        stub = GRPCInferenceServiceStub(channel)
        health = health_pb2_grpc.HealthStub(channel)
        wait_until(lambda: answers_live(stub), 60, "ServerLive")
        assert stub.ServerReady(ServerReadyRequest()).ready is False
        assert health.Check(health_pb2.HealthCheckRequest()).status == health_pb2.HealthCheckResponse.NOT_SERVING
        last = triton.service_pb2.ModelReadyRequest(name=names[-1])
        assert worker.ready_line() is None, "everything was ready at once; the test needs more models"
        worker.await_ready()
        assert stub.ServerReady(ServerReadyRequest()).ready is True
        assert health.Check(health_pb2.HealthCheckRequest()).status == health_pb2.HealthCheckResponse.SERVING
        assert stub.ModelReady(last).ready is True


class SteadyCaller(threading.Thread):
    """Calls without pause until the server refuses; keeps the time and result of every call."""

    def __init__(self, worker: WorkerProcess, seed: int) -> None:
        super().__init__(name=f"caller-{seed}")
        self.worker = worker
        self.start_value = seed * 1000
        self.finished: list[tuple[float, float]] = []
        self.wrong: list[str] = []
        self.refusal: tuple[float, grpc.RpcError] | None = None

    def is_warm(self) -> bool:
        return len(self.finished) >= WARM_CALLS

    def run(self) -> None:
        inputs = simple_inputs(start=self.start_value)
        message = request("simple", inputs)
        expected = (inputs["INPUT0"] + inputs["INPUT1"]).tobytes()
        with grpc.insecure_channel(self.worker.address) as channel:
            stub = GRPCInferenceServiceStub(channel)
            grpc.channel_ready_future(channel).result(timeout=10)
            while self.refusal is None:
                began = time.monotonic()
                budget = BUDGET_SECONDS if self.is_warm() else WARM_SECONDS
                try:
                    answer = stub.ModelInfer(message, timeout=budget)
                    self.finished.append((began, time.monotonic()))
                    if answer.raw_output_contents[0] != expected:
                        self.wrong.append(self.name)
                except grpc.RpcError as error:
                    self.refusal = (began, error)


def never_accepted(error: grpc.RpcError) -> bool:
    """True for a call that the server turned away or never saw, false for one that it took and lost."""
    text = error.details().lower()
    refused = ("failed to connect", "connection refused", "server not ready", "server exiting", "goaway")
    return error.code() == grpc.StatusCode.UNAVAILABLE and any(fragment in text for fragment in refused)


def test_should_lose_no_accepted_call_when_terminated_under_load(launch: Launch) -> None:
    worker = launch(SAMPLE_MODELS).await_ready()
    callers = [SteadyCaller(worker, seed) for seed in range(CLIENTS)]
    for caller in callers:
        caller.start()
    wait_until(lambda: all(c.is_warm() or c.refusal for c in callers), 60, f"{WARM_CALLS} answers for each caller")
    signalled = time.monotonic()
    code = worker.terminate()
    for caller in callers:
        caller.join(30)
    assert code in SIGTERM_EXIT_CODES
    assert not [caller.wrong for caller in callers if caller.wrong]
    refusals = [caller.refusal for caller in callers]
    assert all(refusals), "a caller never saw the server go"
    lost = [f"{e.code()}: {e.details()}" for began, e in refusals if not never_accepted(e)]
    assert lost == []
    assert all(began + BUDGET_SECONDS >= signalled for began, _ in refusals), "a call was refused before SIGTERM"
    in_flight = [1 for c in callers for began, ended in c.finished if began < signalled < ended]
    assert in_flight, "no call was in flight at SIGTERM, so nothing was shown"


def test_should_serve_on_without_being_ready_when_terminated_with_a_lame_duck_time(launch: Launch) -> None:
    lame_duck = 10
    worker = launch(SAMPLE_MODELS, f"--roundhouse.worker.server.lame-duck={lame_duck}s").await_ready()
    with worker.client() as client:
        assert client.is_server_ready()
        began = time.monotonic()
        worker.process.send_signal(signal.SIGTERM)
        wait_until(lambda: not client.is_server_ready(), lame_duck, "ServerReady says no")
        assert worker.get(worker.ports.http, "/v2/health/ready")[0] == 503
        assert worker.get(worker.ports.metrics, "/actuator/health/readiness")[0] == 503
        assert worker.get(worker.ports.metrics, "/actuator/health/liveness")[0] == 200
        with worker.client() as late:
            assert infer(late, "simple", simple_inputs()).as_numpy("OUTPUT0")[0][0] == 3
    assert worker.process.wait(lame_duck + STOP_SECONDS) in SIGTERM_EXIT_CODES
    assert time.monotonic() - began >= lame_duck


def test_should_stop_cleanly_when_terminated_while_compiling(tmp_path: Path, launch: Launch) -> None:
    for i in range(24):
        damaged_bundles.copy_sample("digits", tmp_path / "models", f"digits-{i}")
    worker = launch(tmp_path / "models", COMPILE_EVERYTHING)
    with grpc.insecure_channel(worker.address, [("grpc.max_reconnect_backoff_ms", 50)]) as channel:
        wait_until(lambda: answers_live(GRPCInferenceServiceStub(channel)), 60, "ServerLive")
    assert worker.terminate() in SIGTERM_EXIT_CODES


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("--roundhouse.worker.repository.directorys=/tmp", ["directorys", "roundhouse.worker.repository.directories"]),
        ("--roundhouse.worker.repositry.directories=/tmp", ["repositry", "roundhouse.worker.repository"]),
    ],
)
def test_should_refuse_to_start_and_name_the_nearest_key_when_a_key_is_unknown(
    launch: Launch, setting: str, words: list[str]
) -> None:
    worker = launch(SAMPLE_MODELS, setting)
    code = worker.process.wait(60)
    assert code != 0
    for word in words:
        assert word in worker.log()
