"""Well-behaved callers, as a program: ``python -m attack.others RECORDS HTTP GRPC``.

One caller each of ModelInfer, of ServerLive over gRPC, and of health over HTTP, every few milliseconds and from
127.0.0.1. RECORDS gets a line for each call, ``kind began seconds status``, by the machine's monotonic clock. It goes
when its input ends.
"""

import http.client
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import grpc
import numpy as np
from tritonclient.grpc.service_pb2 import ServerLiveRequest
from tritonclient.grpc.service_pb2_grpc import GRPCInferenceServiceStub

from calls import request, simple_inputs

PAUSE = 0.01
TIMEOUT = 20
INFER, LIVE, HEALTH = "infer", "live", "health"
OPTIONS = (("grpc.initial_reconnect_backoff_ms", 100), ("grpc.max_reconnect_backoff_ms", 500))


@dataclass
class Felt:
    """What calls of each kind took, in seconds, and how those that failed ended."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)

    def percentile(self, kind: str, share: float) -> float:
        """NaN where there was no call."""
        return float(np.percentile(self.seconds[kind], share)) if self.seconds.get(kind) else float("nan")


def felt(records: Path, start: float, end: float) -> Felt:
    """Of calls that were open at some time between the two."""
    found = Felt()
    for line in records.read_text().splitlines():
        kind, began, seconds, status = line.split()
        if float(began) + float(seconds) >= start and float(began) < end:
            found.seconds.setdefault(kind, []).append(float(seconds))
            if status not in ("OK", "200"):
                found.errors[f"{kind} {status}"] += 1
    return found


def main() -> None:
    records = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    http_port, grpc_port = map(int, sys.argv[2:4])

    def repeat(kind: str, call: Callable[[], str]) -> None:
        while True:
            began = time.monotonic()
            status = call()
            os.write(records, f"{kind} {began:.4f} {time.monotonic() - began:.5f} {status}\n".encode())
            time.sleep(PAUSE)

    channel = grpc.insecure_channel(f"127.0.0.1:{grpc_port}", options=OPTIONS)
    stub = GRPCInferenceServiceStub(channel)
    message = request("simple", simple_inputs())

    def asked(method: Callable, argument: object) -> Callable[[], str]:
        def call() -> str:
            try:
                method(argument, timeout=TIMEOUT)
            except grpc.RpcError as e:
                return e.code().name
            return "OK"

        return call

    def health() -> str:
        connection = http.client.HTTPConnection("127.0.0.1", http_port, timeout=TIMEOUT)
        try:
            connection.request("GET", "/v2/health/live")
            return str(connection.getresponse().status)
        except OSError as e:
            return type(e).__name__
        except http.client.HTTPException as e:
            return type(e).__name__
        finally:
            connection.close()

    calls = {INFER: asked(stub.ModelInfer, message), LIVE: asked(stub.ServerLive, ServerLiveRequest()), HEALTH: health}
    for kind, call in calls.items():
        threading.Thread(target=repeat, args=(kind, call), daemon=True).start()
    sys.stdin.read()
    os._exit(0)  # calls may be open for as long as their deadline


if __name__ == "__main__":
    main()
