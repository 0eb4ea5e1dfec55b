"""Many callers at once."""

import threading

import grpc
import numpy as np
from tritonclient.grpc.service_pb2_grpc import GRPCInferenceServiceStub

from calls import request
from worker_process import WorkerProcess


def test_should_give_every_caller_its_own_answer_when_sixteen_call_at_once(worker: WorkerProcess) -> None:
    """Rows of different callers share batches; a sum of each answer tells whose it is."""
    problems: list[str] = []
    calls_each, callers = 150, 16

    def call_with_own_numbers(caller: int) -> None:
        rng = np.random.default_rng(caller)
        with grpc.insecure_channel(worker.address) as channel:
            stub = GRPCInferenceServiceStub(channel)
            for number in range(calls_each):
                rows = int(rng.integers(1, 9))
                inputs = {name: rng.integers(-(10**6), 10**6, (rows, 16), np.int32) for name in ("INPUT0", "INPUT1")}
                try:
                    answer = stub.ModelInfer(request("simple", inputs), timeout=20)
                except grpc.RpcError as error:
                    problems.append(f"caller {caller}, call {number}: {error.code()} {error.details()}")
                    return
                expected = [inputs["INPUT0"] + inputs["INPUT1"], inputs["INPUT0"] - inputs["INPUT1"]]
                if list(answer.raw_output_contents) != [value.tobytes() for value in expected]:
                    problems.append(f"caller {caller} (seed {caller}), call {number} of {rows} rows: another's answer")

    threads = [threading.Thread(target=call_with_own_numbers, args=(caller,)) for caller in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads)
    assert problems == []
