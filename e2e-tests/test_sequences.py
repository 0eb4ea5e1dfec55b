"""Sequences with the stock clients: state is carried from request to request, in every transport."""

import queue
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as triton
import tritonclient.http as triton_http
from tritonclient.utils import InferenceServerException

import summing_bundle
from conftest import running
from worker_process import WorkerProcess

SECONDS = 30
VALUES = [11, 7, 5, 3, 2, 0, 1]
SUMS = list(np.cumsum(VALUES))


@pytest.fixture(scope="module")
def summing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    folder = tmp_path_factory.mktemp("summing")
    summing_bundle.write(folder / "models", "sums")
    summing_bundle.write_beginning(folder / "models", "sums_on", 100)
    with running(folder / "models", folder / "log") as worker:
        yield worker


def step_of(i: int) -> dict[str, bool]:
    return {"sequence_start": i == 0, "sequence_end": i == len(VALUES) - 1}


def tensor(module: Any, value: int) -> Any:
    data = np.array([[value]], np.int32)
    return [module.InferInput("INPUT", [1, 1], "INT32").set_data_from_numpy(data)]


@pytest.mark.parametrize("sequence", [7, 2**62])
def test_should_carry_state_over_grpc(summing: WorkerProcess, sequence: int) -> None:
    with summing.client() as client:
        for i, value in enumerate(VALUES):
            result = client.infer("sums", tensor(triton, value), sequence_id=sequence, **step_of(i))
            assert result.as_numpy("OUTPUT").tolist() == [[SUMS[i]]]
            assert result.as_numpy("STARTED").tolist() == [[int(i == 0)]]
            assert result.as_numpy("SEQUENCE").tolist() == [[sequence]]
            assert result.as_numpy("sum_out") is None


def test_should_begin_with_the_file_that_the_manifest_names(summing: WorkerProcess) -> None:
    with summing.client() as client:
        for i, value in enumerate(VALUES):
            result = client.infer("sums_on", tensor(triton, value), sequence_id=9, **step_of(i))
            assert result.as_numpy("OUTPUT").tolist() == [[100 + SUMS[i]]]
        (state,) = client.get_model_config("sums_on").config.sequence_batching.state
        assert [each.data_file for each in state.initial_state] == ["begin.bin"]
        (state,) = client.get_model_config("sums").config.sequence_batching.state
        assert [each.zero_data for each in state.initial_state] == [True]


def test_should_carry_state_over_http(summing: WorkerProcess) -> None:
    with triton_http.InferenceServerClient(f"127.0.0.1:{summing.ports.http}") as client:
        for i, value in enumerate(VALUES):
            result = client.infer("sums", tensor(triton_http, value), sequence_id=8, **step_of(i))
            assert result.as_numpy("OUTPUT").tolist() == [[SUMS[i]]]


def test_should_carry_the_state_of_many_sequences_in_one_stream(summing: WorkerProcess) -> None:
    """As the stock example does, but sequences and steps are sent without waiting for an answer."""
    answers: queue.Queue[tuple[Any, InferenceServerException | None]] = queue.Queue()
    sequences = range(100, 120)
    with summing.client() as client:
        client.start_stream(lambda result, error: answers.put((result, error)))
        for i, value in enumerate(VALUES):
            for sequence in sequences:
                client.async_stream_infer(
                    "sums",
                    tensor(triton, value + sequence),
                    request_id=f"{sequence}",
                    sequence_id=sequence,
                    **step_of(i),
                )
        sums: dict[int, list[int]] = {}
        for _ in range(len(VALUES) * len(sequences)):
            result, error = answers.get(timeout=SECONDS)
            assert error is None, error
            sums.setdefault(int(result.get_response().id), []).append(int(result.as_numpy("OUTPUT")[0, 0]))
        client.stop_stream()
    assert sums == {sequence: list(np.cumsum([v + sequence for v in VALUES])) for sequence in sequences}


def test_should_keep_sequences_of_many_clients_apart(summing: WorkerProcess) -> None:
    seen: dict[int, list[int]] = {}

    def run(sequence: int) -> None:
        with summing.client() as client:
            seen[sequence] = [
                int(
                    client.infer("sums", tensor(triton, v * sequence), sequence_id=sequence, **step_of(i)).as_numpy(
                        "OUTPUT"
                    )[0, 0]
                )
                for i, v in enumerate(VALUES)
            ]

    threads = [threading.Thread(target=run, args=(sequence,)) for sequence in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    assert seen == {sequence: [s * sequence for s in SUMS] for sequence in range(1, 9)}


def test_should_rank_the_output_of_a_step(summing: WorkerProcess) -> None:
    outputs = [triton.InferRequestedOutput("OUTPUT", class_count=1)]
    with summing.client() as client:
        for i, value in enumerate(VALUES):
            result = client.infer("sums", tensor(triton, value), outputs=outputs, sequence_id=9, **step_of(i))
            assert result.as_numpy("OUTPUT").tolist() == [[f"{SUMS[i]}:0".encode()]]


def test_should_say_what_is_wrong_with_a_step(summing: WorkerProcess) -> None:
    with summing.client() as client:
        for wrong, text in (
            ({}, "must specify a non-zero or non-empty correlation ID"),
            ({"sequence_id": 99}, "must specify the START flag on the first request of the sequence"),
            ({"sequence_id": "a", "sequence_start": True}, "send a number, not 'a'"),
        ):
            with pytest.raises(InferenceServerException) as failure:
                client.infer("sums", tensor(triton, 1), **wrong)
            assert failure.value.status() == "StatusCode.INVALID_ARGUMENT"
            assert text in failure.value.message()


def test_should_describe_what_it_feeds_and_keeps(summing: WorkerProcess) -> None:
    with summing.client() as client:
        metadata = client.get_model_metadata("sums")
        assert [tensor.name for tensor in metadata.inputs] == ["INPUT"]
        assert [tensor.name for tensor in metadata.outputs] == ["OUTPUT", "STARTED", "SEQUENCE"]
        config = client.get_model_config("sums").config
        assert config.WhichOneof("scheduling_choice") == "sequence_batching"
        batching = config.sequence_batching
        assert batching.max_sequence_idle_microseconds == 60_000_000
        assert [control.name for control in batching.control_input] == ["START", "CORRID"]
        assert [(s.input_name, s.output_name, list(s.dims)) for s in batching.state] == [("sum_in", "sum_out", [1])]
        assert {"sequence", "sequence(string_id)"} <= set(client.get_server_metadata().extensions)
