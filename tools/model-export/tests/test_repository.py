import errno
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from onnx import helper
from triton_models import WEIGHT, load_onnx, tensor, write_model, write_onnx

from roundhouse_export import import_record, repository, sources
from roundhouse_export.bundle import digest_problems
from roundhouse_export.command import main
from roundhouse_export.contract import TensorSpec
from roundhouse_export.model import ImportOptions, Model
from roundhouse_export.refusal import RefusedError
from roundhouse_export.repository import Row, Status, convert_repository
from roundhouse_export.sources import recognition
from roundhouse_export.stored import StoredBundle

CONFIG = """\
backend: "onnxruntime"
max_batch_size: 2
input { name: "x" data_type: TYPE_FP32 dims: [ 4 ] }
output { name: "y" data_type: TYPE_FP32 dims: [ 3 ] }
"""
ONE = ImportOptions(batch_sizes=(1,))


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What has been loaded, in order."""
    calls: list[str] = []

    def load(source: str, options: ImportOptions) -> Model:
        calls.append(source)
        return load_onnx(source, options)

    monkeypatch.setitem(sys.modules, "roundhouse_export.sources.onnx", SimpleNamespace(load=load))
    return calls


@pytest.fixture
def models(tmp_path: Path) -> Path:
    folder = tmp_path / "models"
    folder.mkdir()
    return folder


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def convert(models: Path, out: Path, options: ImportOptions = ONE) -> list[Row]:
    return convert_repository(models, out, options, lambda _: None)


def statuses(rows: list[Row]) -> list[tuple[str, int | None, str]]:
    return [(row.model, row.version, row.status.value) for row in rows]


def manifest(folder: Path) -> Mapping:
    return yaml.safe_load((folder / "manifest.yaml").read_text())


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir() if not each.name.startswith("."))


def test_should_make_a_bundle_of_each_model_and_each_file(
    models: Path, out: Path, loaded: list[str]
) -> None:
    write_onnx(models / "plain.onnx")
    write_model(models / "two", CONFIG + "version_policy { all { } }", 1, 4)
    (models / "README.txt").write_text("")
    rows = convert(models, out)
    assert statuses(rows) == [
        ("plain", 1, "converted"),
        ("two", 1, "converted"),
        ("two", 4, "converted"),
    ]
    assert [row.source for row in rows] == ["onnx", "triton", "triton"]
    assert all(row.difference is not None and row.difference < 1e-5 for row in rows)
    assert all(row.reason == "" for row in rows)
    assert names(out) == ["plain", "two"]
    assert names(out / "two") == ["1", "4"]
    for bundle in (out / "plain", out / "two" / "1", out / "two" / "4"):
        assert digest_problems(bundle) == []
        assert manifest(bundle)["kind"] == "model"
    stored = StoredBundle(out / "two" / "4")
    np.testing.assert_array_equal(stored.weights["w"], WEIGHT)


def test_should_convert_nothing_when_nothing_has_changed(
    models: Path, out: Path, loaded: list[str]
) -> None:
    write_onnx(models / "plain.onnx")
    write_model(models / "m", CONFIG)
    write_model(models / "bad", CONFIG.replace("[ 4 ]", "[ 5 ]"))
    first = convert(models, out)
    bytes_before = (out / "m" / "1" / "manifest.yaml").read_bytes()
    loaded.clear()
    second = convert(models, out)
    assert loaded == []
    assert statuses(second) == [
        ("bad", 1, "refused"),
        ("m", 1, "unchanged"),
        ("plain", 1, "unchanged"),
    ]
    assert [row.difference for row in second] == [row.difference for row in first]
    assert second[0].reason == first[0].reason
    assert (out / "m" / "1" / "manifest.yaml").read_bytes() == bytes_before


def test_should_convert_again_what_has_changed_and_only_that(
    models: Path, out: Path, loaded: list[str]
) -> None:
    write_onnx(models / "plain.onnx")
    write_model(models / "m", CONFIG)
    convert(models, out)
    loaded.clear()
    write_onnx(models / "m" / "1" / "model.onnx", weights={"w": 2 * WEIGHT})
    assert statuses(convert(models, out)) == [("m", 1, "converted"), ("plain", 1, "unchanged")]
    assert [Path(each).name for each in loaded] == ["model.onnx"]
    np.testing.assert_array_equal(StoredBundle(out / "m" / "1").weights["w"], 2 * WEIGHT)
    loaded.clear()
    convert(models, out, ImportOptions(batch_sizes=(1, 3)))
    assert len(loaded) == 2, "other options are another conversion"


def test_should_convert_again_when_weights_beside_the_file_have_changed(
    models: Path, out: Path, loaded: list[str]
) -> None:
    write_onnx(models / "plain.onnx", weights={"w_beside": WEIGHT, "w": WEIGHT})
    (models / "w_beside").write_bytes(b"one")
    (models / "unrelated").write_bytes(b"one")
    convert(models, out)
    (models / "unrelated").write_bytes(b"two")
    assert statuses(convert(models, out)) == [("plain", 1, "unchanged")]
    (models / "w_beside").write_bytes(b"two")
    assert statuses(convert(models, out)) == [("plain", 1, "converted")]


def test_should_convert_again_when_the_exporter_has_changed(
    models: Path, out: Path, loaded: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_onnx(models / "plain.onnx")
    convert(models, out)
    other = tmp_path / "package"
    other.mkdir()
    (other / "__init__.py").write_text("")
    monkeypatch.setattr("roundhouse_export.__file__", str(other / "__init__.py"))
    assert statuses(convert(models, out)) == [("plain", 1, "converted")]


def test_should_leave_a_model_that_says_why_it_was_refused(
    models: Path, out: Path, loaded: list[str]
) -> None:
    write_model(models / "tf", 'platform: "tensorflow_savedmodel"')
    (models / "typo").mkdir()
    (models / "typo" / "config.pbtxt").write_text("max_batch: 3")
    write_onnx(models / "good.onnx")
    rows = convert(models, out)
    assert statuses(rows) == [
        ("good", 1, "converted"),
        ("tf", None, "refused"),
        ("typo", None, "refused"),
    ]
    config = models / "tf" / "config.pbtxt"
    assert rows[1].reason == (
        f"{config}:1: backend 'tensorflow_savedmodel' has no counterpart here; only "
        "onnxruntime's and pytorch's models are read"
    )
    assert "typo/config.pbtxt:1:1: " in rows[2].reason
    for row in rows[1:]:
        assert (out / row.model / "refused.txt").read_text() == f"{row.reason}\n"
        assert names(out / row.model) == ["refused.txt"]


def test_should_refuse_one_version_and_serve_the_others(
    models: Path, out: Path, loaded: list[str]
) -> None:
    folder = write_model(
        models / "m", CONFIG + "version_policy { specific { versions: [1, 2, 9] } }", 1, 2
    )
    write_onnx(
        folder / "2" / "model.onnx",
        [helper.make_node("Sin", ["x"], ["y"])],
        outputs=[tensor("y", ("batch", 3))],
    )
    rows = convert(models, out)
    assert statuses(rows) == [("m", 1, "converted"), ("m", 2, "refused"), ("m", 9, "refused")]
    assert rows[1].reason == f"{folder}/2/model.onnx: operator Sin is not known"
    assert rows[2].reason.endswith(f"version 9 has no file {folder}/9/model.onnx")
    assert manifest(out / "m" / "1")["kind"] == "model"
    for row in rows[1:]:
        told = out / "m" / str(row.version) / "refused.txt"
        assert told.read_text() == f"{row.reason}\n"
    (note,) = rows[0].notes
    assert note.endswith("--set roundhouse.worker.models.m.version-policy=1,2,9")


def test_should_try_again_what_failed_for_a_reason_outside_of_the_model(
    models: Path, out: Path, loaded: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_onnx(models / "a.onnx")
    write_onnx(models / "b.onnx")

    def fails(source: str, options: ImportOptions) -> Model:
        if source.endswith("a.onnx"):
            raise MemoryError("no room\nfor it")
        raise ModuleNotFoundError("No module named 'onnxruntime'", name="onnxruntime")

    with monkeypatch.context() as patch:
        patch.setattr(sys.modules["roundhouse_export.sources.onnx"], "load", fails)
        rows = convert(models, out)
    assert [row.reason for row in rows] == [
        f"{models}/a.onnx: MemoryError: no room",
        f"{models}/b.onnx is an ONNX file, which needs the package 'onnxruntime': "
        "pip install 'roundhouse-export[triton]'",
    ]
    assert statuses(convert(models, out)) == [("a", 1, "converted"), ("b", 1, "converted")]


def test_should_write_ensembles(models: Path, out: Path, loaded: list[str]) -> None:
    (models / "both" / "1").mkdir(parents=True)
    (models / "both" / "config.pbtxt").write_text(
        """platform: "ensemble" max_batch_size: 4
