"""Texts in OpenAI's, Cohere's and vLLM's shapes, of bundles that say a task, beside the same rows by /v2."""

import base64
import hashlib
import json
import shutil
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as triton

from conftest import running
from worker_process import SAMPLE_MODELS, WorkerProcess

HOOKS = """
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.hooks.*;
import java.nio.*;

/** The first 64 bytes of a text are the pixels of an image. */
class Model implements ModelHooks {
  @Override
  public Tensors preprocess(HookRequest request) {
    Tensor text = request.input("TEXT");
    int rows = text.dim(0);
    Tensor pixels = request.tensor("pixels", DType.F32, rows, 8, 8, 1);
    for (int row = 0; row < rows; row++) {
      byte[] bytes = text.string(row).getBytes(java.nio.charset.StandardCharsets.UTF_8);
      for (int i = 0; i < Math.min(64, bytes.length); i++) {
        pixels.f32().put(row * 64 + i, (bytes[i] & 0xff) / 255f);
      }
    }
    return Tensors.of(pixels);
  }

  @Override
  public Tensors postprocess(HookRequest request, Tensors outputs) {
    Tensor scores = outputs.get("scores");
    Tensor text = request.input("TEXT");
    int rows = scores.dim(0);
    Tensor tokens = request.tensor("tokens", DType.I32, rows);
    Tensor score = request.tensor("score", DType.F32, rows);
    for (int row = 0; row < rows; row++) {
      tokens.i32().put(row, text.string(row).length());
      score.f32().put(row, scores.f32().get(row * 10 + 3));
    }
    return RESULT;
  }
}
"""
EMBED = """task: embed
client_inputs:
- {name: text, dtype: bytes, shape: [n]}
client_outputs:
- {name: scores, dtype: f32, shape: [n, 10]}
- {name: tokens, dtype: i32, shape: [n]}
"""
RERANK = """task: rerank
client_inputs:
- {name: query, dtype: bytes, shape: [n]}
- {name: document, dtype: bytes, shape: [n]}
client_outputs:
- {name: score, dtype: f32, shape: [n]}
"""
CLASSIFY = """task: classify
client_inputs:
- {name: text, dtype: bytes, shape: [n, 1]}
client_outputs:
- {name: scores, dtype: f32, shape: [n, 10], labels: labels.txt}
- {name: tokens, dtype: i32, shape: [n]}
"""
TEXTS = [f"text {i} " + "äöü"[i % 3] * (i % 40) for i in range(150)]  # more than the 64 rows of the largest program


def write(repository: Path, name: str, contract: str, text: str, result: str) -> None:
    folder = shutil.copytree(SAMPLE_MODELS / "digits", repository / name)
    java = HOOKS.replace("TEXT", text).replace("RESULT", result)
    (folder / "Model.java").write_text(java, encoding="utf-8")
    digest = hashlib.sha256((folder / "Model.java").read_bytes()).hexdigest()
    manifest = folder / "manifest.yaml"
    manifest.write_text(
        manifest.read_text(encoding="utf-8").replace("files:\n", f"{contract}files:\n  Model.java: {digest}\n"),
        encoding="utf-8",
    )


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    folder = tmp_path_factory.mktemp("tasks")
    shutil.copytree(SAMPLE_MODELS / "digits", folder / "models" / "digits")
    write(folder / "models", "embedder", EMBED, "text", "Tensors.of(scores, tokens)")
    write(folder / "models", "ranker", RERANK, "document", "Tensors.of(score)")
    write(folder / "models", "classifier", CLASSIFY, "text", "Tensors.of(scores, tokens)")
    with running(folder / "models", folder / "log") as process:
        yield process


