"""Other models are served as before beside one whose hooks throw, never end, leave threads behind or fill the heap.

Beside attacks by clients, since what counts is the same: ``./roundhouse test --attack``. Several call the bad model all
the time, and p99 of well-behaved callers of another model is compared with what it was before.
"""

import os
import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException

import damaged_bundles
import java_bundles
from attack.others import INFER, LIVE, Felt, felt
from attack.programs import program
from conftest import Launch, Report
from worker_process import memory_options

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(
        os.environ.get("ROUNDHOUSE_E2E_ATTACK") != "full" or bool(os.environ.get("ROUNDHOUSE_E2E_ATTACK_ROWS")),
        reason="measures for minutes: ./roundhouse test --attack",
    ),
]

MEBIBYTES = 1024
CALLERS = 4
PAUSE_SECONDS = 0.02
CALL_SECONDS = 5
WARM_SECONDS = 3
BEFORE_SECONDS = 10
DURING_SECONDS = 15
RATIO = 1.2
# Of a machine with two processors, on which all callers run too: a p99 of few milliseconds doubles by itself.
FLOOR_SECONDS = 0.05
ATTEMPTS = 2  # a pause of the machine does not come again, a wait that the product causes does

CONTRACT = """\
client_inputs:
- {name: x, dtype: i32, shape: [1]}
client_outputs:
- {name: y, dtype: i32, shape: [1]}
"""
SOURCE = """\
import dev.roundhouse.hooks.*;

class Model implements MetaModel {
  static volatile long sum;

  @Override
  public Tensors run(HookRequest request, Calls calls) {
    CODE
    return Tensors.of(request.input("x").named("y"));
  }
}
"""


@dataclass(frozen=True)
class Bad:
    """``ends`` is how a call of the model may end, ``reason`` what the index says of it in the end."""

    code: str
    ends: tuple[str, ...]
    reason: str = ""


KINDS = {
    "throwing": Bad(
        'if (sum >= 0) { throw new IllegalStateException("told to"); }',
        ("INTERNAL", "NOT_FOUND", "UNAVAILABLE"),
        "its hooks",
    ),
    "leaking": Bad(
        """for (int i = 0; i < 5; i++) {
      Thread left = new Thread(() -> { while (true) java.util.concurrent.locks.LockSupport.park(); });
      left.setDaemon(true);
      left.start();
    }""",
        ("OK",),
    ),
    "endless": Bad(
        "while (sum >= 0) { sum &= Long.MAX_VALUE; }",
        ("DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED", "NOT_FOUND", "UNAVAILABLE"),
        "its hooks",
    ),
    "hoarding": Bad(
        "var all = new java.util.ArrayList<byte[]>(); while (sum >= 0) { all.add(new byte[1 << 16]); }",
        ("INTERNAL", "RESOURCE_EXHAUSTED", "NOT_FOUND", "UNAVAILABLE"),
        "its hooks",
    ),
}


class Callers:
    """Call the bad model until they are left, and count how that ends."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.ends: Counter[str] = Counter()
        self.over = threading.Event()
        self.threads = [threading.Thread(target=self.run) for _ in range(CALLERS)]

    def __enter__(self) -> "Callers":
        for thread in self.threads:
            thread.start()
        return self

    def run(self) -> None:
        given = triton.InferInput("x", [1], "INT32").set_data_from_numpy(np.ones(1, np.int32))
        with triton.InferenceServerClient(self.address) as client:
            while not self.over.is_set():
                try:
                    client.infer("bad", [given], client_timeout=CALL_SECONDS)
                    end = "OK"
                except InferenceServerException as failure:
                    end = failure.status().removeprefix("StatusCode.")
                self.ends[end] += 1
                time.sleep(PAUSE_SECONDS)

    def __exit__(self, *_: object) -> None:
        self.over.set()
        for thread in self.threads:
            thread.join()


def times(what: Felt, kind: str) -> str:
    return "/".join(f"{what.percentile(kind, share) * 1e3:.1f}" for share in (50, 99))


@pytest.mark.parametrize("kind", KINDS)
def test_should_serve_others_as_before_beside_bad_hooks(
    kind: str, tmp_path: Path, launch: Launch, report: Report
) -> None:
    bad = KINDS[kind]
    models = tmp_path / "models"
    models.mkdir()
    damaged_bundles.copy_sample("simple", models, "simple")
    java_bundles.write(models, "bad", CONTRACT, SOURCE.replace("CODE", bad.code))
    late: list[str] = []
    for attempt in range(ATTEMPTS):
        worker = launch(models, "--roundhouse.worker.hooks.time-limit=500ms", jvm=memory_options(MEBIBYTES))
        worker.await_ready()
        records = tmp_path / f"records{attempt}"
        with program("others", records, worker.ports.http, worker.ports.grpc):
            time.sleep(WARM_SECONDS)
            start = time.monotonic()
            time.sleep(BEFORE_SECONDS)
            began = time.monotonic()
            with Callers(worker.address) as callers:
                time.sleep(DURING_SECONDS)
                left = time.monotonic()
            assert worker.process.poll() is None, "the worker has ended"
            with worker.client() as client:
                reasons = {line.name: line.reason for line in client.get_model_repository_index().models}
        before, during = felt(records, start, began), felt(records, began, left)
        report(
            f"{kind}: p50/p99 ms of ModelInfer {times(before, INFER)} before, {times(during, INFER)} beside it; "
            f"of ServerLive {times(before, LIVE)}, {times(during, LIVE)}; calls of the bad one {dict(callers.ends)}"
        )
        assert not during.errors
        assert set(callers.ends) <= set(bad.ends)
        assert callers.ends[bad.ends[0]] > 0
        assert bad.reason in reasons["bad"]
        late = [
            f"p99 of {call}: {was * 1e3:.1f} ms before, {now * 1e3:.1f} ms beside {kind} hooks"
            for call in (INFER, LIVE)
            for was, now in [(before.percentile(call, 99), during.percentile(call, 99))]
            if not now <= max(was * RATIO, FLOOR_SECONDS)
        ]
        worker.process.kill()
        worker.process.wait()
        if not late:
            return
    assert not late, "\n".join(late)
