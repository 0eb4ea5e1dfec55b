"""A folder that appears whole or not at all."""

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path


def replace_folder(target: Path, files: Mapping[str, bytes]) -> None:
    """Makes ``target`` hold exactly ``files``, replacing what was there.

    A reader sees the old folder, for an instant none, or the new one, but never a mixture. The
    staging folder beside it starts with a dot, so that whoever scans for bundles can skip it.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        fresh = staging / "new"
        fresh.mkdir()
        for name, data in files.items():
            _write_durably(fresh / name, data)
        _swap(fresh, target, staging / "old")
    finally:
        shutil.rmtree(staging)


def _swap(fresh: Path, target: Path, aside: Path) -> None:
    if target.exists():
        target.rename(aside)
    try:
        fresh.rename(target)
    except OSError:
        if aside.exists():
            aside.rename(target)
        raise


def _write_durably(path: Path, data: bytes) -> None:
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
