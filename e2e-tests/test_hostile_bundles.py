"""A bundle that ends, hangs or fills a process costs itself; the others serve, also after kill -9."""

import threading
from pathlib import Path

import numpy as np
import tritonclient.grpc as triton

import damaged_bundles
import hostile_bundles
from calls import infer, simple_inputs
from conftest import Launch, Report
from worker_process import WorkerProcess, wait_until

GOOD = [f"good{i}" for i in range(8)]
EXIT_CODE = 70
LOAD_SECONDS = 60


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

    def __init__(self, worker: WorkerProcess, names: list[str]) -> None:
        self.worker, self.names = worker, names
        self.rounds, self.failures = 0, []
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def __enter__(self) -> "Caller":
        self.thread.start()
        return self

    def run(self) -> None:
        with self.worker.client() as client:
            while not self.over.is_set():
                try:
                    assert_answers(client, self.names)
                    self.rounds += 1
                except Exception as failure:  # told by whoever waits
                    self.failures.append(failure)
                    return

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join()


def all_ready(client: triton.InferenceServerClient, names: list[str]) -> bool:
    try:
        return client.is_server_live() and all(client.is_model_ready(name) for name in names)
    except triton.InferenceServerException:
        return False


def test_should_serve_eight_good_ones_beside_one_of_each_bad_kind_when_killed_too(
    tmp_path: Path, launch: Launch, report: Report
) -> None:
    models = tmp_path / "models"
    good_ones(models, GOOD)
    expected = hostile_bundles.write_all(models)
    settings = (
        f"--roundhouse.worker.compile.cache={tmp_path / 'cache'}",
        "--roundhouse.worker.compile.timeout=6s",
        "--roundhouse.worker.compile.max-program-memory=1GB",
        "--roundhouse.worker.repository.load-attempts=1",
        "--roundhouse.worker.watchdog.device-call=5s",
    )
    for start in range(2):
        worker = launch(models, *settings)
        with worker.client() as client:
            wait_until(lambda each=client: all_ready(each, GOOD), LOAD_SECONDS, "the good ones are ready")
            with Caller(worker, GOOD) as caller:
                worker.await_ready()
                rounds = caller.rounds
                wait_until(lambda asked=caller, before=rounds: asked.rounds > before or asked.failures, 10, "a round")
            assert caller.failures == []
            index = reasons(client)
            for name, words in expected.items():
                state, reason = index[name]
                assert state == "UNAVAILABLE", name
                for word in words:
                    assert word in reason, f"{name}: {word!r} is not in {reason!r}"
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