input { name: "IMAGE" data_type: TYPE_UINT8 dims: [ -1, 3 ] }
output { name: "TEXT" data_type: TYPE_STRING dims: [ 1 ] label_filename: "labels.txt" }
ensemble_scheduling { step [
  { model_name: "detector" model_version: -1
    input_map { key: "image" value: "IMAGE" } output_map { key: "boxes" value: "b" } },
  { model_name: "reader" model_version: -1
    input_map { key: "crop" value: "b" } output_map { key: "text" value: "TEXT" } } ] }
"""
    )
    (models / "both" / "labels.txt").write_text("one\ntwo\n")
    assert statuses(convert(models, out)) == [("both", 1, "converted")]
    assert statuses(convert(models, out)) == [("both", 1, "unchanged")]
    said = manifest(out / "both" / "1")
    assert digest_problems(out / "both" / "1") == []
    assert said["kind"] == "ensemble"
    assert said["batch_sizes"] == [4]
    assert said["inputs"] == [{"name": "IMAGE", "dtype": "u8", "shape": ["n", "s", 3]}]
    assert said["outputs"] == [
        {"name": "TEXT", "dtype": "bytes", "shape": ["n", 1], "labels": "labels.txt"}
    ]
    assert said["steps"] == [
        {"model": "detector", "inputs": {"image": "IMAGE"}, "outputs": {"boxes": "b"}},
        {"model": "reader", "inputs": {"crop": "b"}, "outputs": {"text": "TEXT"}},
    ]


def test_should_remove_what_it_made_when_the_source_is_gone_and_nothing_else(
    models: Path, out: Path, loaded: list[str], tmp_path: Path
) -> None:
    write_onnx(models / "gone.onnx")
    write_onnx(models / "stays.onnx")
    other = tmp_path / "other"
    write_onnx(other / "elsewhere.onnx")
    convert(models, out)
    convert(other, out)
    (out / "by-hand").mkdir()
    (out / "by-hand" / "manifest.yaml").write_text("")
    (models / "gone.onnx").unlink()
    rows = convert(models, out)
    assert statuses(rows) == [("stays", 1, "unchanged"), ("gone", None, "removed")]
    assert names(out) == ["by-hand", "elsewhere", "stays"]


def test_should_not_touch_what_it_did_not_make(models: Path, out: Path, loaded: list[str]) -> None:
    write_onnx(models / "m.onnx")
    (out / "m").mkdir(parents=True)
    (out / "m" / "manifest.yaml").write_text("mine")
    (row,) = convert(models, out)
    assert (
        row.reason
        == f"{out / 'm'} is there and was not made from a repository; remove or rename it"
    )
    assert (out / "m" / "manifest.yaml").read_text() == "mine"


def test_should_refuse_the_second_of_two_that_would_have_one_name(
    models: Path, out: Path, loaded: list[str]
) -> None:
    write_onnx(models / "m.onnx")
    write_model(models / "m", CONFIG)
    rows = convert(models, out)
    assert statuses(rows) == [("m", 1, "converted"), ("m", None, "refused")]
    assert rows[1].reason == f"{models}/m: {models}/m.onnx is model 'm' already"


def test_should_leave_the_old_model_when_writing_the_new_one_fails(
    models: Path, out: Path, loaded: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_model(models / "m", CONFIG)
    convert(models, out)
    before = (out / "m" / "1" / "manifest.yaml").read_bytes()
    write_onnx(models / "m" / "1" / "model.onnx", weights={"w": 2 * WEIGHT})

    def full_disk(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full_disk)
        with pytest.raises(OSError, match="No space left"):
            convert(models, out)
    assert (out / "m" / "1" / "manifest.yaml").read_bytes() == before
    assert [each.name for each in out.iterdir() if each.is_dir()] == ["m"]
    assert statuses(convert(models, out)) == [("m", 1, "converted")]


def test_should_say_in_one_line_that_the_disk_is_full_and_leave_no_half_model(
    models: Path,
    out: Path,
    loaded: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_model(models / "a", CONFIG)
    write_model(models / "b", CONFIG)
    writes = os.fsync
    descriptors = []

    def full_after_a(descriptor: int) -> None:
        descriptors.append(descriptor)
        if (out / "a").exists():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        writes(descriptor)

    monkeypatch.setenv("ROUNDHOUSE_EXPORT_ISOLATED", "1")
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full_after_a)
        assert main(["repository", str(models), "--out", str(out)]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"roundhouse-export: {out}: No space left on device; models converted before this are "
        "whole, none is half-written: mend it and run this again"
    )
    assert [each.name for each in out.iterdir() if each.is_dir()] == ["a"]
    rows = convert(models, out, ImportOptions())
    assert statuses(rows) == [("a", 1, "unchanged"), ("b", 1, "converted")]


def test_should_give_options_to_the_models_that_they_are_of(
    models: Path, out: Path, loaded: list[str]
) -> None:
    identity = {"nodes": [helper.make_node("Identity", ["x"], ["y"])], "weights": {}}
    for name in ("a", "b"):
        dims = ("batch", "length")
        write_onnx(
            models / f"{name}.onnx",
            **identity,
            inputs=[tensor("x", dims)],
            outputs=[tensor("y", dims)],
        )
    write_onnx(models / "c.onnx")
    options = ImportOptions(
        batch_sizes=(1,),
        axes={"length": (2,), "b/length": (3, 4)},
        inputs={"c/x": TensorSpec("c/x", "f32", (5, 4))},
    )
    assert not any(row.is_refused for row in convert(models, out, options))
    assert manifest(out / "a")["inputs"][0]["shape"] == ["n", 2]
    assert manifest(out / "b")["variants"] == [{"s": 3}, {"s": 4}]
    assert manifest(out / "c")["inputs"][0]["shape"] == [5, 4]


def test_should_see_versions_that_are_links(
    models: Path, out: Path, loaded: list[str], tmp_path: Path
) -> None:
    real = write_model(tmp_path / "real", None)
    (models / "m").mkdir()
    (models / "m" / "1").symlink_to(real / "1")
    (models / "m" / "1" / "loop").symlink_to(real / "1")
    assert statuses(convert(models, out)) == [("m", 1, "converted")]
    write_onnx(real / "1" / "model.onnx", weights={"w": 2 * WEIGHT})
    assert statuses(convert(models, out)) == [("m", 1, "converted")]


def test_should_say_that_numbers_are_off(
    models: Path, out: Path, loaded: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import dataclasses

    def wrong(source: str, options: ImportOptions) -> Model:
        model = load_onnx(source, options)
        return dataclasses.replace(model, reference=lambda inputs: {"y": inputs["x"] @ WEIGHT + 1})

    monkeypatch.setattr(sys.modules["roundhouse_export.sources.onnx"], "load", wrong)
    write_onnx(models / "m.onnx")
    (row,) = convert(models, out)
    assert row.status is Status.CONVERTED
    assert row.difference == pytest.approx(1, rel=1e-4)
    assert row.reason.startswith("output 'y' of model.b1.mlir is off by 1 ")


@pytest.mark.parametrize("target", ["models", "."])
def test_should_refuse_to_write_into_the_repository_itself(models: Path, target: str) -> None:
    with pytest.raises(RefusedError, match="must be another folder than the repository"):
        convert(models, models if target == "models" else models / ".")


def test_should_refuse_what_is_no_folder_and_a_name_for_many(models: Path, out: Path) -> None:
    with pytest.raises(RefusedError, match="nowhere: no such folder"):
        convert(models / "nowhere", out)
    with pytest.raises(RefusedError, match="--name is of one model"):
        convert(models, out, ImportOptions(name="x"))


def test_should_show_rows_as_a_table_and_as_json() -> None:
    rows = [
        Row("m", 2, "triton", Status.CONVERTED, 1.5e-6, notes=("a.pbtxt:1: is told", "twice")),
        Row("m", 3, "triton", Status.UNCHANGED, 0.0, notes=("twice",)),
        Row("x", None, "onnx", Status.REFUSED, reason="x.onnx: is empty"),
    ]
    assert repository.rendered(rows).splitlines() == [
        "model  version  from               difference  reason",
        "m      2        triton  converted  1.5e-06",
        "m      3        triton  unchanged  0",
        "x      -        onnx    refused                x.onnx: is empty",
        "note: m: a.pbtxt:1: is told",
        "note: m: twice",
        "1 of 3 refused",
    ]
    told = json.loads(repository.to_json(rows))
    assert told[0]["status"] == "converted"
    assert told[2] == {
        "model": "x",
        "version": None,
        "source": "onnx",
        "status": "refused",
        "difference": None,
        "reason": "x.onnx: is empty",
        "notes": [],
    }


def test_should_read_back_the_record_it_wrote(tmp_path: Path) -> None:
    rows = [Row("m", 2, "triton", Status.CONVERTED, 1.5e-6, notes=("told",))]
    import_record.write(tmp_path, import_record.ImportRecord("/r", "k", rows))
    assert import_record.read(tmp_path) == import_record.ImportRecord("/r", "k", rows)
    (tmp_path / import_record.RECORD).write_text("{}")
    assert import_record.read(tmp_path) is None


def test_should_name_the_extra_of_a_source_by_the_standard_library_alone(models: Path) -> None:
    write_model(models / "m", None)
    write_onnx(models / "plain.onnx")
    package = Path(sources.__file__).parents[2]
    told = {}
    for source in (models, models / "m", models / "plain.onnx", models / "nothing.txt"):
        told[source.name] = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _RUN, str(package), str(source)],
            capture_output=True,
            text=True,
            check=False,
        )
    assert [told[name].stdout for name in ("models", "m", "plain.onnx")] == [
        "triton\n",
        "triton\n",
        "onnx\n",
    ]
    assert told["nothing.txt"].returncode == 2
    assert told["nothing.txt"].stderr.startswith(
        f"roundhouse-export: '{models}/nothing.txt' is none"
    )


_RUN = """
import runpy, sys
sys.path.insert(0, sys.argv.pop(1))
runpy.run_module("roundhouse_export.sources", run_name="__main__")
"""


def test_should_not_take_our_own_bundles_for_models_of_triton(models: Path) -> None:
    for place in ("bundle", "versions/1"):
        (models / place).mkdir(parents=True)
        (models / place / "manifest.yaml").write_text("")
    (models / "bundle" / "config.pbtxt").write_text("")
    assert recognition.foreign_models(models) == []
    write_model(models / "m", None)
    assert recognition.foreign_models(models) == [models / "m"]


def test_should_print_rows_from_the_command_line(models: Path, out: Path) -> None:
    write_model(models / "tf", 'platform: "tensorflow_savedmodel"')
    command = [sys.executable, "-m", "roundhouse_export", "repository", models, "--out", out]
    environment = {**os.environ, "PYTHONPATH": str(Path(sources.__file__).parents[2])}
    ended = subprocess.run(
        [*command, "--json"], env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1, ended.stderr
    (row,) = json.loads(ended.stdout)
    assert (row["model"], row["status"]) == ("tf", "refused")
    assert "tf/config.pbtxt:1: backend 'tensorflow_savedmodel'" in row["reason"]
