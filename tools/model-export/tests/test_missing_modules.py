"""A package of an extra is to be installed; any other module that is missing is named as such."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

from roundhouse_export import sources
from roundhouse_export.model import ImportOptions
from roundhouse_export.refusal import RefusedError
from roundhouse_export.sources import SOURCES, missing


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "some.onnx"
    path.write_bytes(b"")
    return str(path)


def stand_in(monkeypatch: pytest.MonkeyPatch, folder: Path, code: str) -> None:
    """Takes the place of the module that reads ONNX, and is imported when it is loaded."""
    (folder / "stand_in.py").write_text(code)
    module = ModuleType("roundhouse_export.sources.onnx")
    module.load = lambda source, options: exec(  # type: ignore[attr-defined]
        compile(code, str(folder / "stand_in.py"), "exec"), {}
    )
    monkeypatch.setitem(sys.modules, module.__name__, module)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("onnx", "needs the package 'onnx': pip install 'roundhouse-export[onnx]'"),
        ("onnxruntime.capi", "needs the package 'onnxruntime': pip"),
        ("yaml", "needs the package 'yaml': pip install 'roundhouse-export[onnx]'"),
    ],
)
def test_should_tell_what_to_install_when_a_package_of_the_extra_is_missing(
    name: str, told: str, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(monkeypatch, tmp_path, f"raise ModuleNotFoundError('No module', name='{name}')")
    with pytest.raises(RefusedError, match=r"some\.onnx is an ONNX file, which ") as refusal:
        sources.load(file, ImportOptions())
    assert told in str(refusal.value)


def test_should_name_the_module_and_the_line_when_it_is_of_no_extra(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(monkeypatch, tmp_path, "x = 1\nimport roundhouse_export.no_such_part")
    with pytest.raises(RefusedError) as refusal:
        sources.load(file, ImportOptions())
    assert str(refusal.value) == (
        f"{file} is an ONNX file, and module 'roundhouse_export.no_such_part', which "
        f"{tmp_path / 'stand_in.py'}, line 2, imports, is not there"
    )


def test_should_not_take_a_package_of_another_extra_for_its_own(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(monkeypatch, tmp_path, "raise ModuleNotFoundError('No module', name='keras')")
    with pytest.raises(RefusedError, match=r"module 'keras', which .*stand_in.py, line 1"):
        sources.load(file, ImportOptions())


def test_should_know_the_packages_of_every_extra() -> None:
    extras = {each.extra for each in SOURCES} | set(missing.EXTRAS_OF_READERS.values())
    assert extras <= set(missing.EXTRA_MODULES)
