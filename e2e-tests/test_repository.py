"""Models that come, change and go while a worker runs."""

import os
import shutil
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import grpc
import numpy as np
import pytest
import tritonclient.grpc as triton
from tritonclient.grpc.service_pb2_grpc import GRPCInferenceServiceStub
from tritonclient.utils import InferenceServerException

import adding_bundle
import damaged_bundles
from calls import infer, request, simple_inputs
from conftest import Launch, Report
from worker_process import COMPILE_EVERYTHING, SAMPLE_MODELS, WorkerProcess, wait_until

CALLERS = 4
CYCLES = int(os.environ.get("ROUNDHOUSE_E2E_CYCLES", "150"))  # 1000 take three minutes or more
EXPLICIT = "--roundhouse.worker.repository.mode=explicit"
QUICK_POLLS = "--roundhouse.worker.repository.poll-interval=200ms"
SECONDS = 60
# all of it is there from the start, so that what grows is something else
HEAP_OF_ONE_SIZE = ("-Xms192m", "-Xmx192m", "-XX:+AlwaysPreTouch")


def index(client: triton.InferenceServerClient) -> dict[tuple[str, str], tuple[str, str]]:
    rows = client.get_model_repository_index().models
    return {(row.name, row.version): (row.state, row.reason) for row in rows}


class SteadyCaller(threading.Thread):
    """Calls without pause and keeps what was not the right answer."""

    def __init__(self, worker: WorkerProcess, seed: int) -> None:
        super().__init__(name=f"caller-{seed}")
        self.worker = worker
        self.start_value = seed * 1000
        self.calls = 0
        self.failed: list[str] = []
        self.over = threading.Event()

    def run(self) -> None:
        inputs = simple_inputs(start=self.start_value)
        message = request("simple", inputs)
        expected = (inputs["INPUT0"] + inputs["INPUT1"]).tobytes()
        with grpc.insecure_channel(self.worker.address) as channel:
            stub = GRPCInferenceServiceStub(channel)
            while not self.over.is_set():
                try:
                    answer = stub.ModelInfer(message, timeout=SECONDS)
                    if answer.raw_output_contents[0] != expected:
                        self.failed.append("a wrong answer")
                except grpc.RpcError as error:
                    self.failed.append(f"{error.code()}: {error.details()}")
                self.calls += 1


def replace(folder: Path, new: Path) -> None:
    """Puts another bundle in a model's place as a careful operator does: by renames."""
    folder.rename(folder.with_name(f".{folder.name}-before"))
    new.rename(folder)
    shutil.rmtree(folder.with_name(f".{folder.name}-before"))


def broken_copy(repository: Path) -> Path:
    folder = damaged_bundles.copy_sample("simple", repository, ".broken")
    manifest = folder / "manifest.yaml"
    manifest.write_text(manifest.read_text() + "\ncolour: green\n")
    return folder


def test_should_fail_no_call_when_a_bundle_is_replaced_by_a_broken_one_and_then_by_a_good_one(
    tmp_path: Path, launch: Launch
) -> None:
    repository = tmp_path / "models"
    folder = damaged_bundles.copy_sample("simple", repository)
    worker = launch(repository, QUICK_POLLS).await_ready()
    callers = [SteadyCaller(worker, seed) for seed in range(CALLERS)]
    for caller in callers:
        caller.start()
    try:
        with worker.client() as client:
            wait_until(lambda: all(caller.calls > 20 for caller in callers), SECONDS, "first calls")
            for _ in range(3):
                replace(folder, broken_copy(repository))
                wait_until(lambda: "colour" in index(client)["simple", "1"][1], SECONDS, "the reason in the index")
                assert index(client)["simple", "1"][0] == "READY"
                assert client.is_server_ready()
                replace(folder, damaged_bundles.copy_sample("simple", repository, ".good"))
                wait_until(lambda: index(client)["simple", "1"] == ("READY", ""), SECONDS, "the good one")
                before = [caller.calls for caller in callers]
                wait_until(
                    lambda before=before: all(c.calls > b + 20 for c, b in zip(callers, before, strict=True)),
                    SECONDS,
                    "calls go on",
                )
    finally:
        for caller in callers:
            caller.over.set()
        for caller in callers:
            caller.join()
    assert [failure for caller in callers for failure in caller.failed] == []


def test_should_answer_alike_from_a_copy_that_was_made_while_the_repository_was_served(
    tmp_path: Path, launch: Launch
) -> None:
    repository = shutil.copytree(SAMPLE_MODELS, tmp_path / "models")
    served = launch(repository).await_ready()
    caller = SteadyCaller(served, 1)
    caller.start()
    try:
        wait_until(lambda: caller.calls > 20, SECONDS, "first calls")
        backup = shutil.copytree(repository, tmp_path / "backup")
    finally:
        caller.over.set()
        caller.join()
    assert caller.failed == []
    inputs = simple_inputs(start=7)
    with served.client() as client:
        expected = infer(client, "simple", inputs).as_numpy("OUTPUT0")
        models = set(index(client))
    served.terminate()
    shutil.rmtree(repository)
    with launch(backup).await_ready().client() as client:
        assert set(index(client)) == models
        np.testing.assert_array_equal(infer(client, "simple", inputs).as_numpy("OUTPUT0"), expected)


