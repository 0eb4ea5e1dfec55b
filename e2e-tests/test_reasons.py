"""Why models wait, in the words of the live page: each reason staged on one worker, all at the same time."""

import hashlib
import json
import os
import pty
import re
import select
import subprocess
import termios
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import grpc
import numpy as np
import pytest
from tritonclient.grpc.service_pb2_grpc import GRPCInferenceServiceStub
from tritonclient.utils import InferenceServerException

import damaged_bundles
import java_bundles
import scaling_bundle
import spinning_bundle
from calls import request
from conftest import logs_shown
from page_events import PageEvents, Row
from worker_process import ROOT, WorkerProcess, wait_until

SCRIPT = ROOT / "roundhouse"
FOR_EVER = 2**62
LARGE = 8 << 20
SMALL = 16 << 10
SECONDS = 30
SETTINGS = (
    "repository.mode=explicit",
    "repository.load=*",
    "device.cpu.weights=copy",
    "residency.device-memory=16MB",  # for one of the large models, and all others
    "residency.wiggle=0",
    "scheduler.discipline=fifo",
    "models.held.max-queue-delay=1m",
    "hooks.threads=16",  # four for hooks of one model, two for runs of one meta
    "hooks.meta-concurrency=1",
    "hooks.time-limit=1h",
    "watchdog.device-call=1h",
)
SLEEPS = """\
import dev.roundhouse.hooks.*;

class Model implements ModelHooks {
  @Override
  public void open(ModelContext context) throws Exception {
    Thread.sleep(OPEN);
  }

  @Override
  public Tensors preprocess(HookRequest request) throws Exception {
    Thread.sleep(3_600_000);
    return Tensors.of();
  }
}
"""
CALLS = """\
import dev.roundhouse.hooks.*;

class Model implements MetaModel {
  @Override
  public Tensors run(HookRequest request, Calls calls) {
    return calls.call("called", Tensors.of(request.input("x")), "y");
  }
}
"""
CALLS_CONTRACT = """\
client_inputs:
- {name: x, dtype: f32, shape: [n, 4]}
client_outputs:
- {name: y, dtype: f32, shape: [n, 4]}
"""


def write_sleeping(repository: Path, name: str, open_millis: int) -> None:
    folder = scaling_bundle.write(repository, name, 2, SMALL)
    source = SLEEPS.replace("OPEN", str(open_millis))
    (folder / "Model.java").write_text(source, encoding="utf-8")
    digest = hashlib.sha256(source.encode()).hexdigest()
    manifest = folder / "manifest.yaml"
    text = manifest.read_text(encoding="utf-8").replace("files:\n", f"files:\n  Model.java: {digest}\n")
    manifest.write_text(text, encoding="utf-8")


def write_models(repository: Path) -> None:
    spinning_bundle.write_sequence(repository, "steps")
    for name in ("called", "next", "gone"):
        scaling_bundle.write(repository, name, 2, SMALL)
    for name in ("anchor", "large", "second"):
        scaling_bundle.write(repository, name, 2, LARGE)
    damaged_bundles.copy_sample("affine", repository, "held")
    java_bundles.write(repository, "calls", CALLS_CONTRACT, CALLS)
    manifest = repository / "calls" / "manifest.yaml"
    damaged_bundles.replace_once(manifest, "calls: []", "calls: [called]")
    for name in ("hooked", "leaves"):
        write_sleeping(repository, name, 0)
    damaged_bundles.truncated_weights(repository)


