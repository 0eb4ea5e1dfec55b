"""Calls a server without end and writes down how each call ended: what a client sees of a fault.

``python fault_load.py RECORDS CALLERS PAUSE DEADLINE RETRY ADDRESS...``: so many callers ask for sums of the model
'simple', each with a pause between its calls. A call that ends UNAVAILABLE is made again, at the next address, for
RETRY seconds; 0 for never. RECORDS gets a line for each call, ``began seconds attempts status text``, where the time is
``time.monotonic()`` of the machine. SIGTERM ends it, once open calls have ended.
"""

import os
import signal
import sys
import threading
import time

import grpc
import numpy as np
from tritonclient.grpc.service_pb2_grpc import GRPCInferenceServiceStub

from calls import request, simple_inputs

OPTIONS = (
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 500),
)
RETRY_PAUSE = 0.05
CONNECTIONS = 2


def call(stub: GRPCInferenceServiceStub, start: int, deadline: float) -> tuple[str, str]:
    inputs = simple_inputs(start=start)
    try:
        answer = stub.ModelInfer(request("simple", inputs), timeout=deadline)
    except grpc.RpcError as e:
        return e.code().name, " ".join((e.details() or "").split())
    total = np.frombuffer(answer.raw_output_contents[0], np.int32)
    right = (total == (inputs["INPUT0"] + inputs["INPUT1"])[0]).all()
    return ("OK", "") if right else ("WRONG", str(total))


def main() -> None:
    records = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    callers, pause, deadline, retry = int(sys.argv[2]), *map(float, sys.argv[3:6])
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    stubs = [
        [GRPCInferenceServiceStub(grpc.insecure_channel(address, options=OPTIONS)) for address in sys.argv[6:]]
        for _ in range(CONNECTIONS)
    ]

    def run(caller: int) -> None:
        own = stubs[caller % CONNECTIONS]
        number = 0
        while not stop.wait(pause):
            number += 1
            began = time.monotonic()
            attempts = 0
            while True:
                status, text = call(own[(caller + attempts) % len(own)], number, deadline)
                attempts += 1
                if status != "UNAVAILABLE" or time.monotonic() - began > retry:
                    break
                time.sleep(RETRY_PAUSE)
            line = f"{began:.4f} {time.monotonic() - began:.4f} {attempts} {status} {text}\n"
            os.write(records, line.encode())
            if status != "OK":
                stop.wait(RETRY_PAUSE)  # a server that is gone refuses thousands of calls a second

    threads = [threading.Thread(target=run, args=(caller,)) for caller in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
