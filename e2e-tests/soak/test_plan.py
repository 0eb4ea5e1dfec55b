"""A plan is made of its seed alone, and has what it should."""

import json

import pytest

from soak.plan import KIND_BY_NAME, KINDS, Plan, plan

HOUR = 3600


@pytest.fixture(scope="module")
def of_an_hour() -> Plan:
    return plan(7, HOUR)


def test_should_be_the_same_when_the_seed_is(of_an_hour: Plan) -> None:
    assert plan(7, HOUR) == of_an_hour
    assert plan(7, HOUR).to_json() == of_an_hour.to_json()
    assert plan(8, HOUR).episodes != of_an_hour.episodes


def test_should_be_the_beginning_of_a_longer_one(of_an_hour: Plan) -> None:
    short = plan(7, HOUR / 4).episodes
    assert len(short) > 10
    assert of_an_hour.episodes[: len(short)] == short


def test_should_have_every_kind_equally_often(of_an_hour: Plan) -> None:
    counts = {kind.name: 0 for kind in KINDS}
    for episode in of_an_hour.episodes:
        for fault in episode.faults:
            counts[fault.kind] += 1
    assert min(counts.values()) > 5
    assert max(counts.values()) - min(counts.values()) <= 1


def test_should_have_two_faults_at_once_at_most_and_a_quiet_spell_behind_them(of_an_hour: Plan) -> None:
    assert {len(episode.faults) for episode in of_an_hour.episodes} == {1, 2}
    assert min(episode.quiet for episode in of_an_hour.episodes) >= 3
    for episode in of_an_hour.episodes:
        taken_away = [fault.target for fault in episode.faults if KIND_BY_NAME[fault.kind].takes_away]
        assert len(set(taken_away)) == len(taken_away)
    stops = [f.seconds for e in of_an_hour.episodes for f in e.faults if f.kind.startswith("stop ")]
    assert min(stops) < 2
    assert max(stops) > 10
    assert all(0.5 <= seconds <= 20 for seconds in stops)


def test_should_fill_its_time_without_going_beyond_it(of_an_hour: Plan) -> None:
    planned = sum(episode.seconds for episode in of_an_hour.episodes)
    assert HOUR - 80 < planned <= HOUR
    assert len(plan(7, 1).episodes) == 1, "a short one has a fault all the same"


def test_should_be_written_down_whole(of_an_hour: Plan) -> None:
    written = json.loads(of_an_hour.to_json())
    assert written["seed"] == 7
    assert len(written["episodes"]) == len(of_an_hour.episodes) == len(list(of_an_hour.lines())) - 1
