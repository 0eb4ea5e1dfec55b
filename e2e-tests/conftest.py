"""Fixtures: a shared worker with the sample models, and workers of a test's own."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest
import tritonclient.grpc as triton
from tritonclient.grpc import service_pb2_grpc

import client_tools
from node_process import NodeProcess, workers_behind_gateway
from worker_process import SAMPLE_MODELS, WorkerProcess

Launch = Callable[..., WorkerProcess]
Report = Callable[[str], None]

_running: list[WorkerProcess] = []
_figures: list[str] = []


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks what asks a gateway where ``ROUNDHOUSE_E2E_GATEWAY`` is set: tests of a fixture that calls ``running``."""
    for item in items:
        fixtures = item._fixtureinfo.name2fixturedefs.values() if isinstance(item, pytest.Function) else ()
        if any(running.__name__ in each.func.__code__.co_names for same in fixtures for each in same):
            item.add_marker("shared")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo) -> Iterator[None]:
    report = yield
    if report.failed:
        for process in [part for running in _running for part in running.parts()]:
            tail = "\n".join(process.own_log().splitlines()[-60:])
            title = f"log of the process on {process.address}"
            report.sections.append((title, f"{tail}\n{process.dump_threads(item.name)}"))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _figures:
        terminalreporter.section("figures")
        for line in _figures:
            terminalreporter.line(line)


@pytest.fixture
def report(request: pytest.FixtureRequest) -> Report:
    """Notes a figure that was measured, for the end of the output."""
    return lambda text: request.node.user_properties.append(("figure", f"{request.node.name}: {text}"))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call":
        _figures.extend(text for name, text in report.user_properties if name == "figure")


@contextmanager
def logs_shown(*processes: WorkerProcess) -> Iterator[None]:
    """Has a failure meanwhile show how their logs end."""
    _running.extend(processes)
    try:
        yield
    finally:
        for process in processes:
            _running.remove(process)


@contextmanager
def running(models: Path, log: Path, *settings: str) -> Iterator[WorkerProcess]:
    """A ready worker, or a gateway before workers, for fixtures that share one among tests."""
    behind = workers_behind_gateway()
    process = (
        NodeProcess.launch(behind, models, log, *settings) if behind else WorkerProcess.launch(models, log, *settings)
    )
    try:
        with logs_shown(process):
            yield process.await_ready()
    finally:
        process.close()


@pytest.fixture(scope="session")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    """Serves every sample model; shared, so a test must leave it as it was."""
    with running(SAMPLE_MODELS, tmp_path_factory.mktemp("worker") / "log") as process:
        yield process


@pytest.fixture(scope="session")
def perf_analyzer() -> client_tools.LinkedProgram:
    return client_tools.perf_analyzer()


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Launch]:
    """Starts workers that belong to one test: ``launch(models, *settings, jvm=...)``."""
    started: list[WorkerProcess] = []

    def start(models: Path, *settings: str, jvm: Sequence[str] = ()) -> WorkerProcess:
        process = WorkerProcess.launch(models, tmp_path / f"worker-{len(started)}.log", *settings, jvm=jvm)
        started.append(process)
        _running.append(process)
        return process

    yield start
    for process in started:
        process.close()
        _running.remove(process)


@pytest.fixture
def client(worker: WorkerProcess) -> Iterator[triton.InferenceServerClient]:
    with worker.client() as connected:
        yield connected


@pytest.fixture
def channel(worker: WorkerProcess) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(worker.address) as connected:
        yield connected


@pytest.fixture
def stub(channel: grpc.Channel) -> service_pb2_grpc.GRPCInferenceServiceStub:
    """The stock client's own stubs, for requests that its classes cannot build."""
    return service_pb2_grpc.GRPCInferenceServiceStub(channel)
