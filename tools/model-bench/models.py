"""What the bench runs: where each model comes from, what it is asked, and what does the same."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import onnx_files

Inputs = dict[str, np.ndarray]
TREES, DEPTH, FEATURES = 500, 8, 30


@dataclass(frozen=True)
class BenchModel:
    """
    ``source`` writes what is imported, ``peer`` the ONNX file that onnxruntime runs, which is the
    same file unless the source is none; ``inputs`` are those of so many rows.
    """

    name: str
    batch_sizes: tuple[int, ...]
    source: Callable[[Path, Path], Path]
    inputs: Callable[[np.random.Generator, int], Inputs]
    options: tuple[str, ...] = ()
    peer: Callable[[Path, Path], Path] | None = None

    def peer_file(self, folder: Path, source: Path) -> Path:
        return self.peer(folder, source) if self.peer else source


def _normal(name: str, *shape: int) -> Callable[[np.random.Generator, int], Inputs]:
    return lambda random, rows: {name: random.normal(0, 1, (rows, *shape)).astype(np.float32)}


def _tokens(random: np.random.Generator, rows: int) -> Inputs:
    shape = (rows, onnx_files.SEQUENCE)
    ids = random.integers(1000, 30_000, shape).astype(np.int32)
    return {"input_ids": ids, "attention_mask": np.ones(shape, np.int32)}


def _bytes(random: np.random.Generator, rows: int) -> Inputs:
    return {"bytes": random.integers(0, 257, (rows, 2048)).astype(np.int32)}


def _forest(folder: Path, cache: Path) -> Path:
    import skops.io
    from sklearn.ensemble import RandomForestClassifier

    random = np.random.default_rng(onnx_files.SEED)
    x = random.normal(0, 1, (4000, FEATURES)).astype(np.float32)
    y = (x[:, 0] * x[:, 1] + x[:, 2] > random.normal(0, 0.5, len(x))).astype(int)
    fitted = RandomForestClassifier(TREES, max_depth=DEPTH, random_state=0, n_jobs=2).fit(x, y)
    path = folder / "forest.skops"
    skops.io.dump(fitted, path)
    return path


def _forest_peer(folder: Path, source: Path) -> Path:
    import onnx
    import skops.io
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import FloatTensorType

    fitted = skops.io.load(source, trusted=skops.io.get_untrusted_types(file=source))
    made = to_onnx(
        fitted,
        initial_types=[("x", FloatTensorType([None, FEATURES]))],
        options={id(fitted): {"zipmap": False}},
    )
    path = folder / "forest.onnx"
    onnx.save(made, path)
    return path


MODELS = (
    BenchModel("minilm-s128", (1, 8), onnx_files.minilm, _tokens),
    BenchModel("resnet18", (1, 8), onnx_files.resnet18, _normal("x", 3, 224, 224)),
    BenchModel(
        "pp-ocr-det",
        (1,),
        onnx_files.text_detection,
        _normal("x", 3, 480, 640),
        ("--input", "x=f32[n,3,480,640]"),
    ),
    BenchModel(
        "pp-ocr-rec",
        (1, 8),
        onnx_files.text_recognition,
        _normal("x", 3, 48, 320),
        ("--input", "x=f32[n,3,48,320]"),
    ),
    BenchModel(
        "centerface",
        (1,),
        onnx_files.center_face,
        _normal("input.1", 3, 480, 640),
        ("--input", "input.1=f32[n,3,480,640]"),
    ),
    BenchModel("magika", (1, 8), onnx_files.magika, _bytes),
    BenchModel(
        f"forest-{TREES}",
        (1, 8, 1000),
        _forest,
        _normal("x", FEATURES),
        peer=_forest_peer,
    ),
    BenchModel("mlp", (1, 8, 128), onnx_files.mlp, _normal("x", 256)),
)
