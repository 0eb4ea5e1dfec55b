"""What is typed becomes what is meant, or one line that says how it is written."""

import argparse
import re

import pytest

from roundhouse_export.command import main, options
from roundhouse_export.contract import TensorSpec


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("x=f32[n,3,224,224]", TensorSpec("x", "f32", ("n", 3, 224, 224))),
        ("ids=i64[n, s]", TensorSpec("ids", "i64", ("n", "s"))),
        ("a:0=u8[4]", TensorSpec("a:0", "u8", (4,))),
        ("scalar=bf16[]", TensorSpec("scalar", "bf16", ())),
    ],
)
def test_should_read_an_input(text: str, wanted: TensorSpec) -> None:
    assert options.tensor(text) == wanted


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x", "'x' is not of the form x=f32[n,3,224,224]"),
        ("x=f33[n]", "dtype 'f33' is unknown"),
        ("x=f32[3,n]", "the batch axis n may appear once, and first"),
        ("x=f32[n,-1]", "extents are 0 or more"),
        ("x=f32[n,seq]", "must be one letter a to z"),
    ],
)
def test_should_say_how_an_input_is_written(text: str, told: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=re.escape(told)):
        options.tensor(text)


def test_should_read_axes_and_batch_sizes() -> None:
    assert options.axis("sequence=128,16") == ("sequence", (16, 128))
    assert options.batch_sizes("8,1,1") == (1, 8)


@pytest.mark.parametrize("text", ["", "1,", "0", "70000", "one"])
def test_should_refuse_a_number_of_rows(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        options.batch_sizes(text)


def test_should_end_with_2_and_one_line_when_nothing_can_be_made_of_a_source(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["nothing.xyz", "--out", "models"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("roundhouse-export: 'nothing.xyz' is none of: ")
    assert told.count("\n") == 1


@pytest.mark.parametrize(
    "command",
    ["export", "repository", "convert", "validate", "inspect", "tune", "bench", "new"],
)
def test_should_help_with_each_command(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main([command, "--help"])
    assert end.value.code == 0
    assert f"roundhouse-export {command}" in capsys.readouterr().out
