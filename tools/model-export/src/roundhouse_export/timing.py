"""How long a bundle's programs take, beside whatever else computes the same."""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from roundhouse_export import padded_requests
from roundhouse_export.contract import ProgramKey, Variant
from roundhouse_export.model import Reference
from roundhouse_export.stored import StoredBundle
from roundhouse_export.validation import SEED, kinds_of_inputs

_LEAST_CALLS, _MOST_CALLS, _TURN_SECONDS = 3, 50, 0.03
# Threads of whoever ran before go on spinning, onnxruntime's for some 20 ms.
_PAUSE_SECONDS = 0.06
_TENTHS = (0.1, 0.9)


@dataclass(frozen=True)
class Cell:
    """Medians over the rounds; ``ratio`` is that of the pairs, below 1 when ours is faster.

    ``padded`` has the sizes of a request that was padded, by our side alone; empty for one as
    large as the program.
    """

    program: str
    rows: int
    ours_ms: float
    beside_ms: float | None
    ratio: float | None
    spread: tuple[float, float] | None
    padded: str = ""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def time_bundle(
    folder: Path,
    beside: Reference | None,
    rounds: int,
    plugin: Path | None = None,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> list[Cell]:
    """Both take turns, with weights on the device already. A program that requests are padded for
    has two cells: for one as large as itself, and for one half way to the next smaller."""
    bundle = StoredBundle(folder)
    contract = bundle.contract
    runs = [
        (key, sizes)
        for key in contract.programs()
        for sizes in (None, *padded_requests.shorter_sizes(contract, key)[-1:])
    ]
    cells = []
    for number, (key, sizes) in enumerate(runs):

        def step(turn: int, done: int = number * rounds) -> None:
            progress(done + turn, len(runs) * rounds)

        seconds = take_turns(_calls(bundle, key, sizes, beside, plugin), rounds, step)
        ours, theirs = seconds["ours"], seconds.get("beside", [])
        padded = padded_requests.described(sizes) if sizes else ""
        cells.append(_cell(key.file_name, key.batch or 1, ours, theirs, padded))
    return cells


def _calls(
    bundle: StoredBundle,
    key: ProgramKey,
    sizes: Variant | None,
    beside: Reference | None,
    plugin: Path | None,
) -> dict[str, Callable[[], object]]:
    contract = bundle.contract
    if sizes is None:
        _, inputs = next(kinds_of_inputs(bundle, key))
    else:
        made = padded_requests.requests(contract, key, bundle.index_bounds(key), SEED)
        inputs = next(inputs for each, inputs in made if each == sizes)
    program = bundle.executable(key, plugin)
    held = program.put(list(bundle.weights.values()))

    def ours() -> object:
        whole = inputs if sizes is None else padded_requests.padded(contract, key, inputs)
        return program.call([*program.put([whole[spec.name] for spec in contract.inputs]), *held])

    calls: dict[str, Callable[[], object]] = {"ours": ours}
    if beside is not None:
        calls["beside"] = lambda: beside(inputs)
    return calls


def take_turns(
    calls: Mapping[str, Callable[[], object]],
    rounds: int,
    progress: Callable[[int], None] = lambda done: None,
) -> dict[str, list[float]]:
    """Returns seconds of a call, by round. Each has a turn a round, in another order each time.

    A turn is a pause, a call, and more whose median counts, for 30 ms: with two processors, a
    thread that still spins after another one's call would be half the machine.
    """
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    names = list(calls)
    for turn in range(rounds):
        progress(turn)
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            time.sleep(_PAUSE_SECONDS)
            calls[name]()
            seconds[name].append(_median_seconds(calls[name]))
    progress(rounds)
    return seconds


def _median_seconds(call: Callable[[], object]) -> float:
    taken: list[float] = []
    while len(taken) < _LEAST_CALLS or (sum(taken) < _TURN_SECONDS and len(taken) < _MOST_CALLS):
        began = time.perf_counter()
        call()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def _cell(program: str, rows: int, ours: list[float], theirs: list[float], padded: str) -> Cell:
    median = statistics.median(ours) * 1e3
    if not theirs:
        return Cell(program, rows, median, None, None, None, padded)
    ratios = sorted(a / b for a, b in zip(ours, theirs, strict=True))
    low, high = (ratios[int(part * (len(ratios) - 1))] for part in _TENTHS)
    beside = statistics.median(theirs) * 1e3
    return Cell(program, rows, median, beside, statistics.median(ratios), (low, high), padded)
