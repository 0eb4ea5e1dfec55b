"""A folder that appears whole or not at all."""

import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

_NEW, _OLD = "new", "old"
"""In a staging folder: what is written, and what it takes the place of."""


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
    What a process that was killed left of one for this target is removed.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    _remove_abandoned(target)
    with _staging_folder(target) as staging:
        fresh = staging / _NEW
        fresh.mkdir()
        yield fresh
        _swap(fresh, target, staging / _OLD)


@contextmanager
def _staging_folder(target: Path) -> Iterator[Path]:
    """Its lock is held as long as the process lives, which tells it from an abandoned one."""
    while True:
        staging = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        descriptor = os.open(staging, os.O_RDONLY | os.O_DIRECTORY)
        with suppress(OSError):  # of a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if staging.exists():
            break
        os.close(descriptor)  # taken for an abandoned one before it was locked
    try:
        yield staging
    finally:
        shutil.rmtree(staging)
        os.close(descriptor)


def _remove_abandoned(target: Path) -> None:
    name = re.compile(rf"\.{re.escape(target.name)}\.[a-z0-9_]{{8}}")
    for each in target.parent.iterdir():
        if not name.fullmatch(each.name) or each.is_symlink() or not each.is_dir():
            continue
        descriptor = os.open(each, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if {inside.name for inside in each.iterdir()} <= {_NEW, _OLD}:
                if (each / _OLD).exists() and not target.exists():  # killed between two renames
                    (each / _OLD).rename(target)
                shutil.rmtree(each)
        except OSError:
            continue  # its process lives, or has just removed it
        finally:
            os.close(descriptor)


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
