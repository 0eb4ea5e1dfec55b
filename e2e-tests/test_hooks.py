"""Hooks: the example of docs/hooks.md in the sample digits, from a jar as it is shipped, by the stock clients."""

import hashlib
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as triton
import tritonclient.http as triton_http
from tritonclient.utils import InferenceServerException

from conftest import Launch
from worker_process import SAMPLE_MODELS

DOCS = Path(__file__).parents[1] / "docs" / "hooks.md"
IMAGES = np.zeros((2, 64), np.uint8)


def write(repository: Path, name: str, source: str | None = None) -> None:
    """The sample with hooks: those of the documentation, or others."""
    folder = shutil.copytree(SAMPLE_MODELS / "digits", repository / name)
    page = DOCS.read_text(encoding="utf-8")
    java, yaml = (re.search(rf"```{kind}\n(.*?)```", page, re.DOTALL).group(1) for kind in ("java", "yaml"))
    (folder / "Model.java").write_text(source or java, encoding="utf-8")
    digest = hashlib.sha256((folder / "Model.java").read_bytes()).hexdigest()
    manifest = folder / "manifest.yaml"
    contract = yaml[: yaml.index("files:")]
    manifest.write_text(
        manifest.read_text(encoding="utf-8").replace("files:\n", f"{contract}files:\n  Model.java: {digest}\n"),
        encoding="utf-8",
    )


def inputs(module: Any) -> Any:
    return [module.InferInput("image", list(IMAGES.shape), "UINT8").set_data_from_numpy(IMAGES)]


def test_should_answer_with_what_hooks_make(launch: Launch, tmp_path: Path) -> None:
    write(tmp_path / "models", "hooked")
    worker = launch(tmp_path / "models").await_ready()
    with worker.client() as client:
        result = client.infer("hooked", inputs(triton))
        assert result.as_numpy("digit").shape == (2, 1)
        assert result.as_numpy("scores") is None
        metadata = client.get_model_metadata("hooked")
        assert [each.name for each in metadata.inputs] == ["image"]
        with pytest.raises(InferenceServerException, match="send 100 images at most, not 101"):
            many = triton.InferInput("image", [101, 64], "UINT8").set_data_from_numpy(np.zeros((101, 64), np.uint8))
            client.infer("hooked", [many])
    with triton_http.InferenceServerClient(f"127.0.0.1:{worker.ports.http}") as client:
        assert client.infer("hooked", inputs(triton_http)).as_numpy("digit").shape == (2, 1)


def test_should_say_what_the_compiler_says_and_refuse_by_mode(launch: Launch, tmp_path: Path) -> None:
    write(tmp_path / "models", "broken", "class Model { int x = y; }")
    worker = launch(tmp_path / "models").await_ready()
    with worker.client() as client:
        (model,) = client.get_model_repository_index().models
        assert model.state == "UNAVAILABLE"
        assert "Model.java:1: error: cannot find symbol" in model.reason
    write(tmp_path / "denied", "hooked")
    worker = launch(tmp_path / "denied", "--roundhouse.worker.hooks.mode=deny").await_ready()
    with worker.client() as client:
        (model,) = client.get_model_repository_index().models
        assert "roundhouse.worker.hooks.mode is deny; set that to allow" in model.reason
