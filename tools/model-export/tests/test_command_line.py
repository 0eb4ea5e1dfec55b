from pathlib import Path

import pytest

from roundhouse_export.samples.__main__ import main


def test_should_build_and_approve_a_sample_when_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["build", "scalar", "--out", str(tmp_path)]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["scalar"]
    assert main(["check", "scalar", "--models", str(tmp_path)]) == 0
    built, checked = capsys.readouterr().out.splitlines()
    assert built.startswith("built scalar")
    assert checked.startswith("ok    scalar     1 programs, largest difference 0")


def test_should_write_what_is_asked_for_when_given_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ["--out", str(tmp_path)]
    options = ["--encoding", "artifact", "--platforms", "cuda", "--numerics", "f32"]
    assert main(["build", "affine", *options, *out]) == 0
    assert (tmp_path / "affine" / "model.b1.mlir").read_bytes().startswith(b"ML\xefR")
    assert "platforms: cuda\n" in (tmp_path / "affine" / "manifest.yaml").read_text()
    assert main(["check", "affine", "--models", str(tmp_path)]) == 0

    options[1] = "text"
    assert main(["build", "affine", *options, *out]) == 0
    text = (tmp_path / "affine" / "model.b1.mlir").read_text()
    assert "precision = [HIGHEST, HIGHEST]" in text
    assert main(["check", "affine", "--models", str(tmp_path)]) == 0


def test_should_fail_and_name_the_file_when_a_bundle_was_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["build", "scalar", "--out", str(tmp_path)])
    program = tmp_path / "scalar" / "model.mlir"
    program.write_text(program.read_text().replace("stablehlo.add", "stablehlo.subtract"))
    assert main(["check", "scalar", "--models", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert "WRONG scalar: model.mlir: sha256 is" in out
    assert "WRONG scalar/model.mlir: differs by" in out


def test_should_list_every_sample(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    assert "digits" in capsys.readouterr().out


def test_should_name_the_samples_when_one_is_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["build", "nosuch"])
    assert stopped.value.code == 2
    assert "no sample 'nosuch'; there are simple, affine" in capsys.readouterr().err
