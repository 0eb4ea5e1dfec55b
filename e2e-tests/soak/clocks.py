"""Clocks of processes that can be stepped, each by itself: the time of day alone, as by a step of the machine's clock.

The machine's own clock is not a test's to step. A library that is loaded first answers in its place.
"""

import shlex
import shutil
import struct
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_name("stepped_clock.c")


def why_not() -> str:
    """Why no clock can be stepped here; empty when one can."""
    return "" if shutil.which("cc") else "takes a C compiler, cc"


class Clocks:
    """Each process has one of its own, and what it starts without ``before`` has the same."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._folder = folder
        library = folder / "stepped_clock.so"
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, SOURCE, "-ldl"], check=True)
        exports = f"LD_PRELOAD={shlex.quote(str(library))} STEPPED_CLOCK={shlex.quote(str(folder))}/$$"
        self.before = ["sh", "-c", f'export {exports}; exec "$@"', "sh"]  # what a command stands behind

    def step(self, pid: int, seconds: float) -> None:
        """It is off by so much from now on; nothing where it does not stand behind ``before``."""
        clock = self._folder / str(pid)
        if clock.exists():
            with clock.open("r+b") as file:
                file.write(struct.pack("q", int(seconds * 1e9)))
