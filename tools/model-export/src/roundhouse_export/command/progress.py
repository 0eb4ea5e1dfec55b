"""What is being done, for people: one line per step, on standard error."""

import sys
import time


class Steps:
    """Tells each step when it begins and how long it took when it has ended."""

    def __init__(self, quiet: bool = False) -> None:
        self._quiet = quiet
        self._terminal = sys.stderr.isatty()
        self._current = ""
        self._began = 0.0

    def __call__(self, what: str) -> None:
        """Ends the step before and begins this one."""
        self.end()
        self._current, self._began = what, time.monotonic()
        if self._terminal:
            self._write(f"{what} ...")

    def part(self, done: int, of: int) -> None:
        """How far the step is; shown on a terminal alone."""
        if self._terminal:
            filled = 24 * done // max(of, 1)
            bar = "#" * filled + "." * (24 - filled)
            self._write(f"\r\033[K{self._current} [{bar}] {done}/{of}")

    def end(self) -> None:
        if self._current:
            seconds = time.monotonic() - self._began
            start = "\r\033[K" if self._terminal else ""
            self._write(f"{start}{self._current}: {seconds:.1f} s\n")
            self._current = ""

    def _write(self, text: str) -> None:
        if not self._quiet:
            sys.stderr.write(text)
            sys.stderr.flush()