class Stage:
    """Has models wait, one after the other, each until it is known to."""

    def __init__(self, worker: WorkerProcess, models: Path, channel: grpc.Channel) -> None:
        self.worker = worker
        self.models = models
        self.stub = GRPCInferenceServiceStub(channel)
        self.page = PageEvents(f"{worker.host}:{worker.ports.metrics}")
        self.calls: list[grpc.Future] = []

    def ask(self, model: str, inputs: dict[str, np.ndarray], **parameters: int) -> None:
        message = request(model, inputs)
        for name, value in parameters.items():
            kind = "bool_param" if isinstance(value, bool) else "int64_param"
            setattr(message.parameters[name], kind, value)
        self.calls.append(self.stub.ModelInfer.future(message))

    def pin(self, model: str) -> None:
        body = json.dumps({"pinned": True}).encode()
        url = f"http://{self.worker.host}:{self.worker.ports.metrics}/actuator/residency/{model}"
        post = urllib.request.Request(url, body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(post, timeout=SECONDS) as answer:
            assert answer.status == 200

    def row(self, model: str, what: str, is_so: Callable[[Row], bool]) -> Row:
        """The model's row, from when it is as wanted."""
        assert [call.exception() for call in self.calls if call.done()] == []
        none = {"why": ""}
        so = is_so(self.page.rows.get(model, none))
        wait_until(lambda: so or is_so(self.page.follow().get(model, none)), SECONDS, f"{model}: {what}")
        return self.page.rows[model]

    def until(self, model: str, why: str) -> None:
        self.row(model, why, lambda row: row["why"] == why)

    def set(self) -> None:
        self.pin("anchor")
        self.ask("steps", spinning_bundle.turns(FOR_EVER), sequence_id=7, sequence_start=True)
        wait_until(lambda: self.page.follow() and self.page.running == "steps", SECONDS, "the first step runs")
        self.ask("steps", spinning_bundle.turns(FOR_EVER), sequence_id=7)
        self.until("steps", "earlier-step")
        row = scaling_bundle.numbers(1)
        for _ in range(2):
            self.ask("calls", row)
        self.until("called", "armed")
        self.ask("next", row)
        self.ask("large", row)
        self.until("large", "no-room")
        self.ask("second", row)
        self.ask("held", {"x": np.ones((1, 16), np.float32)})
        for model in ("hooked", "leaves"):
            for _ in range(5):
                self.ask(model, row)
            self.until(model, "hook-threads")
        for model in ("gone", "leaves"):
            self.repository("unload", model)
        write_sleeping(self.models, "slow", 3_600_000)
        self.repository("load", "slow")

    def repository(self, verb: str, model: str) -> None:
        """Asks for it and waits for no answer: some come when all has ended."""

        def call() -> None:
            with self.worker.client() as client, suppress(InferenceServerException):
                getattr(client, f"{verb}_model")(model)

        threading.Thread(target=call, daemon=True).start()


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A worker of its own also where others ask a gateway, which tells nothing of this."""
    folder = tmp_path_factory.mktemp("reasons")
    write_models(folder / "models")
    arguments = [f"--roundhouse.worker.{setting}" for setting in SETTINGS]
    worker = WorkerProcess.launch(folder / "models", folder / "log", *arguments)
    try:
        with logs_shown(worker), grpc.insecure_channel(worker.address) as channel:
            worker.await_ready()
            stage = Stage(worker, folder / "models", channel)
            stage.set()
            yield stage
            stage.page.close()
    finally:
        worker.process.kill()  # what runs never ends
        worker.close()


@pytest.mark.parametrize(
    ("model", "why", "words"),
    [
        ("steps", "earlier-step", "1 request waits for the step of its sequence before it"),
        ("called", "armed", "its batch is made up and runs next"),
        ("next", "device", "behind 'called'; the device is busy with 'steps' for longer than the usual"),
        ("held", "held", "held for its batch until"),
        ("large", "no-room", "no room for its 8.4 MB of weights: of the"),
        ("second", "link", "absent; 2nd on the link, behind 'large'"),
        ("hooked", "hook-threads", "1 request waits for its code: 4 run it, as many as may of one model"),
        ("calls", "meta-gate", "1 run waits at the gate of metas: 1 of any model make calls at once"),
        ("slow", "loading", "requests are refused, as the model is loading"),
        ("truncated-weights", "failed", "requests are refused, as the model is failed: "),
        ("leaves", "unloading", "requests are refused, as the model is unloading"),
        ("gone", "unloaded", "requests are refused, as the model is unloaded"),
    ],
)
def test_should_say_why_a_model_waits(stage: Stage, model: str, why: str, words: str) -> None:
    row = stage.row(model, why, lambda row: row["why"] == why)
    assert words in row["words"]


def top(stage: Stage, *options: str) -> list[str]:
    address = f"{stage.worker.host}:{stage.worker.ports.metrics}"
    command = [SCRIPT, "top", address, *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=True)
    return done.stdout.splitlines()


def test_should_print_the_same_words_in_a_terminal(stage: Stage) -> None:
    facts, device, _, head, *rows = top(stage, "--once", "--sort", "model")
    assert re.search(r", fifo; runs 'steps'; weights on the device: 8\.[45] MB of 17 MB$", facts)
    assert device == "device: 100 % busy"
    assert re.split(r"  +", head) == ["Model", "State", "Queue", "Due", "Had", "Place", "Next use", "Why it waits"]
    assert [row.split()[0] for row in rows] == sorted(stage.page.rows)
    for row in rows:
        known = stage.page.rows[row.split()[0]]
        assert (known["words"] or known["reason"]).split("; the device")[0].split(" until ")[0] in row
    used_now = [name for name, row in stage.page.rows.items() if row["nextUseSeconds"] == 0]
    assert used_now
    assert [row.split()[0] for row in rows if row.split()[0] in used_now and " now " in row] == sorted(used_now)
    (pinned,) = top(stage, "--once", "--filter", "anchor device")[4:]
    assert "device, pinned" in pinned


def test_should_fit_a_terminal_and_leave_it_as_it_was(stage: Stage) -> None:
    terminal, inside = pty.openpty()
    termios.tcsetwinsize(terminal, (8, 60))
    before = termios.tcgetattr(inside)
    command = [SCRIPT, "top", str(stage.worker.ports.metrics)]
    shown = ""
    with subprocess.Popen(command, stdin=inside, stdout=inside, stderr=inside) as process:

        def drawn() -> bool:
            nonlocal shown
            if select.select([terminal], [], [], 1)[0]:
                shown += os.read(terminal, 65536).decode(errors="replace")
            return shown.count("Why it waits") > 1

        wait_until(drawn, SECONDS, "it is drawn twice")
        os.write(terminal, b"q")
        assert process.wait(SECONDS) == 0
    while select.select([terminal], [], [], 0)[0]:
        shown += os.read(terminal, 65536).decode(errors="replace")
    assert shown.endswith("\x1b[?1049l")
    assert termios.tcgetattr(inside) == before
    frame = shown.split("\x1b[H")[-2]
    lines = [re.sub(r"\x1b\[[0-9?]*[a-zA-Z]", "", line) for line in frame.split("\r\n")]
    assert len(lines) == 8
    assert max(map(len, lines)) <= 60
    os.close(terminal)
    os.close(inside)
