"""Modules of this package as processes of their own."""

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from worker_process import ROOT


class Program:
    """A module of this package in a process of its own, which goes when its input is closed."""

    def __init__(self, module: str, *arguments: object) -> None:
        command = [sys.executable, "-m", f"attack.{module}", *map(str, arguments)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT / "e2e-tests"
        )

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(2)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


@contextmanager
def program(module: str, *arguments: object) -> Iterator[Program]:
    started = Program(module, *arguments)
    try:
        yield started
    finally:
        started.close()
