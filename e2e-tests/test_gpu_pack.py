"""A pack, made and run as a user does: in a shell that knows no JDK."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from worker_process import ROOT

CACHE = Path(os.environ.get("ROUNDHOUSE_CACHE") or Path.home() / ".cache" / "roundhouse")
PLUGIN = CACHE / "pjrt" / "xla-cpu-pjrt-0.0.1" / "xla_cpu_pjrt.so"
LIMIT = 60 * 2**20
NEEDED = ["sh", "readlink", "dirname", "mktemp", "tar", "xz", "mv", "rm", "sleep"]


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pack") / "pack"
    made = subprocess.run(
        [ROOT / "roundhouse", "gpu-pack", "--out", folder], capture_output=True, text=True, timeout=600
    )
    assert made.returncode == 0, made.stderr
    return folder


def tools(folder: Path, *names: str) -> dict[str, str]:
    """An environment whose PATH has these programs only."""
    folder.mkdir()
    for name in names:
        (folder / name).symlink_to(next(p for p in (Path("/usr/bin") / name, Path("/bin") / name) if p.exists()))
    return {"PATH": str(folder), "HOME": "/nonexistent", "PJRT_PLUGIN_PATH": str(PLUGIN), "LC_ALL": "C"}


def check(pack: Path, environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [pack / "gpu-check", *arguments], env=environment, capture_output=True, text=True, timeout=300
    )


def test_should_check_the_cpu_where_there_is_no_jdk(pack: Path, tmp_path: Path) -> None:
    assert sum(file.stat().st_size for file in pack.rglob("*")) <= LIMIT
    result = check(pack, tools(tmp_path / "bin", *NEEDED), "--device", "cpu", "--steps", "describe,contract,worker")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "Nothing failed." in result.stdout
    report = json.loads((pack / "results" / "report.json").read_text())
    assert report["passed"] is True
    assert [step["step"] for step in report["steps"]] == ["describe", "contract", "worker"]
    told = {finding["what"]: finding["note"] for step in report["steps"] for finding in step["findings"]}
    assert told["plugin"] == str(PLUGIN)
    assert told["digits, rows 64"]
    assert (pack / "results" / "report.md").read_text().startswith("# Device check: cpu")


def test_should_say_what_is_missing_when_nothing_unpacks(pack: Path, tmp_path: Path) -> None:
    bare = tmp_path / "pack"
    bare.mkdir()
    shutil.copy(pack / "gpu-check", bare)
    (bare / "programs.tar.xz").symlink_to(pack / "programs.tar.xz")
    without_xz = [name for name in NEEDED if name != "xz"]
    result = check(bare, tools(tmp_path / "bin", *without_xz), "--device", "cpu")
    assert result.returncode == 1
    assert "apt-get install xz-utils" in result.stderr
    assert sorted(p.name for p in bare.iterdir()) == ["gpu-check", "programs.tar.xz"]


def test_should_refuse_a_plugin_of_another_platform(pack: Path, tmp_path: Path) -> None:
    result = check(pack, tools(tmp_path / "bin", *NEEDED), "--steps", "describe", "--out", str(tmp_path / "results"))
    assert result.returncode == 1
    assert "is of platform 'cpu', not 'cuda'" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "gpu-pack needs --out DIR"),
        (("--out", "/tmp"), "is there already"),
        (("--fast",), "does not know '--fast'"),
    ],
)
def test_should_refuse_and_say_why_when_the_command_line_is_wrong(arguments: tuple[str, ...], complaint: str) -> None:
    result = subprocess.run([ROOT / "roundhouse", "gpu-pack", *arguments], capture_output=True, text=True, timeout=60)
    assert result.returncode != 0
    assert complaint in result.stderr
