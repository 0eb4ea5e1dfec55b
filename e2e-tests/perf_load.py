"""Runs of Triton's perf_analyzer: whether it gets along with the worker, not how fast that is."""

import subprocess

from client_tools import LinkedProgram
from worker_process import WorkerProcess

CONCURRENCY = 16
REQUESTS = 200
SECONDS = 120


def send(tool: LinkedProgram, worker: WorkerProcess, over: str, *options: str) -> None:
    """Sends requests of the model 'simple'; both sides must have counted as many answers."""
    address = worker.address if over == "grpc" else f"127.0.0.1:{worker.ports.http}"
    command = [str(tool.program), "-m", "simple", "-i", over, "-u", address, *options]
    command += ["--concurrency-range", str(CONCURRENCY), "--request-count", str(REQUESTS)]
    before = _answered(worker)
    done = subprocess.run(command, capture_output=True, text=True, env=tool.environment(), timeout=SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"Request count: {REQUESTS}" in done.stdout, done.stdout
    assert _answered(worker) - before >= REQUESTS


def _answered(worker: WorkerProcess) -> int:
    with worker.client() as client:
        return client.get_inference_statistics("simple").model_stats[0].inference_stats.success.count
