"""A bundle that ends, hangs or fills a process costs itself; the others serve, also after kill -9."""

import os
import re
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import tritonclient.grpc as triton

import damaged_bundles
import hostile_bundles
from calls import infer, simple_inputs
from conftest import Launch, Report
from supervised_node import QUICK, Node
from worker_process import wait_until

pytestmark = pytest.mark.alone
of_a_node = pytest.mark.skipif(
    os.environ.get("ROUNDHOUSE_E2E_ATTACK") != "full",
    reason="starts a node of two workers again and again, for minutes: ./roundhouse test --attack",
)

GOOD = [f"good{i}" for i in range(8)]
EXIT_CODE = 70
LOAD_SECONDS = 60
NODE_SECONDS = 180


def good_ones(repository: Path, names: list[str]) -> None:
    repository.mkdir()
    for name in names:
        damaged_bundles.copy_sample("simple", repository, name)


def assert_answers(client: triton.InferenceServerClient, names: list[str]) -> None:
    for name in names:
        sums = infer(client, name, simple_inputs()).as_numpy("OUTPUT0")
        np.testing.assert_array_equal(sums, np.arange(16)[None] + 3)


def reasons(client: triton.InferenceServerClient) -> dict[str, tuple[str, str]]:
    return {line.name: (line.state, line.reason) for line in client.get_model_repository_index().models}


class Caller:
    """Asks the good ones, one after the other, until it is left; what failed is told then."""

    def __init__(self, address: str, names: list[str]) -> None:
        self.address, self.names = address, names
        self.rounds = 0
        self.failures: list[str] = []
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def __enter__(self) -> "Caller":
        self.thread.start()
        return self

    def run(self) -> None:
        with triton.InferenceServerClient(self.address) as client:
            while not self.over.is_set():
                try:
                    assert_answers(client, self.names)
                    self.rounds += 1
                except Exception as failure:  # told by whoever waits
                    self.failures.append(f"{time.monotonic():.1f} {failure}")
                    return

    def await_round(self) -> None:
        before = self.rounds
        wait_until(lambda: self.rounds > before + 1 or self.failures, 10, "a round")

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join()


def all_ready(client: triton.InferenceServerClient, names: list[str]) -> bool:
    try:
        return client.is_server_live() and all(client.is_model_ready(name) for name in names)
    except triton.InferenceServerException:
        return False


def limits(cache: Path) -> list[str]:
    return [
        f"roundhouse.worker.compile.cache={cache}",
        "roundhouse.worker.compile.timeout=20s",
        "roundhouse.worker.compile.max-program-memory=1GB",
        "roundhouse.worker.repository.load-attempts=1",
        "roundhouse.worker.watchdog.device-call=4s",
    ]


def assert_refused(client: triton.InferenceServerClient, expected: dict[str, list[str]]) -> None:
    index = reasons(client)
    for name, words in expected.items():
        state, reason = index[name]
        assert state == "UNAVAILABLE", name
        for word in words:
            assert word in reason, f"{name}: {word!r} is not in {reason!r}"


@contextmanager
def node_of(models: Path, log: Path, settings: Sequence[str]) -> Iterator[Node]:
    """A supervisor, two workers and a gateway; a failure shows how their log ends."""
    node = Node(models, log, *(part for setting in settings for part in ("--set", setting)), *QUICK)
    try:
        yield node
    except BaseException:
        print("\n".join(node.log().splitlines()[-80:]))
        raise
    finally:
        node.close()


def test_should_serve_eight_good_ones_beside_one_of_each_bad_kind_when_killed_too(
    tmp_path: Path, launch: Launch, report: Report
) -> None:
    models = tmp_path / "models"
    good_ones(models, GOOD)
    expected = hostile_bundles.write_all(models)
    settings = limits(tmp_path / "cache")
    for start in range(2):
        worker = launch(models, *(f"--{setting}" for setting in settings))
        with worker.client() as client:
            wait_until(lambda each=client: all_ready(each, GOOD), LOAD_SECONDS, "the good ones are ready")
            with Caller(worker.address, GOOD) as caller:
                worker.await_ready()
                caller.await_round()
            assert caller.failures == []
            assert_refused(client, expected)
            assert_answers(client, GOOD)
            report(f"start {start}: {caller.rounds} rounds of {len(GOOD)} while and after bad ones were loaded")
        assert worker.process.poll() is None
        worker.process.kill()
        worker.process.wait()