def ask(server: WorkerProcess, path: str, body: dict[str, Any] | None = None) -> tuple[int, Any]:
    """A code of HTTP, and the answer."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{server.ports.http}{path}", data)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as e:
        return e.code, json.load(e)


def scores(server: WorkerProcess, texts: list[str]) -> np.ndarray:
    """What the programs make of texts, row by row."""
    made = []
    with server.client() as client:
        for text in texts:
            pixels = np.zeros((1, 64), np.float32)
            encoded = np.frombuffer(text.encode()[:64], np.uint8)
            pixels[0, : len(encoded)] = encoded.astype(np.float32) / np.float32(255)
            given = triton.InferInput("pixels", [1, 8, 8, 1], "FP32").set_data_from_numpy(pixels.reshape(1, 8, 8, 1))
            made.append(client.infer("digits", [given]).as_numpy("scores")[0])
    return np.stack(made)


def test_should_embed_in_the_order_of_the_texts(server: WorkerProcess) -> None:
    code, answer = ask(server, "/v1/embeddings", {"input": TEXTS, "model": "embedder", "user": "u"})
    assert code == 200
    assert [row["index"] for row in answer["data"]] == list(range(len(TEXTS)))
    found = np.array([row["embedding"] for row in answer["data"]], np.float32)
    np.testing.assert_allclose(found, scores(server, TEXTS), atol=1e-5)
    tokens = sum(map(len, TEXTS))
    assert answer["usage"] == {"prompt_tokens": tokens, "total_tokens": tokens}
    code, answer = ask(server, "/v1/embeddings", {"model": "embedder", "input": TEXTS[7], "encoding_format": "base64"})
    assert code == 200
    packed = np.frombuffer(base64.b64decode(answer["data"][0]["embedding"]), "<f4")
    np.testing.assert_allclose(packed, found[7], atol=1e-5)


def test_should_rank_documents(server: WorkerProcess) -> None:
    body = {"model": "ranker", "query": "q", "documents": [*TEXTS[:9], {"text": TEXTS[9]}], "top_n": 3}
    code, answer = ask(server, "/v1/rerank", {**body, "return_documents": True})
    assert code == 200
    expected = scores(server, TEXTS[:10])[:, 3]
    best = np.argsort(-expected, kind="stable")[:3]
    assert [row["index"] for row in answer["results"]] == best.tolist()
    np.testing.assert_allclose([row["relevance_score"] for row in answer["results"]], expected[best], atol=1e-5)
    assert [row["document"]["text"] for row in answer["results"]] == [TEXTS[i] for i in best]


def test_should_classify_in_the_order_of_the_texts(server: WorkerProcess) -> None:
    code, answer = ask(server, "/v1/classify", {"model": "classifier", "input": TEXTS})
    assert code == 200
    assert [row["index"] for row in answer["data"]] == list(range(len(TEXTS)))
    assert {row["num_classes"] for row in answer["data"]} == {10}
    expected = scores(server, TEXTS)
    np.testing.assert_allclose([row["probs"] for row in answer["data"]], expected, atol=1e-5)
    labels = (SAMPLE_MODELS / "digits" / "labels.txt").read_text(encoding="utf-8").split()
    assert [row["label"] for row in answer["data"]] == [labels[i] for i in expected.argmax(1)]
    tokens = sum(map(len, TEXTS))
    assert answer["usage"] == {"prompt_tokens": tokens, "total_tokens": tokens, "completion_tokens": 0}


def test_should_name_what_is_wrong(server: WorkerProcess) -> None:
    code, answer = ask(server, "/v1/embeddings", {"model": "ranker", "input": "a"})
    assert code == 400
    assert answer["error"]["type"] == "invalid_request_error"
    assert "task rerank" in answer["error"]["message"]
    code, answer = ask(server, "/v1/embeddings", {"model": "embedder", "input": [1, 2]})
    assert code == 400
    assert "tokens" in answer["error"]["message"]
    code, answer = ask(server, "/v1/embeddings", {"model": "nobody", "input": "a"})
    assert code == 404


def test_should_list_models(server: WorkerProcess) -> None:
    code, answer = ask(server, "/v1/models")
    assert code == 200
    assert {"digits", "embedder", "ranker"} <= {each["id"] for each in answer["data"]}
    assert ask(server, "/v1/models/embedder")[1]["id"] == "embedder"
    assert ask(server, "/v1/models/nobody")[0] == 404
