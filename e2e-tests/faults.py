"""A load that goes on while something fails, and what became of its calls."""

import contextlib
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from networks import Place
from worker_process import wait_until

HERE = Path(__file__).parent
STOP_SECONDS = 90


@dataclass(frozen=True)
class Outcome:
    """Of one call; times are those of ``time.monotonic()``."""

    began: float
    seconds: float
    attempts: int
    status: str
    text: str

    @property
    def ended(self) -> float:
        return self.began + self.seconds


class FaultLoad:
    """Calls from construction to ``stop``."""

    def __init__(
        self,
        records: Path,
        *addresses: str,
        callers: int = 8,
        pause: float = 0.01,
        deadline: float = 40,
        retry: float = 0,
        place: Place | None = None,
    ) -> None:
        self._records = records
        records.write_text("")
        numbers = [str(number) for number in (callers, pause, deadline, retry)]
        command = [sys.executable, str(HERE / "fault_load.py"), str(records), *numbers, *addresses]
        self.process = subprocess.Popen((place or Place()).command(command))

    def outcomes(self) -> list[Outcome]:
        lines = self._records.read_text().split("\n")[:-1]
        parts = [line.split(" ", 4) for line in lines]
        return [Outcome(float(p[0]), float(p[1]), int(p[2]), p[3], p[4]) for p in parts]

    def answers(self) -> int:
        return sum(outcome.status == "OK" for outcome in self.outcomes())

    def await_answers(self, more: int, seconds: float = 60) -> None:
        """Waits until so many more calls have been answered."""
        before = self.answers()
        wait_until(lambda: self.answers() >= before + more, seconds, f"{more} more answers")

    def stop(self) -> list[Outcome]:
        """What became of all calls, once those that were open have ended too."""
        self.process.terminate()
        assert self.process.wait(STOP_SECONDS) == 0
        return self.outcomes()

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def failures(outcomes: list[Outcome]) -> Counter[str]:
    return Counter(f"{each.status} {each.text}".strip() for each in outcomes if each.status != "OK")


def disturbed(outcomes: list[Outcome], since: float, slow: float) -> float:
    """For how long after that moment calls failed or were slower than so many seconds."""
    ends = [each.ended for each in outcomes if each.ended > since and (each.status != "OK" or each.seconds > slow)]
    return max(ends, default=since) - since


def now() -> float:
    return time.monotonic()


@contextlib.contextmanager
def full(folder: Path) -> Iterator[None]:
    """Not a byte is left there, until it is over."""
    filler = folder / "filler"
    try:
        with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        assert os.statvfs(folder).f_bavail == 0
        yield
    finally:
        filler.unlink()
