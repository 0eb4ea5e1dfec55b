"""What tests ask of containers on the sample models, by the stock client."""

import threading
import time
import urllib.request

import numpy as np
import tritonclient.grpc as triton
import tritonclient.http as triton_http

import spinning_bundle
from worker_process import wait_until


def affine(address: str) -> np.ndarray:
    """The answer for zeros, over gRPC."""
    with triton.InferenceServerClient(address) as client:
        x = triton.InferInput("x", [1, 16], "FP32")
        x.set_data_from_numpy(np.zeros((1, 16), np.float32))
        return client.infer("affine", [x], client_timeout=60).as_numpy("y")


def sums(address: str) -> np.ndarray:
    """INPUT0 and INPUT1 added, over HTTP."""
    with triton_http.InferenceServerClient(address) as client:
        inputs = [triton_http.InferInput(name, [1, 16], "INT32") for name in ("INPUT0", "INPUT1")]
        for number, each in enumerate(inputs):
            each.set_data_from_numpy(np.full((1, 16), number + 1, np.int32))
        return client.infer("simple", inputs).as_numpy("OUTPUT0")


def spin(address: str, turns: int) -> None:
    """Keeps the device of ``spinning_bundle``'s model busy, over gRPC, until that many turns are done."""
    values = spinning_bundle.turns(turns)[spinning_bundle.INPUT]
    given = triton.InferInput(spinning_bundle.INPUT, list(values.shape), "INT64")
    given.set_data_from_numpy(values)
    with triton.InferenceServerClient(address) as client:
        client.infer("spin", [given])


def text(address: str, path: str) -> str:
    with urllib.request.urlopen(f"http://{address}{path}", timeout=30) as response:
        return response.read().decode()


def calls_open(address: str) -> float:
    """gRPC calls that a worker or a gateway has, as its metrics say."""
    return sum(
        float(line.rpartition(" ")[2])
        for line in text(address, "/metrics?workers=false").splitlines()
        if line.startswith(("roundhouse_grpc_calls_open", "gateway_grpc_calls_open"))
    )


class CallUnderWay:
    """A call that takes some seconds of the device, under way from construction on."""

    def __init__(self, address: str, metrics: str, seconds: float) -> None:
        spin(address, 1)
        began = time.monotonic()
        spin(address, 200_000_000)
        turns = int(200_000_000 * seconds / (time.monotonic() - began))
        self._answered: float | None = None
        self._thread = threading.Thread(target=self._call, args=(address, turns))
        self._thread.start()
        wait_until(lambda: calls_open(metrics) > 0, 30, "a call under way")

    def answered(self) -> float:
        """When it was, by ``time.monotonic()``."""
        self._thread.join(30)
        assert self._answered is not None, "the call was not answered"
        return self._answered

    def _call(self, address: str, turns: int) -> None:
        spin(address, turns)
        self._answered = time.monotonic()
