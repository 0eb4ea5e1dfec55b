"""Pictures of the live page of a worker with 10,000 models under load, and how soon a page shows them."""

import json
import os
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import client_tools
import page_models
from conftest import Report, logs_shown
from live_page import NODE, node_environment
from page_events import PageEvents
from worker_process import WorkerProcess, free_ports, wait_until, worker_command, worker_jar

PICTURES = "ROUNDHOUSE_E2E_PICTURES"  # the folder for them

pytestmark = pytest.mark.skipif(PICTURES not in os.environ, reason="takes pictures: ./roundhouse test --pictures")

LOADED_SECONDS = 900
SECONDS = 600
LEAST_REASONS = 6


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    folder = tmp_path_factory.mktemp("pictures")
    page_models.write(folder / "models")
    settings = [f"--roundhouse.worker.{setting}" for setting in page_models.SETTINGS]
    cache = f"--roundhouse.worker.compile.cache={folder / 'cache'}"
    ports = free_ports()
    command = worker_command(worker_jar(), folder / "models", ports, ("-Xmx1g",), (*settings, cache))
    process = WorkerProcess(command, ports, folder / "log")
    try:
        with logs_shown(process):
            wait_until(lambda: process.ready_line() is not None, LOADED_SECONDS, "the line 'ready ...'")
            with page_models.calls(process.address):
                yield process
    finally:
        process.close()


def test_should_have_many_models_wait_for_many_reasons(worker: WorkerProcess, report: Report) -> None:
    page = PageEvents(f"{worker.host}:{worker.ports.metrics}")
    seen: Counter[str] = Counter()
    for _ in range(10):
        rows = page.follow()
        seen.update({row["why"] for row in rows.values() if row["why"]})
    page.close()
    assert len(rows) == page_models.ALL
    report(f"reasons, and in how many of 10 moments: {dict(seen)}")
    report(f"models that wait: {sum(row['queued'] > 0 for row in rows.values())}")
    assert len(seen) >= LEAST_REASONS


def test_should_take_pictures_and_tell_how_soon_all_is_shown(worker: WorkerProcess, report: Report) -> None:
    node, chromium = client_tools.need("node"), client_tools.need("chromium")
    folder = Path(os.environ[PICTURES])
    address = f"{worker.host}:{worker.ports.metrics}"
    command = [node, str(NODE / "pictures.js"), chromium, address, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, env=node_environment(), timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    report(f"ms until something is painted: {seen['first']}")
    report(f"ms until rows are painted, of {len(seen['painted'])} pages: {seen['painted']}; all models: {seen['all']}")
    assert seen["errors"] == []
    assert {picture.stem for picture in folder.glob("ui-*.png")} >= {"ui-light", "ui-dark", "ui-narrow"}
