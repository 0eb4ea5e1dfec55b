"""What is done to a node, in which order and for how long: the same for the same seed and duration.

A plan is a list of episodes. An episode has one fault, or two that may overlap, and then a quiet spell, in which
nothing may fail. Between the two the node gets the time that it takes to be whole again, which no plan can know.
"""

import json
import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass

GATEWAYS = ("gateway0", "gateway1")
WORKERS = ("worker0", "worker1")
NODE = "node"  # its supervisor and all of those
# Until the node is whole again, at the least: what a start takes, and what a look does. A plan that is done before its
# time is over would leave the rest of the time without faults; of one that is longer the end is left out.
START_SECONDS, LOOK_SECONDS = 8, 0
QUIET_SECONDS = (3.0, 6.0)
SECOND_AFTER_SECONDS = (0.0, 2.0)
PAIRED_SHARE = 0.4


@dataclass(frozen=True)
class Kind:
    """A kind of fault: whom it may hit, for how many seconds, whether it takes a part of the node away, or ends one."""

    name: str
    targets: tuple[str, ...]
    seconds: tuple[float, float]
    takes_away: bool
    ends: bool = False


KINDS = (
    Kind("kill a worker", WORKERS, (0, 0), True, ends=True),
    Kind("kill a gateway", GATEWAYS, (0, 0), True, ends=True),
    Kind("stop a worker", WORKERS, (0.5, 20), True),
    Kind("stop a gateway", GATEWAYS, (0.5, 20), True),
    Kind("slow device", WORKERS, (2, 6), True),
    Kind("hung device", WORKERS, (0, 0), True, ends=True),
    Kind("partition", WORKERS, (2, 20), True),
    Kind("cancels", GATEWAYS, (2, 6), False),
    Kind("reloads", ("repository",), (2, 5), False),
    Kind("damaged bundles", ("repository",), (2, 4), False),
    Kind("slow peers", GATEWAYS, (3, 8), False),
    Kind("full disk", ("disk",), (2, 5), False),
    Kind("token rotation", ("tokens",), (0, 0), False),
    Kind("garbage", GATEWAYS, (2, 5), False),
    Kind("clock step", (*WORKERS, *GATEWAYS, NODE), (2, 6), False),
)
KIND_BY_NAME = {kind.name: kind for kind in KINDS}


@dataclass(frozen=True)
class Fault:
    """``after`` and ``seconds`` count from the episode's beginning and from the fault's own."""

    kind: str
    target: str
    after: float
    seconds: float

    def __str__(self) -> str:
        lasting = f" for {self.seconds:.1f} s" if self.seconds else ""
        return f"{self.kind} ({self.target}) after {self.after:.1f} s{lasting}"


@dataclass(frozen=True)
class Episode:
    faults: tuple[Fault, ...]
    quiet: float

    @property
    def seconds(self) -> float:
        """What it takes at the least."""
        recovery = START_SECONDS if any(KIND_BY_NAME[fault.kind].ends for fault in self.faults) else LOOK_SECONDS
        return max(fault.after + fault.seconds for fault in self.faults) + recovery + self.quiet


@dataclass(frozen=True)
class Traffic:
    """How the callers go about it; each kind of caller has a process of its own."""

    callers: dict[str, int]
    pause: float
    deadline: float
    cancelled_share: float


@dataclass(frozen=True)
class Plan:
    seed: int
    seconds: float
    traffic: Traffic
    episodes: tuple[Episode, ...]

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1)

    def lines(self) -> Iterator[str]:
        yield f"seed {self.seed}, {self.seconds:.0f} s, {self.traffic}"
        for number, episode in enumerate(self.episodes, 1):
            faults = "; ".join(map(str, episode.faults))
            yield f"{number:4}. {faults}; then quiet for {episode.quiet:.1f} s"


def plan(seed: int, seconds: float) -> Plan:
    """Every kind of fault comes once before one comes again, in an order that the seed makes."""
    chance = random.Random(seed)
    traffic = _traffic(chance)
    order = _order(chance)
    episodes = []
    left = seconds
    while True:
        episode = _episode(chance, order)
        if episodes and episode.seconds > left:
            return Plan(seed, seconds, traffic, tuple(episodes))
        episodes.append(episode)
        left -= episode.seconds


def _traffic(chance: random.Random) -> Traffic:
    callers = {kind: chance.randint(2, 3) for kind in ("unary", "http", "stream")}
    callers |= dict.fromkeys(("sums", "shared", "parts"), 2)
    return Traffic(
        callers,
        pause=round(chance.uniform(0.06, 0.12), 3),
        deadline=round(chance.uniform(4, 6), 1),
        cancelled_share=round(chance.uniform(0.01, 0.04), 3),
    )


def _order(chance: random.Random) -> Iterator[Kind]:
    last = None
    while True:
        kinds = chance.sample(KINDS, len(KINDS))
        if kinds[0] == last:
            kinds.append(kinds.pop(0))
        yield from kinds
        last = kinds[-1]


def _episode(chance: random.Random, order: Iterator[Kind]) -> Episode:
    first = _fault(chance, next(order), 0)
    faults = [first]
    if chance.random() < PAIRED_SHARE:
        after = round(chance.uniform(*SECOND_AFTER_SECONDS), 1)
        faults.append(_fault(chance, next(order), after, beside=first.target))
    return Episode(tuple(faults), round(chance.uniform(*QUIET_SECONDS), 1))


def _fault(chance: random.Random, kind: Kind, after: float, beside: str = "") -> Fault:
    low, high = kind.seconds
    # as many of a second as of ten: a pause of the machine and one of a process that hangs are different faults
    seconds = low * (high / low) ** chance.random() if low else 0
    # what one fault has ended another cannot stop
    targets = [target for target in kind.targets if target != beside or not kind.takes_away]
    return Fault(kind.name, chance.choice(targets), after, round(seconds, 1))
