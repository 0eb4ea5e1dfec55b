"""Padded requests are answered as they are without padding, or the model is refused."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import yaml
from onnx import TensorProto, helper
from triton_models import tensor, write_model, write_onnx

from roundhouse_export import padded_requests, validation
from roundhouse_export.command import main
from roundhouse_export.contract import Contract, ProgramKey, TensorSpec
from roundhouse_export.model import ImportOptions, Model
from roundhouse_export.padding_notes import padding_notes
from roundhouse_export.pipeline import export_model
from roundhouse_export.refusal import RefusedError
from roundhouse_export.repository import convert_repository
from roundhouse_export.sources.onnx import load
from roundhouse_export.stored import StoredBundle
from roundhouse_export.timing import time_bundle

WEIGHTS = {"table": np.random.default_rng(3).standard_normal((50, 4)).astype(np.float32)}
CONTRACT = Contract(
    (TensorSpec("ids", "i32", ("n", "s")), TensorSpec("seen", "i32", ("n", "s"))),
    (TensorSpec("hidden", "f32", ("n", "s", 4)), TensorSpec("pooled", "f32", ("n", 4))),
    (2,),
    ({"s": 4}, {"s": 9}),
    {"ids": 0, "seen": 0},
    ("hidden",),
)


def forward(inputs: Mapping[str, Any], weights: Mapping[str, Any]) -> dict[str, Any]:
    words = weights["table"][inputs["ids"]]
    kept = (inputs["seen"] > 0)[..., None].astype("float32")
    scores = words @ words.swapaxes(1, 2) - 1e9 * (1 - kept.swapaxes(1, 2))
    hidden = jax.nn.softmax(scores) @ words
    return {"hidden": hidden, "pooled": (hidden * kept).sum(1) / kept.sum(1)}


def looking(inputs: Mapping[str, Any], weights: Mapping[str, Any]) -> dict[str, Any]:
    return {**forward(inputs, weights), "pooled": forward(inputs, weights)["hidden"].mean(1)}


def reference(made: Any = forward) -> Any:
    def answer(inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        given = {name: jnp.asarray(array) for name, array in inputs.items()}
        return {name: np.asarray(array) for name, array in made(given, WEIGHTS).items()}

    return answer


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "masked"
    export_model(Model("masked", CONTRACT, forward, WEIGHTS, "none"), folder)
    return folder


def test_should_be_asked_for_the_shortest_and_a_middle_request_of_each_program() -> None:
    def sizes(contract: Contract) -> list[list[dict[str, int]]]:
        return [padded_requests.shorter_sizes(contract, key) for key in contract.programs()]

    assert sizes(CONTRACT) == [[{"s": 1}, {"s": 2}], [{"s": 5}, {"s": 7}]]
    specs = (TensorSpec("x", "f32", ("s", "t")), TensorSpec("z", "f32", ("u",)))
    variants = ({"s": 1, "t": 2, "u": 3}, {"s": 1, "t": 4, "u": 3}, {"s": 1, "t": 4, "u": 9})
    grid = Contract(specs, (), (), variants, {"x": 0})
    assert sizes(grid) == [
        [{"s": 1, "t": 1, "u": 3}],
        [{"s": 1, "t": 3, "u": 3}],
        [{"s": 1, "t": 1, "u": 9}, {"s": 1, "t": 2, "u": 9}],
    ]
    assert sizes(Contract(specs, (), (), variants)) == [[], [], []]


def test_should_pad_at_the_end_and_cut_back() -> None:
    key = ProgramKey(1, 2)
    ids = np.arange(1, 11, dtype=np.int32).reshape(2, 5)
    whole = padded_requests.padded(CONTRACT, key, {"ids": ids, "seen": np.ones_like(ids)})
    np.testing.assert_array_equal(whole["ids"], np.pad(ids, ((0, 0), (0, 4))))
    assert whole["seen"].dtype == np.int32
    hidden = np.arange(72, dtype=np.float32).reshape(2, 9, 4)
    cut = padded_requests.cut_back(CONTRACT, CONTRACT.outputs[0], hidden, {"s": 5})
    np.testing.assert_array_equal(cut, hidden[:, :5])


def test_should_let_every_position_count_in_a_request() -> None:
    specs = (
        TensorSpec("ids", "i32", ("n", "s")),
        TensorSpec("kind", "i64", ("n", "s")),
        TensorSpec("key_mask", "f32", ("n", "s")),
        TensorSpec("ignored_mask", "i32", ("n", "s")),
        TensorSpec("on", "bool", ("n", "s")),
        TensorSpec("x", "bf16", ("n", "s")),
    )
    pad = {"ids": 3, "kind": 0, "key_mask": 0, "ignored_mask": 1, "on": 0, "x": 0}
    contract = Contract(specs, (), (64,), ({"s": 8},), pad)
    (_, first), (_, second) = padded_requests.requests(contract, ProgramKey(0, 64), {"ids": 5}, 1)
    assert first["ids"].shape == (64, 1)
    assert set(second["ids"].ravel().tolist()) == {0, 1, 2, 4}
    assert set(first["kind"].ravel().tolist()) == {1}
    assert set(second["kind"].ravel().tolist()) == set(range(1, 10))
    for given in (first, second):
        assert given["key_mask"].all()
        assert not given["ignored_mask"].any()
        assert given["on"].all()
        assert len(set(given["x"].ravel().tolist())) > 10


def test_should_find_padded_requests_near_when_the_model_has_a_mask(bundle: Path) -> None:
    findings = validation.against_reference(bundle, reference())
    asked = {(each.program, each.inputs) for each in findings if each.is_of_padded}
    assert asked == {
        ("model.v0.b2.mlir", "padded s=1"),
        ("model.v0.b2.mlir", "padded s=2"),
        ("model.v1.b2.mlir", "padded s=5"),
        ("model.v1.b2.mlir", "padded s=7"),
    }
    assert all(each.is_near for each in findings)
    assert validation.padding_refusal(findings) == ""


def test_should_accept_a_server_that_cuts_back_what_is_trimmed_alone(tmp_path: Path) -> None:
    given = []

    def served(inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        given.append(inputs["ids"].shape)
        length = inputs["ids"].shape[1]
        whole = {n: np.pad(a, ((0, 0), (0, 9 - length))) for n, a in inputs.items()}
        answer = reference()(whole)
        return {**answer, "hidden": answer["hidden"][:, :length]}

    outputs = (*CONTRACT.outputs, TensorSpec("again", "f32", ("n", "s", 4)))
    contract = Contract(CONTRACT.inputs, outputs, (2,), ({"s": 9},), CONTRACT.pad, ("hidden",))

    def twice(inputs: Mapping[str, Any], weights: Mapping[str, Any]) -> dict[str, Any]:
        made = forward(inputs, weights)
        return {**made, "again": made["hidden"]}

    def answers(inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        whole = {n: np.pad(a, ((0, 0), (0, 9 - a.shape[1]))) for n, a in inputs.items()}
        return {**served(inputs), "again": reference()(whole)["hidden"]}

    folder = tmp_path / "twice"
    export_model(Model("twice", contract, twice, WEIGHTS, "none"), folder)
    assert all(each.is_near for each in validation.against_reference(folder, answers))
    assert (2, 1) in given
    assert (2, 5) in given

    def not_cut(inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        answer = answers(inputs)
        return {**answer, "hidden": answer["again"]}

    off = [e for e in validation.against_reference(folder, not_cut) if e.is_wrong]
    assert {each.output for each in off} == {"hidden"}
    assert "shape [2, 1, 4], wanted [2, 9, 4]" in {each.problem for each in off}


def test_should_name_the_output_that_looks_at_padding(tmp_path: Path) -> None:
    folder = tmp_path / "looking"
    export_model(Model("looking", CONTRACT, looking, WEIGHTS, "none"), folder)
    findings = validation.against_reference(folder, reference(looking))
    off = [each for each in findings if not each.is_near]
    assert {(each.output, each.is_of_padded, each.is_wrong) for each in off} == {
        ("pooled", True, True)
    }
    told = validation.padding_refusal(findings)
    largest = max(each.largest_difference for each in off)
    assert "output 'pooled' of model.v" in told
    assert "looks at padding: for a request of s=" in told
    assert f"it is off by up to {largest:.3g} (at [" in told


def test_should_not_blame_padding_for_what_is_wrong_without_it(bundle: Path) -> None:
    def wrong(inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        answer = reference()(inputs)
        return {**answer, "pooled": answer["pooled"] + 1}

    findings = validation.against_reference(bundle, wrong)
    assert any(each.is_wrong and each.is_of_padded for each in findings)
    assert validation.padding_refusal(findings) == ""


def no_shorter_than(least: int) -> Any:
    def answer(inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        if inputs["ids"].shape[1] < least:
            raise TypeError("too short\nfor the kernel")
        return reference()(inputs)

    return answer


def test_should_pass_over_what_is_too_short_for_the_framework(bundle: Path) -> None:
    findings = validation.against_reference(bundle, no_shorter_than(2))
    asked = {each.inputs for each in findings if each.is_of_padded}
    assert asked == {"padded s=2", "padded s=5", "padded s=7"}


def test_should_refuse_when_the_framework_takes_nothing_shorter(bundle: Path) -> None:
    with pytest.raises(RefusedError, match=r"a request of s=2, .*: too short$"):
        validation.against_reference(bundle, no_shorter_than(3))


def test_should_time_a_padded_request_beside_one_as_it_is(bundle: Path) -> None:
    given = []

    def beside(inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        given.append(inputs["ids"].shape)
        return {}

    cells = time_bundle(bundle, beside, rounds=1)
    assert [(each.program, each.padded) for each in cells] == [
        ("model.v0.b2.mlir", ""),
        ("model.v0.b2.mlir", "s=2"),
        ("model.v1.b2.mlir", ""),
        ("model.v1.b2.mlir", "s=7"),
    ]
    assert set(given) == {(2, 4), (2, 2), (2, 9), (2, 7)}


def test_should_show_what_is_padded(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(bundle), "--no-compile"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert "input   ids     i32    [n,s]    padded with 0" in told
    assert "output  hidden  f32    [n,s,4]  cut back" in told
    assert "output  pooled  f32    [n,4]" in told
    assert "variants: s=4; s=9" in told
    assert main(["inspect", str(bundle), "--no-compile", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["pad"], found["trim"]) == ({"ids": 0, "seen": 0}, ["hidden"])


def transformer(path: Path, masks: bool = True, sequence: int | str = "sequence") -> Path:
    """One layer that attends to what the mask leaves, or to everything."""
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["e"]),
        helper.make_node("Transpose", ["e"], ["t"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["e", "t"], ["scores"]),
        helper.make_node("Cast", ["attention_mask"], ["m"], to=TensorProto.FLOAT),
        helper.make_node("Sub", ["m", "one"], ["out"]),
        helper.make_node("Mul", ["out", "huge" if masks else "none"], ["bias"]),
        helper.make_node("Unsqueeze", ["bias", "axis"], ["wide"]),
        helper.make_node("Add", ["scores", "wide"], ["sum"]),
        helper.make_node("Softmax", ["sum"], ["shares"], axis=-1),
        helper.make_node("MatMul", ["shares", "e"], ["last_hidden_state"]),
    ]
    weights = {
        "table": WEIGHTS["table"],
        "one": np.array(1, np.float32),
        "huge": np.array(1e9, np.float32),
        "none": np.array(0, np.float32),
        "axis": np.array([1]),
    }
    dims = ("batch", sequence)
    inputs = [tensor(n, dims, TensorProto.INT32) for n in ("input_ids", "attention_mask")]
    return write_onnx(path, nodes, inputs, [tensor("last_hidden_state", (*dims, 4))], weights)


AXIS = ["--batch-sizes", "1", "--axis", "sequence=4,8"]
PADDED = ["--pad", "input_ids=0", "--pad", "attention_mask=0", "--trim", "last_hidden_state"]


def test_should_import_a_model_that_takes_any_length(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = transformer(tmp_path / "text.onnx"), tmp_path / "models"
    assert main([str(file), "--out", str(out), *AXIS, *PADDED]) == 0
    manifest = yaml.safe_load((out / "text" / "manifest.yaml").read_text())
    assert manifest["pad"] == {"input_ids": 0, "attention_mask": 0}
    assert manifest["trim"] == ["last_hidden_state"]
    assert "note:" not in capsys.readouterr().err
    against = ["--against", str(file), *AXIS]
    assert main(["validate", str(out / "text"), *against, "--json"]) == 0
    kinds = {each["inputs"] for each in json.loads(capsys.readouterr().out)}
    assert {"padded s=1", "padded s=5"} <= kinds


def test_should_refuse_to_import_a_model_that_looks_at_padding_and_keep_what_was_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "models"
    assert main([str(transformer(tmp_path / "text.onnx")), "--out", str(out), *AXIS, *PADDED]) == 0
    before = (out / "text" / "manifest.yaml").read_bytes()
    capsys.readouterr()
    file = transformer(tmp_path / "text.onnx", masks=False)
    assert main([str(file), "--out", str(out), *AXIS, *PADDED]) == 2
    told = capsys.readouterr().err
    assert f"{file}: output 'last_hidden_state' of model.v" in told
    assert "looks at padding: for a request of s=" in told
    assert [each.name for each in out.iterdir()] == ["text"]
    assert (out / "text" / "manifest.yaml").read_bytes() == before


def test_should_say_what_to_add_when_lengths_are_given_and_no_padding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = transformer(tmp_path / "text.onnx"), tmp_path / "models"
    assert main([str(file), "--out", str(out), *AXIS, "--no-check"]) == 0
    told = capsys.readouterr().err
    assert "note: requests have s=4 or s=8 and nothing between" in told
    assert f"add {' '.join(PADDED)}" in told


def test_should_note_an_output_that_is_left_whole_and_nothing_of_other_models() -> None:
    (note,) = padding_notes(replace(CONTRACT, trim=()))
    assert "output 'hidden' has a padded axis and is not cut back" in note
    assert "add --trim hidden" in note
    assert padding_notes(CONTRACT) == ()
    unpadded = replace(CONTRACT, pad={}, trim=())
    assert padding_notes(unpadded) == ()  # nobody knows which of its inputs is a mask


def test_should_pad_everything_to_one_length_when_there_is_one(tmp_path: Path) -> None:
    options = ImportOptions(
        batch_sizes=(1,),
        axes={"sequence": (8,)},
        pad={"input_ids": 0, "attention_mask": 0},
        trim=("last_hidden_state",),
    )
    model = load(str(transformer(tmp_path / "text.onnx")), options)
    assert model.contract.variants == ({"s": 8},)
    assert model.contract.outputs[0].shape == ("n", "s", 4)
    export_model(model, tmp_path / "text")
    assert StoredBundle(tmp_path / "text").contract.pad == options.pad


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pad": {"input_ids": 0}}, r"text\.onnx: pad leaves out input 'attention_mask'"),
        ({"pad": {"ids": 0}}, r"text\.onnx: pad\.ids is not an input"),
        ({"pad": {}}, r"text\.onnx: trim is there, but nothing is padded"),
        ({"trim": ("pooled",)}, r"text\.onnx: trim names 'pooled'"),
    ],
)
def test_should_refuse_padding_that_the_contract_cannot_have(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    options: dict[str, Any] = {
        "axes": {"sequence": (4, 8)},
        "pad": {"input_ids": 0, "attention_mask": 0},
        "trim": ("last_hidden_state",),
        **changes,
    }
    with pytest.raises(RefusedError, match=message):
        load(str(transformer(tmp_path / "text.onnx")), ImportOptions(**options))


CONFIG = """\
backend: "onnxruntime"
max_batch_size: 1
input { name: "input_ids" data_type: TYPE_INT32 dims: [ -1 ] }
input { name: "attention_mask" data_type: TYPE_INT32 dims: [ -1 ] }
output { name: "last_hidden_state" data_type: TYPE_FP32 dims: [ -1, 4 ] }
"""


def test_should_pad_models_of_a_repository_and_refuse_the_one_that_looks(tmp_path: Path) -> None:
    models, out = tmp_path / "models", tmp_path / "out"
    transformer(models / "plain.onnx")
    transformer(models / "looking.onnx", masks=False)
    transformer(models / "fixed.onnx", sequence=4)
    write_model(models / "other", None)
    transformer(models / "text" / "1" / "model.onnx")
    (models / "text" / "config.pbtxt").write_text(CONFIG)
    options = ImportOptions(
        batch_sizes=(1,),
        axes={"sequence": (4, 8)},
        pad={"input_ids": 0, "attention_mask": 0, "text/attention_mask": 0},
        trim=("last_hidden_state", "text/last_hidden_state"),
    )
    rows = {row.model: row for row in convert_repository(models, out, options, lambda _: None)}
    assert {name: row.status.value for name, row in rows.items()} == {
        "fixed": "converted",
        "looking": "refused",
        "other": "converted",
        "plain": "converted",
        "text": "converted",
    }
    assert "looking.onnx: output 'last_hidden_state' of model.v" in rows["looking"].reason
    for folder in (out / "plain", out / "text" / "1"):
        contract = StoredBundle(folder).contract
        assert contract.pad == {"input_ids": 0, "attention_mask": 0}
        assert contract.trim == ("last_hidden_state",)
    for folder in (out / "fixed", out / "other" / "1"):
        assert StoredBundle(folder).contract.pad == {}
