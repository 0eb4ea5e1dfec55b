"""What a process may have more than before, and what it may not."""

import os
from pathlib import Path

import pytest

from soak.measures import MORE_FILES, MORE_RSS_BYTES, MORE_THREADS, Held, growth, held

BEFORE = Held(50, 200, 400 << 20)


def test_should_let_a_process_grow_within_its_margins() -> None:
    most = Held(50 + MORE_THREADS, 200 + MORE_FILES, int((400 << 20) * 1.25) + MORE_RSS_BYTES)
    assert growth("worker0", BEFORE, most) == []


@pytest.mark.parametrize(
    ("after", "named"),
    [
        (Held(50 + MORE_THREADS + 1, 200, 400 << 20), "worker0 has 63 threads, and had 50"),
        (Held(50, 200 + MORE_FILES + 1, 400 << 20), "worker0 has 225 files open, and had 200"),
        (Held(50, 200, 600 << 20), "worker0 has 600 MiB, and had 400"),
    ],
)
def test_should_name_what_has_grown(after: Held, named: str) -> None:
    assert growth("worker0", BEFORE, after) == [named]


def test_should_count_what_this_process_holds(tmp_path: Path) -> None:
    before = held(os.getpid())
    files = [(tmp_path / str(number)).open("w") for number in range(5)]
    assert held(os.getpid()).files == before.files + 5
    for file in files:
        file.close()
    assert held(os.getpid()).rss > 1 << 20
