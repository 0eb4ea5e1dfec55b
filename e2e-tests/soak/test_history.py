"""Each way in which a history is bad is seen and named, and a good one is not."""

import pytest

from soak import models
from soak.history import Checker, Happened, Spell, Verdict

KILLED = Spell((Happened("kill a worker", "worker1", 100, 101),), 100, 105)
GATEWAY_KILLED = Spell((Happened("kill a gateway", "gateway1", 100, 101),), 100, 105)
RELOADED = Spell((Happened("reloads", "repository", 100, 103),), 100, 103)
NUMBER = 70_000
MODEL = models.scale(100)


def verdict(*lines: str, spells: tuple[Spell, ...] = (), generations: int = 0) -> Verdict:
    checker = Checker(list(spells), lambda at: generations)
    checker.read(lines)
    return checker.verdict


def began(name: str = "unary-1-1", at: float = 10, model: str = MODEL, number: int = NUMBER, more: str = "") -> str:
    return f"began {name} {at} 5.0 gateway0 {model} {number}{more}\n"


def ended(name: str = "unary-1-1", at: float = 10.5, outcome: str = "") -> str:
    return f"ended {name} {at} {outcome or 'OK ' + scaled(101)}\n"


def scaled(by: int, number: int = NUMBER) -> str:
    return ",".join(str(by * digit) for digit in models.digits(number))


def step(count: int, at: float, value: int, number: int, total: str, sequence: int = 9) -> tuple[str, str]:
    """A request of a sequence and its answer."""
    name = f"sums-1-{count}"
    return began(name, at, "sums", value, f" {sequence} {number}"), ended(name, at + 0.1, f"OK {total}")


def test_should_find_nothing_in_a_good_history() -> None:
    seen = verdict(
        began(),
        began("unary-2-1"),
        ended("unary-2-1"),
        ended(),
        *step(1, 20, 5, 0, "5,9,1"),
        *step(2, 21, 7, 1, "12,9,0"),
        began("shared-1-1", model="simple"),
        ended("shared-1-1", outcome="OK " + ",".join(str(digit + 3) for digit in models.digits(NUMBER))),
        began("parts-1-1", model="parts"),
        ended("parts-1-1", outcome="OK " + scaled(1)),
        began("cancels-1-1"),
        ended("cancels-1-1", outcome="CANCELLED by the client"),
    )
    assert seen.violations == []
    assert seen.outcomes.total() == 7


@pytest.mark.parametrize(
    ("lines", "named"),
    [
        ((began(),), "never ended"),
        ((began(), ended(), ended()), "unary-1-1 ended twice"),
        ((ended(),), "unary-1-1 ended and never began"),
        ((began(), ended(), began(), ended()), "unary-1-1 began twice"),
        ((began(), ended(at=17.1)), "later than its deadline"),
        ((began(), ended(outcome="OK " + scaled(101, NUMBER + 1))), "another's answer"),
        ((began(), ended(outcome="OK")), "another's answer"),
        ((began(), ended(outcome="OK " + scaled(102))), "an answer of another model, whose factor is 102"),
        ((began(), ended(outcome="OK " + scaled(1101))), "an answer of another model"),
        ((began(), ended(outcome="UNAVAILABLE it is gone")), "failed in a quiet spell"),
        ((began(), ended(outcome="CANCELLED")), "failed in a quiet spell"),
        (step(1, 20, 5, 0, "6,9,1"), "a sum that should be 5"),
        ((*step(1, 20, 5, 0, "5,9,1"), *step(2, 21, 7, 1, "7,9,0")), "a sum that should be 12"),
        ((*step(1, 20, 5, 0, "5,9,1"), *step(2, 21, 7, 1, "7,9,1")), "a sequence that began anew without a word"),
        (step(1, 20, 5, 0, "5,8,1"), "an answer of another sequence"),
        (step(1, 20, 5, 0, "5"), "an answer without its numbers"),
        ((began("shared-1-1", model="simple"), ended("shared-1-1", outcome="OK 3,3,3,4")), "another's answer"),
        ((began("parts-1-1", model="parts"), ended("parts-1-1", outcome="OK 112,17,1")), "an answer of other parts"),
    ],
)
def test_should_name_what_is_wrong(lines: tuple[str, ...], named: str) -> None:
    seen = verdict(*lines)
    assert seen.count >= 1
    assert all(named in violation for violation in seen.violations), seen.violations


