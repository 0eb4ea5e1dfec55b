"""A child process that answers line by line, and is ended when it falls silent."""

import contextlib
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Ended:
    """``code`` is negative for a signal; ``last_words`` are the last line of standard error."""

    lines: list[str]
    code: int
    was_silent: bool
    last_words: str


def run_lines(command: Sequence[str], given: str, most_silent_seconds: float) -> Ended:
    """Runs a command with the modules of this process, and ends it when no line comes in time."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=environment,
        ) as child,
    ):
        was_silent = threading.Event()

        def end() -> None:
            was_silent.set()
            child.kill()

        def watch() -> threading.Timer:
            timer = threading.Timer(most_silent_seconds, end)
            timer.daemon = True
            timer.start()
            return timer

        timer = watch()
        lines = []
        try:
            assert child.stdin is not None and child.stdout is not None
            with contextlib.suppress(BrokenPipeError), child.stdin:
                child.stdin.write(given)
            for line in child.stdout:
                timer.cancel()
                lines.append(line)
                timer = watch()
            code = child.wait()
        except BaseException:
            child.kill()
            raise
        finally:
            timer.cancel()
        errors.seek(0)
        said = errors.read().strip().splitlines()
    return Ended(lines, code, was_silent.is_set(), said[-1] if said else f"exit code {code}")
