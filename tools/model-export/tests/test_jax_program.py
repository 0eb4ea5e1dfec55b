import numpy as np
import pytest

from roundhouse_export.contract import Contract, ProgramKey, TensorSpec
from roundhouse_export.jax_program import Arrays, Encoding, export_programs, run_forward
from roundhouse_export.program_runner import run_program

CONTRACT = Contract(
    inputs=(TensorSpec("x", "f32", ("n", 3)), TensorSpec("unread", "i32", ("n", 1))),
    outputs=(TensorSpec("y", "f32", ("n", 2)),),
    batch_sizes=(1, 4),
)
WEIGHTS = {
    "z_first": np.arange(6, dtype=np.float32).reshape(3, 2),
    "spare": np.zeros(9, np.int8),
    "a_last": np.array([10, 20], np.float32),
}


def forward(inputs: Arrays, weights: Arrays) -> Arrays:
    return {"y": inputs["x"] @ weights["z_first"] + weights["a_last"]}


def program(encoding: Encoding, batch: int = 1) -> bytes:
    return export_programs("net", forward, CONTRACT, WEIGHTS, encoding)[ProgramKey(None, batch)]


def test_should_take_every_argument_in_order_when_some_are_unused() -> None:
    text = program(Encoding.TEXT, batch=4).decode()
    signature = next(line for line in text.splitlines() if "@main" in line)
    types = [part.split(">")[0] for part in signature.split("tensor<")[1:]]
    assert types == ["4x3xf32", "4x1xi32", "3x2xf32", "9xi8", "2xf32", "4x2xf32"]


def test_should_name_no_source_file_when_exported() -> None:
    text = program(Encoding.TEXT)
    assert b"loc(" not in text
    assert b".py" not in text
    assert b".py" not in program(Encoding.ARTIFACT)


def test_should_target_the_oldest_reader_when_written_as_artifact() -> None:
    assert program(Encoding.ARTIFACT).startswith(b"ML\xefR\x0dStableHLO_v1.13.0\x00")


@pytest.mark.parametrize("encoding", list(Encoding))
def test_should_compute_the_same_when_run_from_the_file(encoding: Encoding) -> None:
    inputs = {"x": np.ones((4, 3), np.float32), "unread": np.zeros((4, 1), np.int32)}
    (result,) = run_program(program(encoding, 4), [*inputs.values(), *WEIGHTS.values()])
    np.testing.assert_array_equal(result, np.tile([[16, 29]], (4, 1)))
    wanted = run_forward(forward, CONTRACT, inputs, WEIGHTS)["y"]
    np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize("encoding", list(Encoding))
def test_should_return_the_same_bytes_when_exported_twice(encoding: Encoding) -> None:
    assert program(encoding) == program(encoding)


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (TensorSpec("y", "f32", ("n", 5)), r"output 'y' is float32\[1, 2\].* says float32\[1, 5\]"),
        (TensorSpec("y", "f16", ("n", 2)), r"output 'y' is float32\[1, 2\].* says float16\[1, 2\]"),
    ],
)
def test_should_name_the_output_when_it_breaks_the_contract(
    output: TensorSpec, message: str
) -> None:
    contract = Contract(inputs=CONTRACT.inputs, outputs=(output,), batch_sizes=(1,))
    with pytest.raises(ValueError, match=message):
        export_programs("net", forward, contract, WEIGHTS, Encoding.TEXT)


def test_should_keep_64_bits_when_the_contract_has_them() -> None:
    contract = Contract(
        inputs=(TensorSpec("x", "i64", (1,)),), outputs=(TensorSpec("y", "i64", (1,)),)
    )
    big = np.array([2**40], np.int64)

    def double(inputs: Arrays, weights: Arrays) -> Arrays:
        return {"y": inputs["x"] * 2}

    (exported,) = export_programs("net", double, contract, {}, Encoding.ARTIFACT).values()
    assert run_program(exported, [big])[0].tolist() == [2**41]
    assert run_forward(double, contract, {"x": big}, {})["y"].tolist() == [2**41]
