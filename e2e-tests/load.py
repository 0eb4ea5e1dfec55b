"""Callers that ask one after the other without a pause."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import tritonclient.grpc as triton

from calls import infer, simple_inputs

CALLERS = 4


@contextmanager
def callers(address: str) -> Iterator[None]:
    ended = threading.Event()

    def call() -> None:
        with triton.InferenceServerClient(address) as client:
            while not ended.is_set():
                infer(client, "simple", simple_inputs())

    threads = [threading.Thread(target=call) for _ in range(CALLERS)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()
