"""The live page in headless Chromium: before a worker, and before made-up events of 10,000 models on 1,000 workers."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread

import numpy as np
import pytest

import client_tools
from calls import infer
from conftest import logs_shown
from live_page import NODE, SECONDS, Seen, look, look_at_gateway, look_at_node, node_environment
from worker_process import ROOT, SAMPLE_MODELS, WorkerProcess

FILES = ROOT / "service-platform" / "src" / "main" / "resources" / "dev" / "roundhouse" / "platform" / "page"
MANY = 10_000
WORKERS = 1_000
MOST_ELEMENTS = 150  # rows that are elements, on a screen of 900 pixels


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
def many() -> Iterator[str]:
    """Where the made-up page is served, and those of a gateway and a node below it."""
    command = [client_tools.need("node"), str(NODE / "page_of_many.js"), str(FILES), str(MANY)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as feed:
        try:
            assert feed.stdout is not None
            yield feed.stdout.readline().strip()
        finally:
            feed.terminate()


@pytest.fixture(scope="module")
def of_many(many: str, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    folder = tmp_path_factory.mktemp("page-of-many")
    seen = look(many, folder)
    seen["trace"] = json.loads((folder / "trace.json").read_text())
    seen["recording"] = (folder / "recording.jfr").read_bytes()
    return seen


@pytest.fixture(scope="module")
def of_gateway(many: str, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    return look_at_gateway(f"{many}/gateway", tmp_path_factory.mktemp("page-of-gateway"))


def test_should_have_the_types_that_its_comments_say() -> None:
    environment = node_environment()
    tsc = Path(environment["NODE_PATH"]) / "typescript" / "bin" / "tsc"
    options = ("--noEmit", "--allowJs", "--checkJs", "--strict", "--target", "es2023", "--module", "esnext")
    libraries = ("--lib", "es2023,dom,dom.iterable")
    command = [client_tools.need("node"), str(tsc), *options, *libraries, *map(str, sorted(FILES.glob("*.js")))]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=SECONDS)
    assert done.returncode == 0, done.stdout


def test_should_say_so_when_a_process_does_not_answer_and_go_on_when_it_does(tmp_path: Path) -> None:
    module = shutil.copy(FILES / "reading.js", tmp_path / "reading.mjs")  # Node goes by the name
    reading = [client_tools.need("node"), NODE / "reading.mjs", module, "200"]
    done = subprocess.run(reading, capture_output=True, text=True, timeout=SECONDS)
    assert json.loads(done.stdout) == [{"why": "no answer within 0.2 s"}, {"told": {}}], done.stderr


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
    assert of_worker["recordable"]  # by the machine itself


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


def test_should_ask_for_a_token_until_one_is_known_and_keep_it_nowhere(of_many: Seen) -> None:
    assert of_many["wanted"] == ["a token is wanted", "the bearer token is not known here"]
    assert of_many["changed"] == 'done: {"weight":2.5}'
    assert of_many["kept"] == [0, 0, 0, 0]  # local storage, session storage, cookies, the field


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


def test_should_show_what_a_gateway_knows_of_a_thousand_workers(of_gateway: Seen) -> None:
    assert of_gateway["errors"] == []
    assert of_gateway["elsewhere"] == []
    assert of_gateway["rowCount"] == str(WORKERS + 1)
    assert of_gateway["placedCount"] == str(MANY + 1)
    assert of_gateway["elements"] + of_gateway["placedElements"] <= MOST_ELEMENTS
    assert [row[2] for row in of_gateway["rows"][:4]] == ["ready", "left alone", "ready", "not ready"]
    ejected = "3 calls in a row could not be answered, the last one with UNAVAILABLE: no device"
    assert of_gateway["rows"][1][7] == ejected
    assert of_gateway["rows"][2][7].endswith(f"UTC: {ejected}")
    assert of_gateway["rows"][3][7] == "UNAVAILABLE: connection refused"
    assert of_gateway["facts"].startswith("998 of 1,000 workers take requests; 2,997 calls are open.")
    assert "worker 'w0004' is given 3000 bytes" in of_gateway["facts"]
    assert of_gateway["placed"][0][6] == "w0000, w0001, w0002 and 1 more"
    assert of_gateway["choices"][:2] == ["all workers", "w0000"]


def test_should_go_from_a_gateway_to_a_worker_and_a_model_and_back(of_gateway: Seen) -> None:
    assert of_gateway["filtered"] == ["w0001"]
    assert "Left alone last" in of_gateway["details"]
    assert of_gateway["byKeys"] == "w0001"
    assert of_gateway["hidden"]
    assert len(of_gateway["models"]) > 10
    assert of_gateway["back"] == ""
    assert of_gateway["byClick"] == "w0002"
    assert of_gateway["hash"] == "#w0000/model-00000"
    assert "model-00000, version 1" in of_gateway["model"]


def test_should_change_the_chosen_worker_and_say_which(of_gateway: Seen) -> None:
    unload, load, drain = of_gateway["unload"], of_gateway["load"], of_gateway["drain"]
    assert unload["question"].startswith("Unload 'model-00000' at worker 'w0000'?")
    assert unload["question"].endswith("unless that is unloaded as well: an-ensemble.")
    assert unload["done"] == 'done: {"loaded":false}'
    assert load["question"] == "Load 'never-loaded' at worker 'w0000', and what it calls that is not loaded?"
    assert load["done"] == 'done: {"loaded":true}'
    assert drain["question"].startswith("Drain worker 'w0000'?")
    assert drain["done"] == 'done: {"draining":true}'
    assert of_gateway["serving"]["done"] == 'done: {"draining":false}'


def test_should_show_the_processes_of_a_node(many: str, tmp_path: Path) -> None:
    seen = look_at_node(f"{many}/node", tmp_path)
    assert seen["errors"] == []
    assert [row[:2] for row in seen["rows"]] == [
        ["gateway", "running"],
        ["worker0", "running"],
        ["worker1", "backing off"],
    ]
    assert seen["rows"][2][3:5] == ["3", "70"]
    assert seen["rows"][2][6].endswith("after 3 ends in a row; its last end was 70: its engine failed")
    assert (seen["byKeys"], seen["byClick"]) == ("worker0", "worker1")
    assert seen["named"] == 1
    assert all(more <= 0 for more in seen["overflow"].values()), seen["overflow"]


def test_should_be_named_and_fit_every_screen_at_a_gateway(of_gateway: Seen) -> None:
    assert of_gateway["named"] == 1
    assert all(more <= 0 for more in of_gateway["overflow"].values()), of_gateway["overflow"]
    assert of_gateway["ground"]["light"] != of_gateway["ground"]["dark"]


def test_should_save_a_recording_where_the_worker_allows_one(of_many: Seen) -> None:
    assert of_many["recording"] == b"FLR"
