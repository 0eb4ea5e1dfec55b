"""The clock of a process is stepped, and nobody else's."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from soak import clocks
from soak.clocks import Clocks

TELLS = """
import sys, time
for asked in sys.stdin:
    print(time.time(), time.monotonic(), flush=True)
"""
DAY = 24 * 3600
EPSILON = 1e-3


class Teller:
    """Tells the time."""

    def __init__(self, before: list[str]) -> None:
        command = [*before, sys.executable, "-c", TELLS]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def is_off(self, seconds: float) -> bool:
        """Whether its time of day is off by so much, and its clock that only counts is not, as far as can be seen."""
        asked = time.time(), time.monotonic()
        print(file=self.process.stdin, flush=True)
        day, counted = map(float, self.process.stdout.readline().split())
        answered = time.time(), time.monotonic()
        return asked[0] - EPSILON <= day - seconds <= answered[0] + EPSILON and asked[1] <= counted <= answered[1]

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


@pytest.fixture
def stepped(tmp_path: Path) -> Clocks:
    if why := clocks.why_not():
        pytest.skip(why)
    return Clocks(tmp_path / "clocks")


@pytest.fixture
def tellers(stepped: Clocks) -> Iterator[list[Teller]]:
    made = [Teller(stepped.before), Teller(stepped.before)]
    yield made
    for teller in made:
        teller.close()


@pytest.mark.parametrize("seconds", [DAY, -DAY, 1.3, -0.7])
def test_should_step_the_time_of_day_of_one_process(stepped: Clocks, tellers: list[Teller], seconds: float) -> None:
    one, other = tellers
    assert one.is_off(0)
    stepped.step(one.process.pid, seconds)
    assert one.is_off(seconds)
    assert other.is_off(0)
    stepped.step(one.process.pid, 0)
    assert one.is_off(0)


def test_should_leave_a_process_alone_that_has_the_clock_of_the_machine(stepped: Clocks) -> None:
    teller = Teller([])
    try:
        stepped.step(teller.process.pid, DAY)
        assert teller.is_off(0)
    finally:
        teller.close()
