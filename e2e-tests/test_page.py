"""The live page in headless Chromium: before a worker, and before made-up events of 10,000 models."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread

import numpy as np
import pytest

import client_tools
from calls import infer
from conftest import logs_shown
from worker_process import ROOT, SAMPLE_MODELS, WorkerProcess

NODE = Path(__file__).parent / "node"
FILES = ROOT / "service-platform" / "src" / "main" / "resources" / "dev" / "roundhouse" / "platform" / "page"
MANY = 10_000
MOST_ELEMENTS = 150  # rows that are elements, on a screen of 900 pixels
SECONDS = 240

Seen = dict[str, object]


def node_environment() -> dict[str, str]:
    return os.environ | {"NODE_PATH": str(client_tools.node_packages(NODE))}


def look(address: str, folder: Path, *size: str) -> Seen:
    """What a browser saw of the page at ``address``, in every size or in one, and its pictures in ``folder``."""
    node, chromium = client_tools.need("node"), client_tools.need("chromium")
    command = [node, str(NODE / "page.js"), chromium, address, str(folder), *size]
    done = subprocess.run(command, capture_output=True, text=True, env=node_environment(), timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def of_worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    """The page of a worker under load, never of a gateway in its place, which has none."""
    folder = tmp_path_factory.mktemp("page")
    process = WorkerProcess.launch(SAMPLE_MODELS, folder / "log")
    over = Event()

    def load() -> None:
        with process.client() as client:
            while not over.is_set():
                infer(client, "scalar", {"x": np.ones(3, np.float32)})

    thread = Thread(target=load)
    try:
        with logs_shown(process):
            process.await_ready()
            thread.start()
            yield look(f"127.0.0.1:{process.ports.metrics}", folder, "usual")
    finally:
        over.set()
        if thread.ident is not None:
            thread.join()
        process.close()


@pytest.fixture(scope="module")
def of_many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    folder = tmp_path_factory.mktemp("page-of-many")
    command = [client_tools.need("node"), str(NODE / "page_of_many.js"), str(FILES), str(MANY)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as feed:
        try:
            assert feed.stdout is not None
            seen = look(feed.stdout.readline().strip(), folder)
            seen["trace"] = json.loads((folder / "trace.json").read_text())
            seen["recording"] = (folder / "recording.jfr").read_bytes()
            yield seen
        finally:
            feed.terminate()


def test_should_have_the_types_that_its_comments_say() -> None:
    environment = node_environment()
    tsc = Path(environment["NODE_PATH"]) / "typescript" / "bin" / "tsc"
    options = ("--noEmit", "--allowJs", "--checkJs", "--strict", "--target", "es2023", "--module", "esnext")
    libraries = ("--lib", "es2023,dom,dom.iterable")
    command = [client_tools.need("node"), str(tsc), *options, *libraries, *map(str, sorted(FILES.glob("*.js")))]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=SECONDS)
    assert done.returncode == 0, done.stdout


def test_should_show_what_a_worker_does(of_worker: Seen) -> None:
    assert of_worker["errors"] == []
    assert of_worker["elsewhere"] == []
    names = sorted(folder.parent.name for folder in SAMPLE_MODELS.glob("*/manifest.yaml"))
    assert sorted(row[0] for row in of_worker["rows"]) == names
    assert {row[1] for row in of_worker["rows"]} == {"ready"}
    assert "busy" in of_worker["uses"]
    assert of_worker["facts"].startswith("127.0.0.1:")
    assert "Programs of " in of_worker["programs"]
    had = {row[0]: row[4] for row in of_worker["rows"]}
    assert had["scalar"] == "100 %"
    assert not of_worker["recordable"]  # as nobody has granted it


def test_should_have_few_elements_however_many_models_there_are(of_many: Seen) -> None:
    assert of_many["errors"] == []
    assert of_many["rowCount"] == str(MANY + 1)  # with the heading
    assert of_many["elements"] <= MOST_ELEMENTS
    assert of_many["last"] == str(MANY + 1)


def test_should_sort_filter_and_be_used_by_keys(of_many: Seen) -> None:
    longest_queue = of_many["rows"][0]
    assert int(longest_queue[2]) == max(int(row[2] or 0) for row in of_many["rows"])
    assert of_many["first"] == longest_queue[0]
    assert longest_queue[0] in of_many["details"]
    told = of_many["programs"]
    assert "answers: 50 of 100 within 2 ms, 99 of 100 within 9 ms; in the queue: 50 of 100 within 500 µs" in told
    assert "3 refused: resource-exhausted: as many waited as may (scheduler.max-queue-depth, now 1024)" in told
    assert "its weights left the device for an operator 3 s ago, 'model-00007' 1.5 min ago" in told
    assert "left the device for its weights" not in told
    assert of_many["changed"] == 'done: {"weight":2.5}'
    assert of_many["sorted"] == ["model-00000", "model-00001", "model-00002"]
    assert of_many["sort"] == "ascending"
    assert of_many["filtered"] == [f"model-{MANY - 1:05}"]
    assert of_many["paused"] == "true"


def test_should_be_named_for_screen_readers_and_fit_every_screen(of_many: Seen) -> None:
    assert of_many["named"] == 1
    assert of_many["timeline"] == 1
    assert all(more <= 0 for more in of_many["overflow"].values()), of_many["overflow"]
    assert of_many["ground"]["light"] != of_many["ground"]["dark"]


def test_should_save_what_perfetto_reads(of_many: Seen) -> None:
    events = of_many["trace"]["traceEvents"]
    runs = [event for event in events if event["ph"] == "X" and event["tid"] == 1]
    assert len(runs) > MANY / 100
    assert all(event["dur"] > 0 and event["name"].startswith("model-") for event in runs)


def test_should_save_a_recording_where_the_worker_allows_one(of_many: Seen) -> None:
    assert of_many["recording"] == b"FLR"
