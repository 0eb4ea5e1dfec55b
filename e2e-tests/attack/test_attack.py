"""No client can end a worker, a gateway or a worker behind one, have it outgrow its memory, or make others wait.

``ROUNDHOUSE_E2E_ATTACK=full`` (``./roundhouse test --attack``) has every row of ``attackers.py`` with a worker of 4 GiB
and of 1 GiB and with a node; ``ROUNDHOUSE_E2E_ATTACK_ROWS=2,10`` these alone. Otherwise a few, with a node.
"""

import json
import math
import os
import re
import select
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from attack.others import HEALTH, INFER, LIVE, felt
from attack.programs import Program, program
from attack.table import Outcome, rendered
from attack.target import Size, Target, begin_peak, held_bytes, memory_bytes
from conftest import logs_shown

pytestmark = pytest.mark.alone

FULL = os.environ.get("ROUNDHOUSE_E2E_ATTACK") == "full"
ELSEWHERE, BESIDE = "127.0.0.66", "127.0.0.1"
SMALL_NODE = Size("node", 3008)  # two workers of 1 GiB, their gateway and supervisor
SIZES = [Size("worker", 1024), Size("worker", 4096), SMALL_NODE, Size("node", 9152)] if FULL else [SMALL_NODE]
ROWS = ("1", "2", "2p", "3", "5", "6", "7", "8", "9", "10", "11", "12", "16", "17", "18n", "18c", "18i", "18t", "18l")
BESIDE_ROWS = ("2", "6", "10")
QUICK_ROWS = ("2", "10", "12")
NODE_ONLY = ("9", "17")
# These only hold things in the end; the others make the two processors of the machine work.
HOLDING = ("2", "3", "6", "10", "18c", "18i", "18t")
BURNING_RATIO, HOLDING_RATIO = 2.0, 1.2
# Of a machine with two processors, on which the attacker and what measures it run too.
FLOOR_SECONDS = {True: 0.05, False: 0.25}
WARM_SECONDS = 2
BEFORE_SECONDS = 4 if FULL else 2
DURING_SECONDS = 5 if FULL else 2
AFTER_SECONDS = 3 if FULL else 1
ATTACK_SECONDS = 90
RECOVERY_SECONDS = 5
LOOK_SECONDS = 0.1
FEW_FILES = 600
MOST_TRACES = 200


def chosen() -> list[tuple[Size, str, str]]:
    """Size, row and the attacker's address of each attack."""
    named = os.environ.get("ROUNDHOUSE_E2E_ATTACK_ROWS", "")
    rows = named.split(",") if named else ROWS if FULL else QUICK_ROWS
    unknown = [row for row in rows if row not in ROWS]
    if unknown:
        raise ValueError(f"ROUNDHOUSE_E2E_ATTACK_ROWS names the rows {unknown}; there are {', '.join(ROWS)}")
    found = []
    for size in SIZES:
        for row in rows:
            if row in NODE_ONLY and size.kind != "node":
                continue
            found.append((size, row, ELSEWHERE))
            if FULL and row in BESIDE_ROWS:
                found.append((size, row, BESIDE))
    return found


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest) -> Iterator[list[Outcome]]:
    found: list[Outcome] = []
    yield found
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        print("\n\n" + "\n".join(rendered(found)), flush=True)


