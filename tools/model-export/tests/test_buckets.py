"""The buckets with the least padding are those that trying all of them finds."""

import itertools
import json
import random
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from roundhouse_export.buckets import Buckets, best_buckets, read_lengths
from roundhouse_export.command import main
from roundhouse_export.refusal import RefusedError


def positions(requests: Mapping[int, int], lengths: tuple[int, ...]) -> int:
    return sum(
        count * next(bucket for bucket in lengths if bucket >= length)
        for length, count in requests.items()
    )


def least_by_trying(requests: Mapping[int, int], count: int) -> int:
    """Of all choices, those of lengths that no request has included."""
    longest = max(requests)
    choices = itertools.combinations(range(1, longest), count - 1)
    return min(positions(requests, (*each, longest)) for each in choices)


@pytest.mark.parametrize("seed", range(30))
def test_should_pad_as_little_as_any_choice_of_buckets(seed: int) -> None:
    chance = random.Random(seed)
    requests = {
        length: chance.choice((1, 2, chance.randint(1, 1000)))
        for length in chance.sample(range(1, 15), chance.randint(1, 9))
    }
    found = best_buckets(requests, 5)
    assert len(found) == min(5, len(requests))
    own = sum(length * count for length, count in requests.items())
    for count, each in enumerate(found, 1):
        assert len(each.lengths) == count
        assert list(each.lengths) == sorted(set(each.lengths))
        assert each.positions == positions(requests, each.lengths)
        assert each.padding == each.positions - own
        assert each.positions == least_by_trying(requests, count), each


def test_should_pad_nothing_with_a_bucket_for_each_length() -> None:
    *_, last = best_buckets({3: 5, 9: 1, 200: 7}, 12)
    assert last == Buckets((3, 9, 200), 3 * 5 + 9 + 200 * 7, 0)


def test_should_count_exactly_when_there_are_very_many() -> None:
    (one,) = best_buckets({1: 1, 1 << 16: (1 << 40) - 1}, 1)
    assert one.padding == (1 << 16) - 1
    assert one.positions == 1 << 56


def test_should_weigh_padding_against_programs() -> None:
    half = Buckets((4, 8), positions=1200, padding=200)
    assert half.cost(batch_sizes=2, price=0.01) == pytest.approx(0.2 + 4 * 0.01)
    assert half.padded_part == pytest.approx(200 / 1200)


def test_should_read_lengths_and_histograms(tmp_path: Path) -> None:
    file = tmp_path / "lengths"
    file.write_text("5\n\n7 3\n 5 \n7\t2\n9 0\n")
    assert read_lengths(file) == {5: 2, 7: 5}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("5\nx\n", "lengths:2: 'x' is not a length"),
        ("5 1 2\n", "lengths:1: '5 1 2' is not a length"),
        ("-5\n", "lengths:1: '-5' is not a length"),
        ("0\n", "lengths:1: length 0; lengths are 1 to 65536"),
        ("65537\n", "lengths:1: length 65537; lengths are 1 to 65536"),
        ("\n", "lengths: has 0 requests"),
        ("5 0\n", "lengths: has 0 requests"),
        (f"5 {1 << 41}\n", f"it must have 1 to {1 << 40}"),
    ],
)
def test_should_say_which_line_is_wrong(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "lengths").write_text(text)
    with pytest.raises(RefusedError, match=re.escape(message)):
        read_lengths(tmp_path / "lengths")


@pytest.fixture
def lengths(tmp_path: Path) -> Path:
    file = tmp_path / "lengths"
    file.write_text("10 900\n20 90\n100 10\n")
    return file


def test_should_print_a_table_and_what_to_pass_on(
    lengths: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tune", "--lengths", str(lengths)]) == 0
    told = capsys.readouterr().out
    assert "1000 requests of 10 to 100 positions" in told
    assert re.search(r"^ +1 +88\.2 +2 +749\.5 +100$", told, re.MULTILINE)
    assert re.search(r"^ +3 +0\.0 +6 +6\.0 +best +10,20,100$", told, re.MULTILINE)
    assert "--axis AXIS=10,20,100 --pad INPUT=VALUE --trim OUTPUT" in told


def test_should_choose_fewer_programs_when_each_costs_more(
    lengths: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["tune", "--lengths", str(lengths), "--price", "30", "--json"]
    assert main([*arguments, "--batch-sizes", "1,2,4"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["options"] == "--axis AXIS=10,100"
    assert [(each["programs"], each["best"]) for each in told["buckets"]] == [
        (3, False),
        (6, True),
        (9, False),
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "tune takes SOURCE and --out DIR, or --lengths FILE"),
        (["model.onnx"], "tune takes SOURCE and --out DIR, or --lengths FILE"),
        (["model.onnx", "--lengths", "LENGTHS"], "leave SOURCE and --out out"),
        (["--out", "models", "--lengths", "LENGTHS"], "leave SOURCE and --out out"),
        (["--lengths", "nothing-here"], "nothing-here: cannot be read"),
    ],
)
def test_should_refuse_what_is_neither_of_the_two(
    arguments: list[str], message: str, lengths: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [str(lengths) if each == "LENGTHS" else each for each in arguments]
    assert main(["tune", *given]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--buckets=0", "--buckets=65", "--price=-1", "--price=x"])
def test_should_refuse_numbers_beyond_what_is_meant(option: str, lengths: Path) -> None:
    with pytest.raises(SystemExit) as end:
        main(["tune", "--lengths", str(lengths), option])
    assert end.value.code == 2
