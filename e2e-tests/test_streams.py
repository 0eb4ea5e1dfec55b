"""ModelStreamInfer with the stock client: order, errors in-band and as a status, and asyncio."""

import asyncio
import queue
from collections.abc import AsyncIterator
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as triton
import tritonclient.grpc.aio as triton_aio
from tritonclient.utils import InferenceServerException

from worker_process import WorkerProcess

SECONDS = 30


def simple(n: int) -> list[triton.InferInput]:
    tensors = []
    for name, array in (("INPUT0", np.full((1, 16), n, np.int32)), ("INPUT1", np.ones((1, 16), np.int32))):
        tensors.append(triton.InferInput(name, [1, 16], "INT32").set_data_from_numpy(array))
    return tensors


Answers = queue.Queue[tuple[Any, InferenceServerException | None]]


def test_should_answer_in_order(worker: WorkerProcess) -> None:
    answers: Answers = queue.Queue()
    with triton.InferenceServerClient(worker.address) as client:
        client.start_stream(lambda result, error: answers.put((result, error)))
        for n in range(500):
            client.async_stream_infer("simple", simple(n), request_id=str(n))
        for n in range(500):
            result, error = answers.get(timeout=SECONDS)
            assert error is None
            response = result.get_response()
            assert response.id == str(n)
            assert response.parameters["triton_final_response"].bool_param
            np.testing.assert_array_equal(result.as_numpy("OUTPUT0"), np.full((1, 16), n + 1, np.int32))
        client.stop_stream()


def test_should_tell_errors_in_band(worker: WorkerProcess) -> None:
    answers: Answers = queue.Queue()
    with triton.InferenceServerClient(worker.address) as client:
        client.start_stream(lambda result, error: answers.put((result, error)))
        client.async_stream_infer("nobody", simple(0), request_id="a")
        client.async_stream_infer("simple", simple(1), request_id="b")
        result, error = answers.get(timeout=SECONDS)
        assert error is not None
        assert "Request for unknown model: 'nobody' is not found" in error.message()
        result, error = answers.get(timeout=SECONDS)
        assert error is None
        assert result.get_response().id == "b"
        client.stop_stream()


def test_should_end_with_a_status_when_asked_to(worker: WorkerProcess) -> None:
    answers: Answers = queue.Queue()
    with triton.InferenceServerClient(worker.address) as client:
        client.start_stream(lambda result, error: answers.put((result, error)), headers={"triton_grpc_error": "true"})
        client.async_stream_infer("nobody", simple(0))
        _, error = answers.get(timeout=SECONDS)
        assert error is not None
        assert error.status() == "StatusCode.NOT_FOUND"
        client.stop_stream()


def test_should_serve_asyncio(worker: WorkerProcess) -> None:
    async def requests() -> AsyncIterator[dict[str, Any]]:
        for n in range(50):
            yield {"model_name": "simple", "inputs": simple(n), "request_id": str(n)}

    async def run() -> list[str]:
        ids = []
        async with triton_aio.InferenceServerClient(worker.address) as client:
            async for result, error in client.stream_infer(requests()):
                assert error is None
                ids.append(result.get_response().id)
        return ids

    assert asyncio.run(run()) == [str(n) for n in range(50)]


@pytest.mark.parametrize("streams", [8])
def test_should_serve_streams_side_by_side(worker: WorkerProcess, streams: int) -> None:
    clients = [triton.InferenceServerClient(worker.address) for _ in range(streams)]
    answers: list[Answers] = [queue.Queue() for _ in clients]
    for client, into in zip(clients, answers, strict=True):
        client.start_stream(lambda result, error, into=into: into.put((result, error)))
    for n in range(50):
        for client in clients:
            client.async_stream_infer("simple", simple(n), request_id=str(n))
    for client, into in zip(clients, answers, strict=True):
        for n in range(50):
            result, error = into.get(timeout=SECONDS)
            assert error is None
            assert result.get_response().id == str(n)
        client.stop_stream()
        client.close()
