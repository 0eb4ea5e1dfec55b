"""What is built can be installed where nothing else is, and the command works there."""

import subprocess
import sys
import venv
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of a fresh environment with the wheel, and its dependencies."""
    folder = tmp_path_factory.mktemp("package")
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder / "dist")]
    subprocess.run([*build, str(PROJECT)], check=True, capture_output=True)
    (wheel,) = (folder / "dist").glob("*.whl")
    assert list((folder / "dist").glob("*.tar.gz"))
    venv.create(folder / "venv", with_pip=True)
    programs = folder / "venv" / "bin"
    lock = PROJECT / "requirements.txt"
    pip = [programs / "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "-c", lock, wheel], check=True)
    return programs


def test_should_install_the_command(installed: Path) -> None:
    told = subprocess.run(
        [installed / "roundhouse-export", "--version"], check=True, capture_output=True, text=True
    )
    assert told.stdout.startswith("roundhouse-export ")


def test_should_begin_a_project_and_look_at_it(installed: Path, tmp_path: Path) -> None:
    command = installed / "roundhouse-export"
    subprocess.run([command, "new", "mine"], check=True, cwd=tmp_path)
    exporting = [command, "mine:model", "--out", "models", "--input", "x=f32[n,4]"]
    subprocess.run(exporting, check=True, cwd=tmp_path / "mine")
    told = subprocess.run(
        [command, "inspect", "models/mine", "--no-compile"],
        check=True,
        cwd=tmp_path / "mine",
        capture_output=True,
        text=True,
    )
    assert "model.b8.mlir" in told.stdout


def test_should_say_which_package_a_source_needs(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "some.onnx").write_bytes(b"")
    ended = subprocess.run(
        [installed / "roundhouse-export", "some.onnx", "--out", "models"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2
    assert "pip install 'roundhouse-export[onnx]'" in ended.stderr
