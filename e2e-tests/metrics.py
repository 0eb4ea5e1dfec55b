"""What a worker's metrics say; they never ask the dispatch thread anything."""

import re

from worker_process import WorkerProcess


def waiting(worker: WorkerProcess, model: str) -> int:
    """How many requests wait for a model."""
    _, page = worker.get(worker.ports.metrics, "/metrics")
    found = re.search(rf'^roundhouse_requests_waiting\{{model="{model}"\}} (\S+)$', page, re.MULTILINE)
    assert found, page
    return int(float(found[1]))
