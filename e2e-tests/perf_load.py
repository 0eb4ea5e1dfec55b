"""Runs of Triton's perf_analyzer: whether it gets along with the worker, not how fast that is."""

import subprocess

from client_tools import LinkedProgram
from worker_process import WorkerProcess

CONCURRENCY = 16
REQUESTS = 200
SECONDS = 40
ATTEMPTS = 3


def send(tool: LinkedProgram, worker: WorkerProcess, over: str, *options: str) -> None:
    """Sends requests of the model 'simple'; both sides must have counted as many answers."""
    address = worker.address if over == "grpc" else f"127.0.0.1:{worker.ports.http}"
    command = [str(tool.program), "-m", "simple", "-i", over, "-u", address, *options]
    command += ["--concurrency-range", str(CONCURRENCY), "--request-count", str(REQUESTS)]
    for _ in range(ATTEMPTS):
        before = _answered(worker)
        try:
            done = subprocess.run(command, capture_output=True, text=True, env=tool.environment(), timeout=SECONDS)
        except subprocess.TimeoutExpired:
            # Version 2.51 may sleep for ever when its threads end before it looks at them: one run in dozens.
            assert _answered(worker) - before >= REQUESTS, f"requests were not answered in {SECONDS} s"
            continue
        assert done.returncode == 0, done.stdout + done.stderr
        assert f"Request count: {REQUESTS}" in done.stdout, done.stdout
        assert _answered(worker) - before >= REQUESTS
        return
    raise AssertionError(f"perf_analyzer did not end in {ATTEMPTS} runs whose requests were all answered")


def _answered(worker: WorkerProcess) -> int:
    with worker.client() as client:
        return client.get_inference_statistics("simple").model_stats[0].inference_stats.success.count
