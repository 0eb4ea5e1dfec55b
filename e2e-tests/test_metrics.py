"""A worker's metrics, read by Prometheus' own parser."""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from calls import infer
from conftest import logs_shown
from worker_process import SAMPLE_MODELS, WorkerProcess

PAGE = Path(__file__).parent.parent / "docs/metrics.md"
OURS = ("roundhouse_", "nv_", "worker_")

ONES = {"x": np.ones(3, np.float32)}


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    """A worker, never a gateway in its place: that has other metrics."""
    process = WorkerProcess.launch(SAMPLE_MODELS, tmp_path_factory.mktemp("metrics") / "log")
    try:
        with logs_shown(process):
            yield process.await_ready()
    finally:
        process.close()


def families(worker: WorkerProcess) -> dict[str, Metric]:
    _, page = worker.get(worker.ports.metrics, "/metrics")
    return {family.name: family for family in text_string_to_metric_families(page)}


def documented() -> dict[str, tuple[str, set[str]]]:
    """Type and labels of each metric of a worker, by its name."""
    section = PAGE.read_text().split("## Of a worker\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| \w* \| ([^|]*) \|", section, re.MULTILINE)
    return {name: (kind, set(re.findall(r"`(\w+)`", labels))) for name, kind, labels in rows}


def test_should_show_only_what_the_page_describes(own: WorkerProcess) -> None:
    with own.client() as client:
        infer(client, "scalar", ONES)
    described = documented()
    seen = [family for name, family in families(own).items() if name.startswith(OURS)]
    assert len(seen) > 60
    for family in seen:
        name = family.name + ("_total" if family.type == "counter" else "")
        kind, labels = described[name]
        assert family.type == {"untyped": "unknown"}.get(kind, kind), name
        for sample in family.samples:
            assert set(sample.labels) - {"le"} == labels, sample


def test_should_count_a_request_in_every_histogram_and_by_all_names(own: WorkerProcess) -> None:
    with own.client() as client:
        infer(client, "scalar", ONES)
        before = families(own)
        infer(client, "scalar", ONES)
        after = families(own)

    def grown(name: str, sample: str, **labels: str) -> float:
        def value(of: dict[str, Metric]) -> float:
            wanted = {"model": "scalar", **labels}
            found = [s.value for s in of[name].samples if s.name == sample and s.labels == wanted]
            assert len(found) == 1, (name, sample, labels)
            return found[0]

        return value(after) - value(before)

    for name in ("request_wait_seconds", "request_seconds", "run_seconds", "run_rows"):
        assert grown(f"roundhouse_{name}", f"roundhouse_{name}_count") == 1
        assert grown(f"roundhouse_{name}", f"roundhouse_{name}_bucket", le="+Inf") == 1
    assert grown("nv_inference_request_success", "nv_inference_request_success", version="1") == 1
    assert grown("worker_requests", "worker_requests_total", status="ok") == 1
    assert grown("roundhouse_requests_completed", "roundhouse_requests_completed_total") == 1
