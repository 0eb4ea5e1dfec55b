"""Triton's load generator, which is built on the C++ clients. With shared memory: ``test_shared_memory.py``."""

import pytest

import perf_load
from client_tools import LinkedProgram
from worker_process import WorkerProcess


@pytest.mark.parametrize(
    ("over", "options"),
    [
        ("grpc", ()),
        ("grpc", ("--streaming", "--async")),
        ("grpc", ("--grpc-compression-algorithm=deflate",)),
        ("http", ("--async", "-b", "4")),
        ("http", ("--input-tensor-format=json", "--output-tensor-format=json")),
    ],
    ids=["grpc", "stream", "grpc-deflate", "http-batch", "http-json"],
)
def test_should_serve_perf_analyzer(
    perf_analyzer: LinkedProgram, worker: WorkerProcess, over: str, options: tuple[str, ...]
) -> None:
    perf_load.send(perf_analyzer, worker, over, *options)
