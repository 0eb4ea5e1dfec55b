"""What is built can be installed where nothing else is, and the command works there.

``ROUNDHOUSE_EXPORT_TESTS=all`` has pip install the dependencies; otherwise those that the wheel
names are linked from the environment of the tests.
"""

import subprocess
import sys
import sysconfig
import venv
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from thinning import ALL

PROJECT = Path(__file__).parents[1]


def link_dependencies(of: Distribution, folder: Path) -> None:
    """Links what a distribution requires, without extras, and what that requires in turn."""
    for line in of.requires or []:
        requirement = Requirement(line)
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        found = distribution(requirement.name)
        assert requirement.specifier.contains(found.version), line
        tops = {Path(each.parts[0]) for each in found.files or [] if each.parts[0] != ".."}
        new = [each for each in tops if not (folder / each).exists()]
        for each in new:
            (folder / each).symlink_to(Path(str(found.locate_file(each))))
        if new:
            link_dependencies(found, folder)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of a fresh environment with the wheel, and its dependencies."""
    folder = tmp_path_factory.mktemp("package")
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder / "dist")]
    subprocess.run([*build, str(PROJECT)], check=True, capture_output=True)
    (wheel,) = (folder / "dist").glob("*.whl")
    assert list((folder / "dist").glob("*.tar.gz"))
    root = folder / "venv"
    venv.create(root)
    programs = root / "bin"
    lock = PROJECT / "requirements.txt"
    pip = [sys.executable, "-m", "pip", "--python", programs / "python", "install", "--quiet"]
    pip += ["--disable-pip-version-check"]
    if ALL:
        subprocess.run([*pip, "-c", lock, wheel], check=True)
        return programs
    subprocess.run([*pip, "--no-deps", wheel], check=True)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(root)}))
    (described,) = packages.glob("roundhouse_export-*.dist-info")
    link_dependencies(Distribution.at(described), packages)
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
