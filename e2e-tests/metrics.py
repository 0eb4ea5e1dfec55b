"""What a worker's metrics say; a scrape waits for the dispatch thread 0.2 s at most."""

import re

from worker_process import WorkerProcess


def waiting(worker: WorkerProcess, model: str) -> int:
    """How many requests wait for a model."""
    _, page = worker.get(worker.ports.metrics, "/metrics")
    found = re.search(rf'^roundhouse_requests_waiting\{{model="{model}"\}} (\S+)$', page, re.MULTILINE)
    assert found, page
    return int(float(found[1]))