@pytest.mark.parametrize(
    ("spell", "name", "outcome", "excused"),
    [
        (KILLED, "unary-1-1", "UNAVAILABLE gone", False),
        (KILLED, "stream-1-1", "UNAVAILABLE gone", True),
        (KILLED, "stream-1-1", "INTERNAL gone", False),
        (KILLED, "shared-1-1", "LOST_REGION gone", True),
        (KILLED, "unary-1-1", "LOST_REGION gone", False),
        (KILLED, "unary-1-1", "DEADLINE_EXCEEDED gone", False),
        (GATEWAY_KILLED, "unary-1-1", "UNAVAILABLE gone", False),
        (RELOADED, "stream-1-1", "UNAVAILABLE gone", False),
    ],
)
def test_should_excuse_what_a_fault_may_cost_and_nothing_else(
    spell: Spell, name: str, outcome: str, excused: bool
) -> None:
    seen = verdict(began(name, 100.5), ended(name, 101.5, outcome), spells=(spell,))
    assert seen.violations == [] if excused else "no fault excuses it" in seen.violations[0]
    tally = seen.tallies[spell.faults[0].kind]
    assert (tally.injected, tally.violations) == (1, 0 if excused else 1)
    assert tally.recovery == pytest.approx(0.5 if excused else 0)


def test_should_excuse_by_a_gateway_those_alone_who_ask_it() -> None:
    lines = (began(at=101).replace("gateway0", "gateway1"), ended(at=102, outcome="UNAVAILABLE gone"))
    assert verdict(*lines, spells=(GATEWAY_KILLED,)).violations == []


def test_should_excuse_everybody_when_no_worker_is_left_and_else_not() -> None:
    hung = Happened("hung device", "worker0", 100, 104)
    lines = (began(at=102), ended(at=103, outcome="UNAVAILABLE no worker is ready"))
    assert verdict(*lines, spells=(Spell((hung, *KILLED.faults), 100, 130),)).violations == []
    assert verdict(*lines, spells=(Spell((hung,), 100, 130),)).count == 1
    assert verdict(*lines, spells=(KILLED,)).count == 1


def test_should_excuse_a_region_that_a_gateway_took_back_late_whoever_asks() -> None:
    lines = (began("shared-1-1", at=102), ended("shared-1-1", at=103, outcome="LOST_REGION not found"))
    assert verdict(*lines, spells=(GATEWAY_KILLED,)).violations == []
    assert verdict(*lines, spells=(RELOADED,)).count == 1


def test_should_excuse_a_region_while_another_request_may_still_register_it() -> None:
    def missed(at: float) -> int:
        lines = (began("shared-1-1", at=at), ended("shared-1-1", at=at + 0.1, outcome="LOST_REGION not found"))
        return verdict(*lines, spells=(KILLED,)).count

    assert missed(KILLED.settled + 4) == 0
    assert missed(KILLED.settled + 6) == 1


def test_should_excuse_nothing_when_the_node_has_been_whole_for_a_while() -> None:
    seen = verdict(began("stream-1-1", 107), ended("stream-1-1", 108, "UNAVAILABLE gone"), spells=(KILLED,))
    assert "failed in a quiet spell" in seen.violations[0]


def test_should_excuse_what_makes_garbage_alone() -> None:
    spell = Spell((Happened("garbage", "gateway0", 100, 103),), 100, 103)
    full = ended(at=102, outcome="RESOURCE_EXHAUSTED the heap")
    assert verdict(began(at=101, model=models.WASTER), full, spells=(spell,)).violations == []
    assert verdict(began(at=101), full, spells=(spell,)).count == 1


def test_should_name_a_node_that_does_not_become_whole() -> None:
    spell = Spell((Happened("hung device", "worker0", 100, 101),), 100, 240)
    seen = verdict(spells=(spell,))
    assert "not whole within 120 s: hung device (worker0)" in seen.violations[0]
    assert seen.tallies["hung device"].whole == 139


def test_should_take_the_factors_of_before_and_now_when_models_are_loaded_again() -> None:
    index = models.RELOADED - 1
    for generation, allowed in ((0, True), (3, True), (4, False)):
        by = models.factor(index, generation)
        lines = (began(model=models.scale(index)), ended(outcome="OK " + scaled(by)))
        assert (verdict(*lines, generations=3).count == 0) is allowed


def test_should_show_some_violations_and_count_all() -> None:
    lines = [line for i in range(100) for line in (began(f"unary-1-{i}"), ended(f"unary-1-{i}", outcome="UNKNOWN x"))]
    seen = verdict(*lines)
    assert (seen.count, len(seen.violations)) == (100, 40)