def test_should_follow_what_is_added_renamed_and_removed(tmp_path: Path, launch: Launch) -> None:
    repository = tmp_path / "models"
    damaged_bundles.copy_sample("affine", repository)
    worker = launch(repository, QUICK_POLLS).await_ready()
    with worker.client() as client:
        folder = damaged_bundles.copy_sample("simple", repository)
        wait_until(lambda: client.is_model_ready("simple"), SECONDS, "what was added")
        infer(client, "simple", simple_inputs())
        folder.rename(repository / "renamed")
        wait_until(lambda: client.is_model_ready("renamed"), SECONDS, "what was renamed")
        wait_until(lambda: not client.is_model_ready("simple"), SECONDS, "its old name")
        shutil.rmtree(repository / "renamed")
        wait_until(lambda: not client.is_model_ready("renamed"), SECONDS, "what was removed")
        assert client.is_model_ready("affine")
        assert client.is_server_ready()


def test_should_serve_versions_side_by_side_when_the_operator_says_so(tmp_path: Path, launch: Launch) -> None:
    repository = tmp_path / "models"
    for version in ("1", "2", "3"):
        damaged_bundles.copy_sample("simple", repository / "simple", version)
    worker = launch(repository, "--roundhouse.worker.models.simple.version-policy=1,3").await_ready()
    with worker.client() as client:
        ready = {key for key, (state, _) in index(client).items() if state == "READY"}
        assert ready == {("simple", "1"), ("simple", "3")}
        assert list(client.get_model_metadata("simple").versions) == ["1", "3"]
        for wanted, answers in (("1", "1"), ("3", "3"), ("", "3")):
            result = infer(client, "simple", simple_inputs(), model_version=wanted)
            assert result.get_response().model_version == answers
        with pytest.raises(InferenceServerException, match="version 2 is not found"):
            infer(client, "simple", simple_inputs(), model_version="2")


def test_should_load_and_unload_when_the_stock_client_asks(tmp_path: Path, launch: Launch) -> None:
    repository = tmp_path / "models"
    damaged_bundles.copy_sample("simple", repository)
    worker = launch(repository, EXPLICIT).await_ready()
    with worker.client() as client:
        assert index(client) == {("simple", ""): ("", "")}
        client.load_model("simple")
        assert client.is_model_ready("simple")
        infer(client, "simple", simple_inputs())
        client.unload_model("simple", unload_dependents=True)
        assert index(client) == {("simple", "1"): ("UNAVAILABLE", "unloaded")}
        assert not client.is_model_ready("simple")
        with pytest.raises(
            InferenceServerException, match="failed to load 'none', failed to poll from model repository"
        ):
            client.load_model("none")
        with pytest.raises(InferenceServerException, match="'config'"):
            client.load_model("simple", config="{}")


def kilobytes_of(worker: WorkerProcess) -> int:
    status = Path(f"/proc/{worker.process.pid}/status").read_text()
    return int(dict(line.split(":", 1) for line in status.splitlines())["VmRSS"].split()[0])


# logback starts this many, each when first needed, and keeps them.
LOGBACK_THREADS = 4
# What the JVM adds and ends by itself as it has work; the last carries virtual threads.
OF_THE_JVM = ("C1 Compiler", "C2 Compiler", "G1 ", "GC Thread", "ForkJoinPool")


def threads_by_name(worker: WorkerProcess) -> Counter[str]:
    """The threads, numbers taken from their names, less the JVM's own."""
    names = []
    for thread in Path(f"/proc/{worker.process.pid}/task").iterdir():
        with suppress(FileNotFoundError):
            names.append((thread / "comm").read_text().strip().rstrip("0123456789-#. "))
    return Counter(name for name in names if not name.startswith(OF_THE_JVM))


def descriptors(worker: WorkerProcess) -> int:
    return len(list(Path(f"/proc/{worker.process.pid}/fd").iterdir()))


def test_should_come_back_to_the_baseline_after_many_loads_and_unloads(
    tmp_path: Path, launch: Launch, report: Report
) -> None:
    repository = tmp_path / "models"
    adding_bundle.write(repository, "add", "i32")
    row = np.ones((1, adding_bundle.WIDTH), np.int32)
    worker = launch(repository, EXPLICIT, COMPILE_EVERYTHING, jvm=HEAP_OF_ONE_SIZE).await_ready()
    with worker.client() as client:

        def cycle(times: int) -> None:
            for _ in range(times):
                client.load_model("add")
                infer(client, "add", {"INPUT0": row, "INPUT1": row})
                client.unload_model("add")

        cycle(max(50, CYCLES // 5))
        kilobytes, threads = kilobytes_of(worker), threads_by_name(worker)
        open_files = descriptors(worker)
        began = time.monotonic()
        cycle(CYCLES)
        seconds = time.monotonic() - began
        after, threads_after = kilobytes_of(worker), threads_by_name(worker)
    report(
        f"{CYCLES} loads and unloads in {seconds:.0f} s: RSS {kilobytes} KB before, {after} KB after;"
        f" threads {threads.total()}, {threads_after.total()}. ROUNDHOUSE_E2E_CYCLES=1000 for the long form."
    )
    assert threads_after.pop("logback", 0) <= LOGBACK_THREADS
    more = threads_after - threads
    assert more.total() <= 2, f"threads more than before: {dict(more)}"
    assert descriptors(worker) <= open_files + 2
    # The compiler's arenas still settle; a program that stays costs a hundred times as much.
    assert after - kilobytes < 50_000
