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
    quick = {"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1"}  # nothing runs long enough here to be worth C2
    return {"PATH": str(folder), "HOME": "/nonexistent", "PJRT_PLUGIN_PATH": str(PLUGIN), "LC_ALL": "C", **quick}


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


def test_should_unpack_by_python_when_there_is_no_xz(pack: Path, tmp_path: Path) -> None:
    other = tmp_path / "pack"
    other.mkdir()
    shutil.copy(pack / "gpu-check", other)
    (other / "programs.tar.xz").symlink_to(pack / "programs.tar.xz")
    without_xz = [name for name in NEEDED if name != "xz"]
    environment = tools(tmp_path / "bin", *without_xz, "python3")
    result = check(other, environment, "--list")
    assert result.returncode == 0, result.stderr
    assert "contract" in result.stdout
    shutil.rmtree(other)


def test_should_put_results_elsewhere_when_the_unpacked_folder_is_read_only(pack: Path, tmp_path: Path) -> None:
    environment = tools(tmp_path / "bin", *NEEDED, "mount", "unshare")
    assert check(pack, environment, "--list").returncode == 0
    # a mount is read-only for root too; it is seen by this process only
    mounted = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@"'
    namespace = ["unshare", "--map-root-user", "--mount"]
    if subprocess.run([*namespace, "true"], capture_output=True).returncode != 0:
        pytest.skip("this system gives no mount namespaces")
    result = subprocess.run(
        [*namespace, "sh", "-c", mounted, "sh", pack, pack / "gpu-check", "--device", "cpu", "--steps", "describe"],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert (tmp_path / "gpu-check-results" / "report.md").exists()


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