class Targets:
    """One at a time, replaced by another once a process of it has ended or another kind is asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._current: Target | None = None
        self._started = 0

    def of(self, size: Size, files: int, *, streams: bool) -> Target:
        known = self._current
        if known and ((known.size, known.files, known.streams) != (size, files, streams) or known.exit_codes()):
            self.close()
        if not self._current:
            self._started += 1
            self._current = Target(size, self._folder / str(self._started), files, streams=streams)
            self._current.await_ready()
        return self._current

    def close(self) -> None:
        if self._current:
            self._current.close()
            self._current = None


@pytest.fixture(scope="module")
def targets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Targets]:
    region = Path("/dev/shm/roundhouse-attack")
    region.write_bytes(bytes(64))
    kept = Targets(tmp_path_factory.mktemp("attack"))
    try:
        yield kept
    finally:
        kept.close()
        region.unlink()


def attack(target: Target, row: str, source: str, records: Path) -> Outcome:
    """Measures the others before, during and after, and the memory of each process meanwhile."""
    outcome = Outcome(row + ("" if source == ELSEWHERE else " beside"), str(target.size))
    outcome.limits = {name: target.limit_bytes(name) for name in target.parts}
    ports = target.process.ports
    with program("others", records, ports.http, ports.grpc):
        time.sleep(WARM_SECONDS)
        start = time.monotonic()
        time.sleep(BEFORE_SECONDS)
        idle = {name: memory_bytes(part, "VmRSS") for name, part in target.parts.items()}
        for part in target.parts.values():
            begin_peak(part)
        began = time.monotonic()
        known = (ports.http, ports.grpc, target.stream_port, target.largest)
        with program("attackers", row, source, *known) as attacker:
            outcome.attacker = watched(target, attacker, outcome)
            holds = time.monotonic()
            held_until = time.monotonic() + DURING_SECONDS
            while time.monotonic() < held_until:
                look(target, outcome)
                time.sleep(LOOK_SECONDS)
            if not target.exit_codes():
                outcome.held = {name: held_bytes(part) for name, part in target.parts.items()}
        left = time.monotonic()
        outcome.growth = {name: outcome.peaks.get(name, 0) - idle[name] for name in target.parts}
        outcome.ended = target.exit_codes()
        if not outcome.ended:
            outcome.recovery = recovery(target, records, left)
            back = time.monotonic()
            time.sleep(AFTER_SECONDS)
            outcome.after = felt(records, back, time.monotonic())
        # not sooner: calls that were open when the attacker left are known once they have ended
        outcome.before = felt(records, start, began)
        outcome.during = felt(records, began, left)
        outcome.holding = felt(records, holds, left)
    outcome.ended = target.exit_codes()
    return outcome


def look(target: Target, outcome: Outcome) -> None:
    for name, part in target.parts.items():
        outcome.peaks[name] = max(outcome.peaks.get(name, 0), memory_bytes(part, "VmHWM"))


def watched(target: Target, attacker: Program, outcome: Outcome) -> dict[str, int]:
    """What the attacker says it has done, once it has, or a process or the time has ended."""
    end = time.monotonic() + ATTACK_SECONDS
    while time.monotonic() < end and not target.exit_codes():
        look(target, outcome)
        if select.select([attacker.process.stdout], [], [], LOOK_SECONDS)[0]:
            line = attacker.process.stdout.readline()
            assert line, f"the attacker ended with exit code {attacker.process.wait()}"
            return json.loads(line)
    return {"not done": 1}


def ejections(target: Target) -> int:
    """How often a gateway has left a worker alone; 0 of a worker."""
    page = target.process.get(target.process.ports.metrics, "/metrics?workers=false")[1]
    counted = re.search(r"^gateway_ejections_total (\S+)$", page, re.MULTILINE)
    return int(float(counted[1])) if counted else 0


def recovery(target: Target, records: Path, left: float) -> float:
    """Seconds until calls of every kind that begin then are answered, and soon; infinite after a minute."""
    while time.monotonic() < left + 60:
        good = set()
        last = max(left, time.monotonic() - 0.5)
        for kind in (INFER, LIVE, HEALTH):
            now = felt_since(records, kind, left)
            if now and now[-1][2] in ("OK", "200") and now[-1][1] < FLOOR_SECONDS[False] and now[-1][0] >= last - 0.5:
                good.add(kind)
        if len(good) == 3 and ready(target):
            return time.monotonic() - left
        time.sleep(0.05)
    return math.inf


def ready(target: Target) -> bool:
    try:
        return target.process.get(target.process.ports.http, "/v2/health/ready")[0] == 200
    except OSError:
        return False


def felt_since(records: Path, kind: str, left: float) -> list[tuple[float, float, str]]:
    found = []
    for line in records.read_text().splitlines()[-400:]:
        name, began, seconds, status = line.split()
        if name == kind and float(began) >= left:
            found.append((float(began), float(seconds), status))
    return found


def problems(outcome: Outcome, row: str) -> list[str]:
    """What the outcome has that no attack may have."""
    found = [f"{name} ended with exit code {code}" for name, code in outcome.ended.items()]
    found += [
        f"{name} grew to {peak >> 20} MiB, more than its {outcome.limits[name] >> 20}"
        for name, peak in outcome.peaks.items()
        if peak > outcome.limits[name]
    ]
    found += [f"others had {count} x {what}" for what, count in outcome.during.errors.items()]
    if outcome.recovery is not None and outcome.recovery > RECOVERY_SECONDS:
        found.append(f"others were served again after {outcome.recovery:.1f} s, more than {RECOVERY_SECONDS}")
    if outcome.attacker.get("accepted"):
        found.append(f"{outcome.attacker['accepted']} calls of a foreign page were accepted")
    if row == "18l" and "status 400" not in outcome.attacker:
        found.append(f"two lengths of a body are not refused: {outcome.attacker}")
    return found


def waits(outcome: Outcome, row: str) -> list[str]:
    """How others were made to wait longer than they may be."""
    found = []
    # what only holds things has made the processors work until it held them
    phases = [("during", outcome.during, BURNING_RATIO, FLOOR_SECONDS[False])]
    if row in HOLDING:
        phases.append(("while it held", outcome.holding, HOLDING_RATIO, FLOOR_SECONDS[True]))
    for name, phase, ratio, floor in phases:
        for kind in (INFER, LIVE):
            before, now = (each.percentile(kind, 99) for each in (outcome.before, phase))
            if not now <= max(before * ratio, floor):
                found.append(f"p99 of {kind}: {before * 1e3:.1f} ms before, {now * 1e3:.1f} ms {name}")
    return found


@pytest.mark.parametrize(("size", "row", "source"), chosen(), ids=lambda value: str(value))
def test_should_serve_others_when_attacked(
    size: Size, row: str, source: str, targets: Targets, outcomes: list[Outcome], tmp_path: Path
) -> None:
    target = targets.of(size, FEW_FILES if row == "18c" else 0, streams=row == "18t")
    alone = ejections(target)
    with logs_shown(target.process):
        outcome = attack(target, row, source, tmp_path / "records")
        outcomes.append(outcome)
        found = problems(outcome, row)
        if not FULL and not found and waits(outcome, row):
            # a pause of the machine does not come again, a wait that the product causes does
            outcome = attack(target, row, source, tmp_path / "again")
            outcomes.append(outcome)
            found = problems(outcome, row)
        found += waits(outcome, row)
        if row == "17" and not outcome.ended and ejections(target) != alone:
            found.append(f"the gateway left workers alone that were well: {ejections(target) - alone} times")
        traces = len(list(target.traces.iterdir()))
        if row == "16" and traces > MOST_TRACES:
            found.append(f"{traces} files of traces")
        if row == "18n" and "\tat " in target.process.log():
            found.append("the log has a stack")
        assert not found, "\n".join(found)
