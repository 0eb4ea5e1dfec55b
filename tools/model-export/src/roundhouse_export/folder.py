"""A folder that appears whole or not at all."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path


def replace_folder(target: Path, files: Mapping[str, bytes]) -> None:
    """Makes ``target`` hold exactly ``files``, replacing what was there.

    A reader sees the old folder, for an instant none, or the new one, but never a mixture.
    """
    with staged(target) as fresh:
        for name, data in files.items():
            write_durably(fresh / name, data)


@contextmanager
def staged(target: Path) -> Iterator[Path]:
    """Yields an empty folder that takes the place of ``target`` when the block ends well.

    The staging folder beside it starts with a dot, so that whoever scans for bundles can skip it.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        fresh = staging / "new"
        fresh.mkdir()
        yield fresh
        _swap(fresh, target, staging / "old")
    finally:
        shutil.rmtree(staging)


def write_durably(path: Path, data: bytes) -> None:
    """Writes a file that is not there yet."""
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _swap(fresh: Path, target: Path, aside: Path) -> None:
    if target.exists():
        target.rename(aside)
    try:
        fresh.rename(target)
    except OSError:
        if aside.exists():
            aside.rename(target)
        raise
