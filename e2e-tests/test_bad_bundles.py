"""One bad bundle is refused by name; the others serve."""

from pathlib import Path

import numpy as np
import pytest
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException

import damaged_bundles
from calls import infer, simple_inputs
from conftest import Launch
from worker_process import WorkerProcess

DAMAGES = {
    damaged_bundles.truncated_weights: ["weights.safetensors"],
    damaged_bundles.weights_unlike_their_digest: ["weights.safetensors", "sha256"],
    damaged_bundles.wrong_dim: ["17", "16"],
    damaged_bundles.input_too_many: ["4", "3"],
}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "models"
    folder.mkdir()
    damaged_bundles.copy_sample("simple", folder)
    damaged_bundles.copy_sample("affine", folder)
    return folder


def lines_about(worker: WorkerProcess, model: str) -> str:
    return "\n".join(line for line in worker.log().splitlines() if model in line)


def test_should_refuse_by_name_and_serve_the_others_when_bundles_are_damaged(repository: Path, launch: Launch) -> None:
    expected = {damage(repository): words for damage, words in DAMAGES.items()}
    worker = launch(repository).await_ready()
    with worker.client() as client:
        for model, words in expected.items():
            assert client.is_model_ready(model) is False, model
            complaint = lines_about(worker, model)
            for word in words:
                assert word in complaint, f"{model}: {word!r} is not in {complaint!r}"
            with pytest.raises(InferenceServerException) as failure:
                infer(client, model, {"x": np.zeros((1, 16), np.float32)})
            assert model in failure.value.message()
        assert_served(client)


def assert_served(client: triton.InferenceServerClient) -> None:
    sums = infer(client, "simple", simple_inputs()).as_numpy("OUTPUT0")
    np.testing.assert_array_equal(sums, np.arange(16)[None] + 3)
    assert infer(client, "affine", {"x": np.zeros((3, 16), np.float32)}).as_numpy("y").shape == (3, 4)


def test_should_start_and_serve_nothing_when_the_repository_is_empty(tmp_path: Path, launch: Launch) -> None:
    (tmp_path / "none").mkdir()
    worker = launch(tmp_path / "none").await_ready()
    with worker.client() as client:
        assert client.is_server_live()
        assert client.is_model_ready("simple") is False
