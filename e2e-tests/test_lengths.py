"""Requests of any length to a model that is compiled for two."""

import json
import threading
from pathlib import Path

import numpy as np
import pytest
from tritonclient.utils import InferenceServerException

import lengths_bundle
from calls import infer
from conftest import Launch


def test_should_pad_and_cut_back_requests_of_any_length(tmp_path: Path, launch: Launch) -> None:
    lengths_bundle.write(tmp_path)
    worker = launch(tmp_path).await_ready()
    with worker.client() as client:
        for length in range(1, 9):
            for rows in (1, 3, 6):
                ids = np.arange(rows * length, dtype=np.int32).reshape(rows, length)
                answer = infer(client, "lengths", {"ids": ids})
                np.testing.assert_array_equal(answer.as_numpy("twice"), 2 * ids)
                padding = ((4 if length <= 4 else 8) - length) * lengths_bundle.PAD
                np.testing.assert_array_equal(answer.as_numpy("sum"), ids.sum(axis=1) + padding)
        with pytest.raises(InferenceServerException) as failure:
            infer(client, "lengths", {"ids": np.zeros((1, 9), np.int32)})
        assert "'lengths' is not compiled for {s=9}" in failure.value.message()
        assert list(client.get_model_metadata("lengths").inputs[0].shape) == [-1, -1]


def test_should_answer_each_with_its_own_length_when_all_are_asked_at_once(tmp_path: Path, launch: Launch) -> None:
    lengths_bundle.write(tmp_path)
    worker = launch(tmp_path).await_ready()
    wrong: list[str] = []

    def ask(seed: int) -> None:
        random = np.random.default_rng(seed)
        with worker.client() as client:
            for _ in range(100):
                shape = (int(random.integers(1, 5)), int(random.integers(1, 9)))
                ids = random.integers(0, 1000, shape).astype(np.int32)
                answer = infer(client, "lengths", {"ids": ids})
                if not np.array_equal(answer.as_numpy("twice"), 2 * ids):
                    wrong.append(str(ids))

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    _, body = worker.get(worker.ports.metrics, "/actuator/models/lengths")
    runs = json.loads(body)["runs"]
    assert 0 < runs["paddingPositions"] < runs["positions"]
