"""A model's bundle on disk holds rewritten programs and the weights that they take."""

from pathlib import Path

import numpy as np
import yaml

from roundhouse_export import weights
from roundhouse_export.contract import Contract, TensorSpec
from roundhouse_export.jax_program import Arrays
from roundhouse_export.model import Model
from roundhouse_export.pipeline import export_model
from roundhouse_export.program_runner import run_program

CONTRACT = Contract(
    (TensorSpec("x", "f32", ("n", 4)),), (TensorSpec("y", "f32", ("n", 3)),), (1, 2)
)
HELD = {"fc.weight": np.arange(12, dtype=np.float32).reshape(3, 4), "spare": np.zeros(5)}


def forward(inputs: Arrays, held: Arrays) -> Arrays:
    return {"y": inputs["x"] @ held["fc.weight"].T}


def test_should_serve_from_its_files_when_a_model_was_exported(tmp_path: Path) -> None:
    model = Model("net", CONTRACT, forward, HELD, "test 1")
    export_model(model, tmp_path / "one")
    export_model(model, tmp_path / "two")
    files = {path.name: path.read_bytes() for path in (tmp_path / "one").iterdir()}
    assert files == {path.name: path.read_bytes() for path in (tmp_path / "two").iterdir()}
    stored = weights.decode(files[weights.FILE_NAME])
    assert {name: array.shape for name, array in stored.items()} == {"fc.weight": (4, 3)}
    x = np.ones((2, 4), np.float32)
    (y,) = run_program(files["model.b2.mlir"], [x, *stored.values()])
    np.testing.assert_array_equal(y, x @ HELD["fc.weight"].T)
    assert "tuned_on" not in yaml.safe_load(files["manifest.yaml"])["provenance"]
