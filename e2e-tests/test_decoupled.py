"""Answers in parts: ModelStreamInfer by the stock client, and the generate extension."""

import http.client
import json
import queue
import re
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException

import java_bundles
from conftest import running
from node_process import NodeProcess
from worker_process import WorkerProcess

SECONDS = 30
DELAY = 0.4  # seconds between parts that are timed


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    folder = tmp_path_factory.mktemp("decoupled")
    java_bundles.write_repeat(folder / "models")
    java_bundles.write_strings(folder / "models")
    with running(folder / "models", folder / "log") as process:
        yield process


def inputs(values: list[int], delay: int = 0) -> list[triton.InferInput]:
    given = []
    for name, datatype, array in (
        ("IN", "INT32", np.array(values, np.int32)),
        ("DELAY", "UINT32", np.full(len(values), delay, np.uint32)),
        ("WAIT", "UINT32", np.zeros(1, np.uint32)),
    ):
        given.append(triton.InferInput(name, list(array.shape), datatype).set_data_from_numpy(array))
    return given


def body(values: list[int], delay: float = 0, **others: Any) -> str:
    return json.dumps({"IN": values, "DELAY": [round(1000 * delay)] * len(values), "WAIT": 0, **others})


def ask(server: WorkerProcess, path: str, text: str) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", server.ports.http, timeout=SECONDS)
    connection.request("POST", f"/v2/models/{path}", text)
    return connection.getresponse()


def test_should_stream_parts_beside_other_requests(server: WorkerProcess) -> None:
    answers: queue.Queue[tuple[Any, InferenceServerException | None]] = queue.Queue()
    with triton.InferenceServerClient(server.address) as client:
        assert client.get_model_config("repeat_int32").config.model_transaction_policy.decoupled
        client.start_stream(lambda result, error: answers.put((result, error)))
        for n in range(20):
            client.async_stream_infer(
                "repeat_int32",
                inputs(list(range(n, 2 * n)), 1),
                request_id=str(n),
                enable_empty_final_response=True,
            )
        parts: dict[str, list[int]] = {str(n): [] for n in range(20)}
        ended: set[str] = set()
        while len(ended) < len(parts):
            result, error = answers.get(timeout=SECONDS)
            assert error is None
            response = result.get_response()
            assert response.id not in ended
            if response.parameters["triton_final_response"].bool_param:
                assert not response.outputs
                ended.add(response.id)
            else:
                parts[response.id].append(int(result.as_numpy("OUT")[0]))
        assert parts == {str(n): list(range(n, 2 * n)) for n in range(20)}
        client.stop_stream()
        with pytest.raises(InferenceServerException, match="doesn't support models with decoupled transaction policy"):
            client.infer("repeat_int32", inputs([1]))


def test_should_send_each_part_as_an_event_when_it_is_made(server: WorkerProcess) -> None:
    asked = time.monotonic()
    answer = ask(server, "repeat_int32/generate_stream", body([7, 8, 9], DELAY, id="a"))
    assert answer.status == 200
    assert answer.getheader("Content-Type") == "text/event-stream"
    for index, value in enumerate((7, 8, 9)):
        event = answer.readline()
        came = time.monotonic() - asked
        assert event.startswith(b"data: ")
        assert json.loads(event[6:]) == {
            "id": "a",
            "model_name": "repeat_int32",
            "model_version": "1",
            "OUT": value,
            "IDX": index,
        }
        assert answer.readline() == b"\n"
        if index < 2:
            assert came < 3 * DELAY, "a part waited for the last"
    assert answer.read() == b""


def test_should_generate_one_answer(server: WorkerProcess) -> None:
    answer = ask(server, "repeat_int32/generate", body([5]))
    assert answer.status == 200
    assert json.load(answer)["OUT"] == 5
    answer = ask(server, "repeat_int32/generate", body([5, 6]))
    assert answer.status == 400
    assert "ask generate_stream" in json.load(answer)["error"]
    numbers = [str(n) for n in range(16)]
    answer = ask(server, "simple_string/generate", json.dumps({"INPUT0": numbers, "INPUT1": numbers}))
    assert json.load(answer)["OUTPUT0"] == [str(2 * n) for n in range(16)]


def test_should_name_what_is_wrong(server: WorkerProcess) -> None:
    for path, text, status, error in (
        ("nobody/generate", "{}", 404, "nobody"),
        ("repeat_int32/generate_stream", "{}", 400, "expected 3 inputs but got 0"),
        ("repeat_int32/generate_stream", body([1]).replace("[1]", '"a"'), 400, "Unable to parse 'IN'"),
        ("repeat_int32/infer", "{}", 400, "expected 3 inputs"),
    ):
        answer = ask(server, path, text)
        assert (answer.status, error in answer.read().decode()) == (status, True), path


def test_should_stop_when_the_client_leaves(server: WorkerProcess) -> None:
    before = cancelled(server)
    answer = ask(server, "repeat_int32/generate_stream", body(list(range(10_000)), 0.01))
    answer.readline()
    answer.close()
    deadline = time.monotonic() + SECONDS
    while cancelled(server) == before:
        assert time.monotonic() < deadline, "it goes on"
        time.sleep(0.05)


def cancelled(server: WorkerProcess) -> int:
    """Requests that their callers took back, at all workers."""
    workers = server.workers if isinstance(server, NodeProcess) else [server]
    pages = (worker.get(worker.ports.metrics, "/metrics")[1] for worker in workers)
    counts = (
        re.findall(r'^roundhouse_requests_cancelled_total\{model="repeat_int32"\} (\S+)$', p, re.M) for p in pages
    )
    return round(sum(float(count) for each in counts for count in each))
