from dataclasses import replace
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from bundles import CONTRACT, small_bundle

from roundhouse_export.bundle import MANIFEST, digest_problems, sha256, write_bundle
from roundhouse_export.contract import TensorSpec
from roundhouse_export.provenance import created

MANIFEST_TEXT = """\
format_version: '3'
kind: model
description: a test
inputs:
- {{name: ids, dtype: i32, shape: [n, s]}}
- {{name: mask, dtype: bool, shape: [n, s, 3]}}
outputs:
- {{name: scores, dtype: f32, shape: [n, 2], labels: labels.txt}}
batch_sizes: [1, 4]
variants:
- {{s: 16}}
- {{s: 32}}
files:
  labels.txt: {labels}
  model.v0.b1.mlir: {v0_b1}
  model.v0.b4.mlir: {v0_b4}
  model.v1.b1.mlir: {v1_b1}
  model.v1.b4.mlir: {v1_b4}
  weights.safetensors: {weights}
provenance:
  framework: none
  created: '2026-11-21T00:00:00Z'
"""


def test_should_write_the_manifest_word_for_word(tmp_path: Path) -> None:
    write_bundle(small_bundle(), tmp_path / "m")
    digests = {
        "labels": sha256(b"no\nyes\n"),
        "weights": sha256((tmp_path / "m" / "weights.safetensors").read_bytes()),
        **{
            f"v{variant}_b{batch}": sha256(f"model.v{variant}.b{batch}.mlir".encode())
            for variant in (0, 1)
            for batch in (1, 4)
        },
    }
    assert (tmp_path / "m" / MANIFEST).read_text() == MANIFEST_TEXT.format(**digests)


def test_should_know_sha256_when_given_a_published_vector() -> None:
    # FIPS 180-2, appendix B.1.
    assert sha256(b"abc").startswith("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61")


def test_should_find_no_problem_when_bundle_is_fresh(tmp_path: Path) -> None:
    write_bundle(small_bundle(), tmp_path / "m")
    assert digest_problems(tmp_path / "m") == []


def test_should_name_each_file_when_bundle_was_tampered_with(tmp_path: Path) -> None:
    folder = tmp_path / "m"
    write_bundle(small_bundle(), folder)
    (folder / "labels.txt").write_bytes(b"yes\nno\n")
    (folder / "model.v0.b1.mlir").unlink()
    (folder / "extra.txt").write_bytes(b"")
    problems = digest_problems(folder)
    assert [problem.split(":")[0] for problem in problems] == [
        "model.v0.b1.mlir",
        "extra.txt",
        "labels.txt",
    ]


def test_should_leave_only_the_new_bundle_when_replacing_one(tmp_path: Path) -> None:
    write_bundle(small_bundle(assets={"labels.txt": b"", "old.txt": b""}), tmp_path / "m")
    write_bundle(small_bundle(), tmp_path / "m")
    assert [path.name for path in tmp_path.iterdir()] == ["m"]
    assert not (tmp_path / "m" / "old.txt").exists()


def test_should_keep_the_old_bundle_when_writing_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_bundle(small_bundle(), tmp_path / "m")
    before = (tmp_path / "m" / MANIFEST).read_bytes()

    def full_disk(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full_disk)
    with pytest.raises(OSError, match="No space left"):
        write_bundle(small_bundle(description="another"), tmp_path / "m")
    assert [path.name for path in tmp_path.iterdir()] == ["m"]
    assert (tmp_path / "m" / MANIFEST).read_bytes() == before


def test_should_put_the_old_bundle_back_when_the_new_one_cannot_take_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_bundle(small_bundle(), tmp_path / "m")
    rename = Path.rename

    def refuse_new(self: Path, target: Path) -> Path:
        if self.name == "new":
            raise OSError(5, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refuse_new)
    with pytest.raises(OSError, match="Input/output"):
        write_bundle(small_bundle(description="another"), tmp_path / "m")
    assert digest_problems(tmp_path / "m") == []


def test_should_refuse_when_a_program_is_missing() -> None:
    with pytest.raises(ValueError, match=r"programs are \[\]; the contract asks \['model\.v0\.b1"):
        small_bundle(programs={})


@pytest.mark.parametrize(
    "name", [MANIFEST, "weights.safetensors", "model.v0.b1.mlir", "../x", "..", ""]
)
def test_should_refuse_when_an_asset_would_land_elsewhere(name: str) -> None:
    with pytest.raises(ValueError, match="must be a plain file name"):
        small_bundle(assets={"labels.txt": b"", name: b""})


def test_should_refuse_when_labels_are_missing() -> None:
    with pytest.raises(ValueError, match=r"tensor 'scores': no asset 'labels\.txt' for labels"):
        small_bundle(assets={})


def test_should_refuse_when_a_caller_could_not_send_the_dtype() -> None:
    inputs = (TensorSpec("ids", "f8_e4m3", ("n", "s")),)
    with pytest.raises(ValueError, match="tensor 'ids': f8_e4m3 has no name on the wire"):
        small_bundle(contract=replace(CONTRACT, inputs=inputs))


def test_should_accept_eight_bit_floats_when_they_stay_inside(tmp_path: Path) -> None:
    w = np.ones(3, ml_dtypes.float8_e5m2)
    write_bundle(small_bundle(weights={"w": w}), tmp_path / "m")
    assert digest_problems(tmp_path / "m") == []


def test_should_date_a_bundle_by_its_source_when_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert created() == "2026-11-21T00:00:00Z"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86399")
    assert created() == "1970-01-01T23:59:59Z"
