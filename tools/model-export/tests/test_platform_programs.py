from pathlib import Path

import pytest
import yaml
from bundles import CONTRACT, small_bundle

from roundhouse_export.bundle import MANIFEST, digest_problems, sha256, write_bundle
from roundhouse_export.bundle_v2 import write_bundle_v2
from roundhouse_export.contract import ProgramKey

KEY = ProgramKey(variant=1, batch=4)


@pytest.mark.parametrize(
    ("key", "name"),
    [
        (ProgramKey(None, None), "model.cpu.mlir"),
        (ProgramKey(None, 8), "model.b8.cpu.mlir"),
        (ProgramKey(0, None), "model.v0.cpu.mlir"),
        (ProgramKey(0, 8), "model.v0.b8.cpu.mlir"),
    ],
)
def test_should_name_the_platform_last(key: ProgramKey, name: str) -> None:
    assert key.platform_file_name("cpu") == name


def test_should_write_a_platforms_program_beside_the_general_one(tmp_path: Path) -> None:
    own = {(KEY, "cpu"): b"on cpu", (KEY, "cuda"): b"on cuda"}
    write_bundle(small_bundle(platform_programs=own), tmp_path / "m")
    assert (tmp_path / "m" / "model.v1.b4.mlir").read_bytes() == b"model.v1.b4.mlir"
    assert (tmp_path / "m" / "model.v1.b4.cpu.mlir").read_bytes() == b"on cpu"
    assert (tmp_path / "m" / "model.v1.b4.cuda.mlir").read_bytes() == b"on cuda"
    digests = yaml.safe_load((tmp_path / "m" / MANIFEST).read_bytes())["files"]
    assert digests["model.v1.b4.cpu.mlir"] == sha256(b"on cpu")
    assert len(digests) == len(list(CONTRACT.programs())) + 2 + len(["weights", "labels"])
    assert digest_problems(tmp_path / "m") == []


def test_should_refuse_a_platform_that_is_not_known() -> None:
    with pytest.raises(
        ValueError,
        match=r"model\.v1\.b4\.gpu\.mlir: platform 'gpu' is not known; known are cpu, cuda",
    ):
        small_bundle(platform_programs={(KEY, "gpu"): b""})


def test_should_refuse_a_program_that_other_platforms_lack() -> None:
    with pytest.raises(
        ValueError,
        match=r"model\.b4\.cpu\.mlir: there is no model\.b4\.mlir for the other platforms",
    ):
        small_bundle(platform_programs={(ProgramKey(None, 4), "cpu"): b""})


def test_should_refuse_an_asset_in_the_place_of_a_platforms_program() -> None:
    with pytest.raises(ValueError, match="must be a plain file name"):
        small_bundle(
            platform_programs={(KEY, "cpu"): b""},
            assets={"labels.txt": b"", "model.v1.b4.cpu.mlir": b""},
        )


def test_should_refuse_format_2_which_has_none(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"format 2\.0 has no programs for one platform"):
        write_bundle_v2(small_bundle(platform_programs={(KEY, "cpu"): b""}), tmp_path / "m")
    assert not (tmp_path / "m").exists()