def test_should_leave_out_by_name_what_ends_the_process_twice_when_nothing_is_run_on_trial(
    tmp_path: Path, launch: Launch, report: Report
) -> None:
    models = tmp_path / "models"
    good_ones(models, GOOD)
    endless = hostile_bundles.write_endless(models)
    settings = (
        f"--roundhouse.worker.compile.cache={tmp_path / 'cache'}",
        "--roundhouse.worker.compile.isolation=in-process",
        "--roundhouse.worker.watchdog.device-call=2s",
        "--roundhouse.worker.repository.poll-interval=1h",
    )
    codes = []
    for _ in range(2):
        worker = launch(models, *settings)
        codes.append(worker.process.wait(LOAD_SECONDS))
        assert "it is of model 'endless' version '1'" in worker.log()
    assert codes == [EXIT_CODE, EXIT_CODE], "and not by a signal over the plugin's clean-up"
    for _ in range(2):
        worker = launch(models, *settings).await_ready()
        with worker.client() as client:
            state, reason = reasons(client)[endless]
            assert state == "UNAVAILABLE"
            assert "model 'endless': version '1' is in quarantine, as 2 workers ended over it" in reason
            assert "its run did not end, and the watchdog ended the process" in reason
            assert_answers(client, GOOD)
        worker.process.kill()
        worker.process.wait()
    report(f"two workers ended with {codes}; {reason}")


@of_a_node
def test_should_serve_eight_good_ones_from_a_node_when_it_and_then_a_worker_is_killed(
    tmp_path: Path, report: Report
) -> None:
    models = tmp_path / "models"
    good_ones(models, GOOD)
    expected = hostile_bundles.write_all(models)
    for start in range(2):
        with node_of(models, tmp_path / f"log{start}", limits(tmp_path / "cache")) as node:
            with triton.InferenceServerClient(node.gateway) as client:
                wait_until(lambda each=client: all_ready(each, GOOD), NODE_SECONDS, "the good ones are ready")
                with Caller(node.gateway, GOOD) as caller:
                    wait_until(lambda each=node: both_seen(each), NODE_SECONDS, "both workers ready for the gateway")
                    if start == 1:
                        os.kill(node.worker(1)["pid"], signal.SIGKILL)
                        wait_until(
                            lambda each=node: each.worker(1)["restarts"] == 1 and both_seen(each),
                            NODE_SECONDS,
                            "the second worker again",
                        )
                    caller.await_round()
                assert caller.failures == []
                assert_refused(client, expected)
            assert [process["restarts"] for process in node.status()["processes"]] == [0, start, 0]
            report(f"start {start}: {caller.rounds} rounds of {len(GOOD)} through the gateway, none failed")


def both_seen(node: Node) -> bool:
    assert node.alive()
    return "\nready " in node.log() and all(node.gateway_sees(f"worker{i}") for i in range(2))


@of_a_node
def test_should_leave_out_what_ended_both_workers_of_a_node_when_nothing_is_run_on_trial(
    tmp_path: Path, report: Report
) -> None:
    models = tmp_path / "models"
    good_ones(models, GOOD[:1])
    hostile_bundles.write_endless(models)
    settings = [
        f"roundhouse.worker.compile.cache={tmp_path / 'cache'}",
        "roundhouse.worker.compile.isolation=in-process",
        "roundhouse.worker.watchdog.device-call=2s",
    ]
    with node_of(models, tmp_path / "log", settings) as node:
        wait_until(lambda: node.alive() and "\nready " in node.log(), NODE_SECONDS, "the line 'ready ...'")
        node.await_workers()
        ends = [process["restarts"] for process in node.status()["processes"]]
        for index in range(2):
            worker = node.worker(index)
            assert worker["lastExit"] in (None, EXIT_CODE)
            with triton.InferenceServerClient(f"127.0.0.1:{worker['ports']['grpc']}") as client:
                assert_answers(client, GOOD[:1])
                assert re.search("in quarantine, as [23] workers ended over it", reasons(client)["endless"][1])
    assert sum(ends) in (2, 3), "two ends, and one more of a worker that had begun to load it again"
    report(f"workers and gateway started again {ends} times")
