"""How long a bundle's programs take, beside whatever else computes the same."""

import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from roundhouse_export.model import Reference
from roundhouse_export.stored import StoredBundle
from roundhouse_export.validation import kinds_of_inputs

_WARMING_ROUNDS = 3
_TENTHS = (0.1, 0.9)


@dataclass(frozen=True)
class Cell:
    """Medians over the rounds; ``ratio`` is that of the pairs, below 1 when ours is faster."""

    program: str
    rows: int
    ours_ms: float
    beside_ms: float | None
    ratio: float | None
    spread: tuple[float, float] | None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def time_bundle(
    folder: Path,
    beside: Reference | None,
    rounds: int,
    plugin: Path | None = None,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> list[Cell]:
    """One round runs each of the two once, in turns, with weights on the device already."""
    bundle = StoredBundle(folder)
    keys = list(bundle.contract.programs())
    cells = []
    for number, key in enumerate(keys):
        _, inputs = next(kinds_of_inputs(bundle, key))
        program = bundle.executable(key, plugin)
        held = program.put(list(bundle.weights.values()))
        given = [inputs[spec.name] for spec in bundle.contract.inputs]
        ours: list[float] = []
        theirs: list[float] = []
        for turn in range(rounds + _WARMING_ROUNDS):
            progress(number * rounds + min(turn, rounds), len(keys) * rounds)
            began = time.perf_counter()
            program.call([*program.put(given), *held])
            ended = time.perf_counter()
            if turn >= _WARMING_ROUNDS:
                ours.append(ended - began)
            if beside is not None:
                began = time.perf_counter()
                beside(inputs)
                ended = time.perf_counter()
                if turn >= _WARMING_ROUNDS:
                    theirs.append(ended - began)
        cells.append(_cell(key.file_name, key.batch or 1, ours, theirs))
    return cells


def _cell(program: str, rows: int, ours: list[float], theirs: list[float]) -> Cell:
    median = statistics.median(ours) * 1e3
    if not theirs:
        return Cell(program, rows, median, None, None, None)
    ratios = sorted(a / b for a, b in zip(ours, theirs, strict=True))
    low, high = (ratios[int(part * (len(ratios) - 1))] for part in _TENTHS)
    beside = statistics.median(theirs) * 1e3
    return Cell(program, rows, median, beside, statistics.median(ratios), (low, high))
