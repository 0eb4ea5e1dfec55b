"""What is told of PyTorch's files before PyTorch is there."""

import io
import json
import pickle
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from roundhouse_export import sources
from roundhouse_export.model import ImportOptions
from roundhouse_export.refusal import RefusedError
from roundhouse_export.sources.torch_archive import is_program, require_plain

SAVED = Path(__file__).parent / "torch_files" / "small.pt2"
"""By ``torch.export.save``: a linear layer whose number of rows varies."""


class Opens:
    def __reduce__(self) -> tuple[Any, ...]:
        return open, ("/dev/null",)


def changed(tmp_path: Path, model: Mapping[str, Any] | None = None, **entries: bytes) -> str:
    """The saved file with other entries, by their names in it, or fields of its graph."""
    path = tmp_path / "other.pt2"
    with zipfile.ZipFile(SAVED) as old, zipfile.ZipFile(path, "w") as new:
        root = old.namelist()[0].partition("/")[0]
        for name in old.namelist():
            data = old.read(name)
            if name.endswith("/models/model.json") and model:
                data = json.dumps(json.loads(data) | model).encode()
            if name.partition("/")[2] not in entries:
                new.writestr(name, data)
        for name, data in entries.items():
            new.writestr(f"{root}/{name}", data)
    return str(path)


def pickled(value: object) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(value, protocol=2))
    return file.getvalue()


def test_should_say_what_a_file_of_pytorch_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "roundhouse_export.sources.torch", raising=False)
    with pytest.raises(RefusedError) as told:
        sources.load(str(SAVED), ImportOptions())
    assert str(told.value) == (
        f"{SAVED} is a torch.export program, which needs the package 'torch': "
        "pip install 'roundhouse-export[torch]'"
    )


def test_should_let_through_what_torch_export_saves(tmp_path: Path) -> None:
    require_plain(str(SAVED))
    require_plain(changed(tmp_path))


@pytest.mark.parametrize(
    ("target", "size"),
    [
        ("torch.os.system", "s0"),
        ("torch.hub.load", "s0"),
        ("torch.ops.load_library", "s0"),
        ("_operator.methodcaller", "s0"),
        ("#evil", "s0"),
        ("torch.ops.aten.add.Tensor", "__import__('os')"),
        ("torch.ops.aten.add.Tensor", "s0.func(1)"),
        ("torch.ops.aten.add.Tensor", "preview(s0)"),
    ],
)
def test_should_refuse_code_in_a_graph(tmp_path: Path, target: str, size: str) -> None:
    node = {"target": target, "metadata": {"as_expr": {"expr_str": size}}}
    with pytest.raises(RefusedError, match="could run code from the file; give --trust"):
        require_plain(changed(tmp_path, {"other": [node]}))


@pytest.mark.parametrize(
    "entries",
    [
        {"data/sample_inputs/model.pt": pickled(Opens())},
        {"data/sample_inputs/model.pt": pickle.dumps(Opens())},
        {"data/weights/model.pt": b""},
        {"data/constants/custom_obj_0": b""},
        {"data/weights/model_weights_config.json": b'{"config": {"w": {"use_pickle": true}}}'},
    ],
    ids=["inputs", "old inputs", "old weights", "object", "pickled weight"],
)
def test_should_refuse_pickles(tmp_path: Path, entries: dict[str, bytes]) -> None:
    with pytest.raises(RefusedError, match="could run code from the file; give --trust"):
        require_plain(changed(tmp_path, **entries))


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04 no more", SAVED.read_bytes()[:900]])
def test_should_refuse_a_damaged_file_in_one_line(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "cut.pt2").write_bytes(data)
    with pytest.raises(RefusedError, match=r"cut\.pt2: cannot be loaded") as told:
        require_plain(str(tmp_path / "cut.pt2"))
    assert "\n" not in str(told.value)


def test_should_tell_programs_from_weights(tmp_path: Path) -> None:
    for name, entry in {"script.pt": "constants.pkl", "weights.pt": "data.pkl"}.items():
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr(f"archive/{entry}", b"")
    assert is_program(str(tmp_path / "script.pt"))
    assert not is_program(str(tmp_path / "weights.pt"))


def test_should_choose_the_extra_by_what_a_file_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").write_text("")
    (tmp_path / "pack" / "net.py").write_text("import os\nfrom torch import nn\n")
    (tmp_path / "layers.py").write_text("def model():\n    import keras\n")
    (tmp_path / "plain.py").write_text("import jax\n")
    (tmp_path / "broken.py").write_text("import torch\ndef (")
    wanted = {
        "pack.net:Net": "torch",
        "layers:model": "keras",
        "plain:model": "jax",
        "broken:model": "jax",
        "torchvision.models:resnet18": "torch",
        "nowhere:model": "jax",
        str(SAVED): "torch",
    }
    assert {source: sources.extra_of(source) for source in wanted} == wanted
