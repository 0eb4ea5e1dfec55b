"""What a process that was killed leaves is removed by the next, and a living one is left alone."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from roundhouse_export.folder import replace_folder, staged

WRITER = """
import sys, time
from pathlib import Path
from roundhouse_export.folder import staged, write_durably
with staged(Path(sys.argv[1])) as fresh:
    write_durably(fresh / "half", b"x")
    print("writing", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that is in the middle of writing ``m``."""
    child = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path / "m")],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "writing\n"
    yield child
    child.kill()
    child.wait()


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def test_should_remove_what_a_killed_export_left_when_the_model_is_written_again(
    tmp_path: Path, writer: subprocess.Popen[str]
) -> None:
    replace_folder(tmp_path / "m.b", {"other": b""})
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    (left,) = (each for each in names(tmp_path) if each.startswith(".m."))
    replace_folder(tmp_path / "m.b", {"other": b"1"})
    assert left in names(tmp_path)  # of another model
    replace_folder(tmp_path / "m", {"whole": b"1"})
    assert names(tmp_path) == ["m", "m.b"]
    assert names(tmp_path / "m") == ["whole"]


def test_should_leave_alone_what_another_process_is_writing(
    tmp_path: Path, writer: subprocess.Popen[str]
) -> None:
    replace_folder(tmp_path / "m", {"whole": b"1"})
    (theirs,) = (each for each in names(tmp_path) if each.startswith(".m."))
    assert (tmp_path / theirs / "new" / "half").is_file()


def test_should_bring_back_the_old_folder_when_killed_between_two_renames(tmp_path: Path) -> None:
    aside = tmp_path / ".m.abcd_123"
    (aside / "new").mkdir(parents=True)
    (aside / "old").mkdir()
    (aside / "old" / "kept").write_text("1")
    with pytest.raises(KeyError), staged(tmp_path / "m"):
        raise KeyError
    assert names(tmp_path) == ["m"]
    assert names(tmp_path / "m") == ["kept"]


def test_should_not_touch_a_hidden_folder_that_is_no_staging_folder(tmp_path: Path) -> None:
    for name in (".m.notes", ".m.abcd_123", ".m.ABCD1234"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine").write_text("")
    replace_folder(tmp_path / "m", {"whole": b"1"})
    assert names(tmp_path) == [".m.ABCD1234", ".m.abcd_123", ".m.notes", "m"]
