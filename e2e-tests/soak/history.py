"""What callers saw, and whether a node may be seen like that.

Each process of callers appends to a file of its own, one line when a request begins and one when it has ended, by the
machine's monotonic clock::

    began ID AT DEADLINE GATEWAY MODEL NUMBER [SEQUENCE STEP]
    ended ID AT OUTCOME REST

``ID`` is ``KIND-CALLER-COUNT``, ``OUTCOME`` ``OK`` with the numbers of the answer, or a status with its text.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from soak import models
from soak.plan import KINDS, WORKERS

GRACE_SECONDS = 2.0
# Callers connect again within half a second, and a region is registered again by the request that misses it.
SETTLE_SECONDS = 1.5
WHOLE_SECONDS = 120.0
MOST_SHOWN = 40
OK, UNAVAILABLE, LATE, FULL, CANCELLED = "OK", "UNAVAILABLE", "DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED", "CANCELLED"
LOST_SEQUENCE, LOST_REGION, KNOWN_REGION = "LOST_SEQUENCE", "LOST_REGION", "ALREADY_EXISTS"
UNARY, HTTP, STREAM, SUMS, SHARED, PARTS, CANCELS, GARBAGE = (
    "unary",
    "http",
    "stream",
    "sums",
    "shared",
    "parts",
    "cancels",
    "garbage",
)
CALLERS = (UNARY, HTTP, STREAM, SUMS, SHARED, PARTS)
EVERYBODY = (*CALLERS, CANCELS, GARBAGE)

# docs/gateway.md: a stream stays with its worker, a request with an output in shared memory goes to one worker alone,
# a sequence and a region are lost with the worker that had them. What may go to another worker does not fail. A region
# that is taken back and registered again by a gateway which did not see all workers is still known to one of them.
OF_ITS_WORKER = {
    STREAM: {UNAVAILABLE},
    PARTS: {UNAVAILABLE},
    SUMS: {UNAVAILABLE, LOST_SEQUENCE},
    SHARED: {UNAVAILABLE, LOST_REGION, KNOWN_REGION},
}
OF_A_SILENT_WORKER = {kind: {UNAVAILABLE, LATE} for kind in EVERYBODY}
OF_A_SILENT_WORKER[SUMS] = {UNAVAILABLE, LATE, LOST_SEQUENCE}
OF_A_SILENT_WORKER[SHARED] = {UNAVAILABLE, LATE, LOST_REGION, KNOWN_REGION}
OF_A_GATEWAY_THAT_ENDS = {kind: {UNAVAILABLE} for kind in EVERYBODY}
OF_A_GATEWAY_THAT_ENDS[SHARED] = {UNAVAILABLE, LOST_REGION, KNOWN_REGION}
OF_A_SILENT_GATEWAY = {kind: {UNAVAILABLE, LATE} for kind in EVERYBODY}
OF_A_SILENT_GATEWAY[SHARED] = {UNAVAILABLE, LATE, LOST_REGION, KNOWN_REGION}
REPLACE_WORKER, REPLACE_GATEWAY = "replace a worker", "replace a gateway"  # in order, by test_upgrade.py
# What a fault may cost whom; of a gateway those alone who ask it.
EXCUSES: dict[str, dict[str, set[str]]] = {
    "kill a worker": OF_ITS_WORKER,
    "hung device": OF_ITS_WORKER,
    REPLACE_WORKER: OF_ITS_WORKER,
    REPLACE_GATEWAY: OF_A_GATEWAY_THAT_ENDS,
    "kill a gateway": OF_A_GATEWAY_THAT_ENDS,
    "stop a gateway": OF_A_SILENT_GATEWAY,
    "stop a worker": OF_A_SILENT_WORKER,
    "partition": OF_A_SILENT_WORKER,
    "slow device": {kind: {LATE} for kind in EVERYBODY},
}
GARBAGE_EXCUSES = {FULL, LATE}
TAKE_A_WORKER = {"kill a worker", "hung device", "stop a worker", "partition"}
# A call to unregister that its client has given up on, as its gateway was stopped or ended, may still be carried out.
OF_REGIONS = {LOST_REGION, KNOWN_REGION}


@dataclass(frozen=True)
class Happened:
    """A fault as it was; ``ended`` when the nemesis had taken it away."""

    kind: str
    target: str
    began: float
    ended: float


@dataclass(frozen=True)
class Spell:
    """An episode as it was: from its first fault until the node was whole again."""

    faults: tuple[Happened, ...]
    began: float
    whole: float

    @property
    def settled(self) -> float:
        return self.whole + SETTLE_SECONDS


@dataclass
class Request:
    id: str
    began: float
    deadline: float
    gateway: str
    model: str
    number: int
    sequence: int = 0
    step: int = 0
    ended: float = 0
    outcome: str = ""
    rest: str = ""

    @property
    def kind(self) -> str:
        return self.id.partition("-")[0]

    def __str__(self) -> str:
        step = f" sequence {self.sequence} step {self.step}" if self.sequence else ""
        return (
            f"{self.id} of '{self.model}' by {self.gateway}{step}, began {self.began:.3f}, took"
            f" {self.ended - self.began:.3f} s of {self.deadline:.3f}: {self.outcome} {self.rest}"
        )


@dataclass
class Tally:
    """Of one kind of fault."""

    injected: int = 0
    violations: int = 0
    recovery: float = 0
    whole: float = 0


@dataclass
class Verdict:
    violations: list[str] = field(default_factory=list)
    count: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    tallies: dict[str, Tally] = field(default_factory=lambda: {kind.name: Tally() for kind in KINDS})

    def violate(self, text: str, kinds: Iterable[str] = ()) -> None:
        """``kinds`` are those of the faults beside which it was."""
        self.count += 1
        if len(self.violations) < MOST_SHOWN:
            self.violations.append(text)
        for kind in set(kinds):
            self.tally(kind).violations += 1

    def tally(self, kind: str) -> Tally:
        return self.tallies.setdefault(kind, Tally())


class Checker:
    """Reads histories once they are over. ``generations`` tells how often models had been loaded again at a time."""

    def __init__(self, spells: list[Spell], generations: Callable[[float], int] = lambda at: 0) -> None:
        self._spells = spells
        self._generations = generations
        self.verdict = Verdict()
        for spell in spells:
            for fault in spell.faults:
                tally = self.verdict.tally(fault.kind)
                tally.injected += 1
                tally.whole = max(tally.whole, spell.whole - fault.ended)
            if spell.whole - max(fault.ended for fault in spell.faults) > WHOLE_SECONDS:
                self.verdict.violate(f"not whole within {WHOLE_SECONDS:.0f} s: {names(spell)}", kinds([spell]))

    def read(self, lines: Iterable[str]) -> None:
        """The history of one process; its sequences are in it whole."""
        known: set[str] = set()
        sums: dict[int, int] = {}
        for request in self._ended(lines, known):
            self._judge(request, sums)

    def _ended(self, lines: Iterable[str], known: set[str]) -> Iterator[Request]:
        waiting: dict[str, Request] = {}
        for line in lines:
            event, name, at, *rest = line.rstrip("\n").split(" ")
            if event == "began":
                if name in known:
                    self.verdict.violate(f"{name} began twice")
                known.add(name)
                numbers = list(map(int, rest[3:]))
                waiting[name] = Request(name, float(at), float(rest[0]), rest[1], rest[2], *numbers)
            elif name in waiting:
                request = waiting.pop(name)
                request.ended, request.outcome, request.rest = float(at), rest[0], " ".join(rest[1:])
                yield request
            elif name in known:
                self.verdict.violate(f"{name} ended twice: {' '.join(rest)}")
            else:
                self.verdict.violate(f"{name} ended and never began: {' '.join(rest)}")
        for request in waiting.values():
            self.verdict.violate(f"never ended: {request}", kinds(self._around(request.began, request.began)))

    def _judge(self, request: Request, sums: dict[int, int]) -> None:
        self.verdict.outcomes[f"{request.kind} {request.outcome}"] += 1
        # One that misses its region takes it back and registers it again, and has its whole deadline for that: others
        # miss it meanwhile, also when the fault in which that began is over.
        around = self._around(request.began, request.ended, request.deadline if request.outcome in OF_REGIONS else 0)
        if request.ended - request.began > request.deadline + GRACE_SECONDS:
            self.verdict.violate(f"later than its deadline and {GRACE_SECONDS:.0f} s: {request}", kinds(around))
        if request.outcome == OK:
            if wrong := self._wrong(request, sums):
                self.verdict.violate(f"{wrong}: {request}", kinds(around))
        elif request.outcome != CANCELLED or request.kind != CANCELS:
            self._failed(request, around)

    def _wrong(self, request: Request, sums: dict[int, int]) -> str:
        """What is wrong with an answer; empty if nothing is."""
        values = [float(value) for value in request.rest.split(",")] if request.rest else []
        if request.kind == SUMS:
            return wrong_sum(request, values, sums)
        if request.kind == PARTS:
            return "" if values == models.digits(request.number) else "an answer of other parts"
        if request.kind == SHARED:
            return "" if values == [digit + 3 for digit in models.digits(request.number)] else "another's answer"
        by = models.factor_of(request.number, values)
        if by is None:
            return "another's answer"
        if by not in models.allowed_factors(request.model, self._generations(request.ended)):
            return f"an answer of another model, whose factor is {by}"
        return ""

    def _failed(self, request: Request, around: list[Spell]) -> None:
        if not around:
            self.verdict.violate(f"failed in a quiet spell: {request}")
            return
        faults = [fault for spell in around for fault in spell.faults]
        excused = [fault for fault in faults if excuses(fault, request)] or without_workers(faults, request)
        if not excused:
            self.verdict.violate(f"no fault excuses it ({', '.join(map(names, around))}): {request}", kinds(around))
        for fault in excused:
            tally = self.verdict.tally(fault.kind)
            tally.recovery = max(tally.recovery, request.ended - fault.ended)

    def _around(self, began: float, ended: float, settling: float = 0) -> list[Spell]:
        return [spell for spell in self._spells if spell.began <= ended and began <= spell.settled + settling]


def wrong_sum(request: Request, values: list[float], sums: dict[int, int]) -> str:
    expected = (sums.get(request.sequence, 0) if request.step else 0) + request.number
    if len(values) != 3:
        return "an answer without its numbers"
    total, sequence, started = values
    sums[request.sequence] = int(total)
    if sequence != request.sequence:
        return "an answer of another sequence"
    if started != (request.step == 0):
        return "a sequence that began anew without a word"
    if total != expected:
        return f"a sum that should be {expected}"
    return ""


def excuses(fault: Happened, request: Request) -> bool:
    if fault.kind == "garbage":
        return request.model == models.WASTER and request.outcome in GARBAGE_EXCUSES
    if fault.target.startswith("gateway") and fault.target != request.gateway:
        return request.outcome in OF_REGIONS and request.outcome in EXCUSES.get(fault.kind, {}).get(request.kind, ())
    if fault.kind == REPLACE_GATEWAY and request.began < fault.began:
        return False  # it ends what it has begun
    return request.outcome in EXCUSES.get(fault.kind, {}).get(request.kind, ())


def without_workers(faults: list[Happened], request: Request) -> list[Happened]:
    """Those that excuse it together, as there was no worker left."""
    takers = [fault for fault in faults if fault.kind in TAKE_A_WORKER]
    if len({fault.target for fault in takers}) < len(WORKERS):
        return []
    return takers if request.outcome in OF_A_SILENT_WORKER[request.kind] else []


def kinds(spells: Iterable[Spell]) -> list[str]:
    return [fault.kind for spell in spells for fault in spell.faults]


def names(spell: Spell) -> str:
    return " and ".join(f"{fault.kind} ({fault.target})" for fault in spell.faults)
