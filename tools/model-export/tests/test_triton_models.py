import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from onnx import TensorProto, helper
from triton_models import (
    WEIGHT,
    load,
    load_onnx,
    refusal,
    shapes,
    tensor,
    write_model,
    write_onnx,
)

from roundhouse_export import pipeline, validation
from roundhouse_export.bundle import digest_problems
from roundhouse_export.jax_program import run_forward
from roundhouse_export.model import ImportOptions, Model, Wide

CONFIG = """\
platform: "onnxruntime_onnx"
max_batch_size: 8
input { name: "x" data_type: TYPE_FP32 dims: [ 4 ] }
output { name: "y" data_type: TYPE_FP32 dims: [ 3 ] }
"""
SUM = [helper.make_node("Add", ["a", "b"], ["c"])]


@pytest.fixture(autouse=True)
def _loader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        sys.modules, "roundhouse_export.sources.onnx", SimpleNamespace(load=load_onnx)
    )


def require_same_numbers(model: Model, rows: int | None = 3) -> None:
    """Compares with onnxruntime, by the shapes that clients see."""
    rng = np.random.default_rng(3)
    variant = model.contract.variants[0] if model.contract.variants else {}
    inputs = {
        spec.name: (10 * rng.standard_normal(spec.resolve(rows, variant))).astype("f4")
        for spec in model.contract.inputs
    }
    got = run_forward(model.forward, model.contract, inputs, model.weights)
    assert model.reference is not None
    wanted = model.reference(inputs)
    assert list(got) == list(wanted) == [spec.name for spec in model.contract.outputs]
    for spec in model.contract.outputs:
        assert got[spec.name].shape == spec.resolve(rows, variant)
        np.testing.assert_allclose(got[spec.name], wanted[spec.name], rtol=1e-5, atol=1e-5)


def test_should_take_names_and_batch_sizes_from_a_configuration(tmp_path: Path) -> None:
    model = load(write_model(tmp_path / "m", CONFIG))
    assert model.name == "m"
    assert model.contract.batch_sizes == (1, 2, 4, 8)
    assert shapes(model) == {"x": ("n", 4), "y": ("n", 3)}
    assert model.notes == ()
    require_same_numbers(model)


def test_should_keep_the_batch_sizes_that_a_person_gives(tmp_path: Path) -> None:
    model = load(write_model(tmp_path / "m", CONFIG), batch_sizes=(1, 32))
    assert model.contract.batch_sizes == (1, 32)


def test_should_read_a_model_without_a_configuration(tmp_path: Path) -> None:
    model = load(write_model(tmp_path / "m", None))
    assert model.contract.batch_sizes == ImportOptions.batch_sizes
    require_same_numbers(model)


def test_should_complete_a_configuration_that_lists_no_tensors(tmp_path: Path) -> None:
    model = load(write_model(tmp_path / "m", 'backend: "onnxruntime"'))
    assert shapes(model) == {"x": ("n", 4), "y": ("n", 3)}


def test_should_take_the_newest_version_and_say_how_others_are_served(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "m", CONFIG + "version_policy { all { } }", 1, 3)
    write_onnx(folder / "3" / "model.onnx", weights={"w": 2 * WEIGHT})
    model = load(folder)
    np.testing.assert_array_equal(model.weights["w"], 2 * WEIGHT)
    assert model.notes == (
        f"{folder}/config.pbtxt:5: the operator has the same versions served with --set "
        "roundhouse.worker.models.m.version-policy=all",
    )


def test_should_read_a_file_of_another_name_and_a_folder_of_model_and_weights(
    tmp_path: Path,
) -> None:
    folder = write_model(tmp_path / "m", CONFIG + 'default_model_filename: "net.onnx"')
    (folder / "1" / "model.onnx").rename(folder / "1" / "net.onnx")
    assert shapes(load(folder)) == {"x": ("n", 4), "y": ("n", 3)}
    (folder / "1" / "net.onnx").unlink()
    write_onnx(folder / "1" / "net.onnx" / "model.onnx")
    assert shapes(load(folder)) == {"x": ("n", 4), "y": ("n", 3)}


def test_should_serve_as_the_configuration_says(tmp_path: Path) -> None:
    more = "dynamic_batching { max_queue_delay_microseconds: 200 preferred_batch_size: 6 }"
    folder = write_model(tmp_path / "m", CONFIG + more)
    model = replace(load(folder), reference=None)
    pipeline.export_model(model, tmp_path / "out" / "m")
    manifest = yaml.safe_load((tmp_path / "out" / "m" / "manifest.yaml").read_text())
    assert manifest["serving"] == {"max_queue_delay": "200us"}
    assert manifest["batch_sizes"] == [1, 2, 4, 6, 8]


def test_should_carry_labels_into_the_bundle(tmp_path: Path) -> None:
    labelled = CONFIG.replace("dims: [ 3 ]", 'dims: [ 3 ] label_filename: "classes.txt"')
    folder = write_model(tmp_path / "m", labelled)
    (folder / "classes.txt").write_text("no\nyes\nmaybe\n")
    model = load(folder, batch_sizes=(1,))
    pipeline.export_model(model, tmp_path / "out")
    assert model.contract.outputs[0].labels == "classes.txt"
    assert (tmp_path / "out" / "classes.txt").read_text() == "no\nyes\nmaybe\n"
    assert digest_problems(tmp_path / "out") == []
    assert [
        each
        for each in validation.against_reference(tmp_path / "out", model.reference)
        if not each.is_near
    ] == []

    (folder / "classes.txt").unlink()
    assert refusal(folder) == "config.pbtxt:4: there is no file classes.txt"
    (folder / "config.pbtxt").write_text(labelled.replace("classes.txt", "../../secret"))
    assert "file '../../secret' lies outside the model's folder" in refusal(folder)


RESHAPED = """\
backend: "onnxruntime"
max_batch_size: 4
input { name: "a" dims: [ 2, 3 ] reshape { shape: [ 6 ] } }
input { name: "b" dims: [ 6 ] }
output { name: "c" dims: [ 3, 1, 2 ] reshape { shape: [ 6 ] } }
"""


def sums(dims: tuple) -> dict:
    both = [tensor(name, dims) for name in ("a", "b")]
    return {"nodes": SUM, "inputs": both, "outputs": [tensor("c", dims)], "weights": {}}


def test_should_show_clients_the_shapes_before_and_after_reshaping(tmp_path: Path) -> None:
    model = load(write_model(tmp_path / "m", RESHAPED, **sums(("N", 6))))
    assert shapes(model) == {"a": ("n", 2, 3), "b": ("n", 6), "c": ("n", 3, 1, 2)}
    require_same_numbers(model)


def test_should_follow_axes_that_vary_through_a_reshape(tmp_path: Path) -> None:
    config = (
        RESHAPED.replace(
            "dims: [ 2, 3 ] reshape { shape: [ 6 ] }", "dims: [ -1 ] reshape { shape: [ 1, -1 ] }"
        )
        .replace("dims: [ 6 ]", "dims: [ 1, -1 ]")
        .replace(
            "dims: [ 3, 1, 2 ] reshape { shape: [ 6 ] }",
            "dims: [ -1, 1 ] reshape { shape: [ 1, -1 ] }",
        )
    )
    folder = write_model(tmp_path / "m", config, **sums(("N", 1, "s")))
    model = load(folder, axes={"s": (5, 9)})
    assert shapes(model) == {"a": ("n", "s"), "b": ("n", 1, "s"), "c": ("n", "s", 1)}
    assert model.contract.variants == ({"s": 5}, {"s": 9})
    require_same_numbers(model)
    one = load(folder, axes={"s": (5,)})
    assert shapes(one) == {"a": ("n", 5), "b": ("n", 1, 5), "c": ("n", 5, 1)}
    require_same_numbers(one)


def test_should_refuse_a_reshape_to_another_number_of_elements(tmp_path: Path) -> None:
    config = RESHAPED.replace("[ 2, 3 ]", "[ 2, 2 ]")
    folder = write_model(tmp_path / "m", config, **sums(("N", 6)))
    told = "config.pbtxt:3: [6] has not as many elements as [2, 2], dims of 'a'"
    assert refusal(folder) == told


def test_should_ask_for_sizes_of_axes_that_vary(tmp_path: Path) -> None:
    config = CONFIG.replace("[ 4 ]", "[ -1 ]").replace("[ 3 ]", "[ -1 ]")
    parts = {
        "nodes": [helper.make_node("Identity", ["x"], ["y"])],
        "inputs": [tensor("x", ("batch", None))],
        "outputs": [tensor("y", ("batch", None))],
        "weights": {},
    }
    folder = write_model(tmp_path / "m", config, **parts)
    assert refusal(folder) == (
        "config.pbtxt:3: axis 1 of input 'x' varies ('x.1'), and programs have fixed shapes; "
        "give its sizes: --axis x.1=16,64,128"
    )
    model = load(folder, axes={"x.1": (16, 32)})
    assert shapes(model) == {"x": ("n", "s"), "y": ("n", "s")}
    fixed = write_model(tmp_path / "f", config.replace("[ -1 ]", "[ 7 ]"), **parts)
    assert shapes(load(fixed)) == {"x": ("n", 7), "y": ("n", 7)}


def test_should_not_take_an_axis_for_the_batch_where_triton_does_not(tmp_path: Path) -> None:
    config = CONFIG.replace("max_batch_size: 8", "").replace("[ ", "[ -1, ")
    folder = write_model(tmp_path / "m", config)
    assert refusal(folder) == (
        "config.pbtxt:3: axis 0 of input 'x' varies ('batch'), and programs have fixed shapes; "
        "give its sizes, --axis batch=1,8, or set max_batch_size if rows do not depend on each "
        "other"
    )
    model = load(folder, axes={"batch": (2, 5)})
    assert shapes(model) == {"x": ("s", 4), "y": ("s", 3)}
    assert model.contract.batch_sizes == ()
    require_same_numbers(model, None)


def test_should_let_unnamed_first_axes_of_several_inputs_vary_apart(tmp_path: Path) -> None:
    config = (
        'backend: "onnxruntime"\ninput { name: "a" dims: -1 }\ninput { name: "b" dims: [ -1 ] }'
    )
    nodes = [helper.make_node("Identity", [name], [f"{name}2"]) for name in ("a", "b")]
    folder = write_model(
        tmp_path / "m",
        config,
        nodes=nodes,
        inputs=[tensor("a", (None,)), tensor("b", (None,))],
        outputs=[tensor("a2", (None,)), tensor("b2", (None,))],
        weights={},
    )
    model = load(folder, axes={"a.0": (2, 3), "b.0": (4,)})
    assert shapes(model) == {"a": ("s",), "b": (4,), "a2": ("s",), "b2": (4,)}


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("[ 4 ]", "[ 5 ]", "config.pbtxt:3: input 'x' is [5] beside the batch, and [batch"),
        ("[ 4 ]", "[ 4, 1 ]", "config.pbtxt:3: input 'x' is [4, 1] beside the batch, and [batch"),
        ("FP32 dims: [ 4 ]", "INT32 dims: [ 4 ]", "config.pbtxt:3: input 'x' is i32, and f32"),
        ('"x"', '"z"', "config.pbtxt:3: input 'z' is not one of 1/model.onnx: x"),
        ("[ 3 ]", "[ 2 ]", "config.pbtxt:4: output 'y' is [2] beside the batch, and ['n', 3] in"),
        ("FP32 dims: [ 3 ]", "FP16 dims: [ 3 ]", "config.pbtxt:4: output 'y' is f16, and f32"),
        ('"y"', '"z"', "config.pbtxt:4: output 'z' is not one of the model's: y"),
        ("dims: [ 4 ]", "dims: [ 4 ] optional: true", "config.pbtxt:3: input 'x' is optional, and"),
        ("max_batch_size: 8", "max_batch_size: 0", "config.pbtxt:3: input 'x' is [4], and [batch"),
        ('"onnxruntime_onnx"', '"tensorflow_savedmodel"', "config.pbtxt:1: backend 'tensorflow_s"),
    ],
)  # fmt: skip
def test_should_name_what_the_configuration_and_the_file_say(
    tmp_path: Path, old: str, new: str, told: str
) -> None:
    assert old in CONFIG
    folder = write_model(tmp_path / "m", CONFIG.replace(old, new, 1))
    assert refusal(folder).startswith(told)


def test_should_refuse_a_batch_where_the_first_axis_is_fixed(tmp_path: Path) -> None:
    folder = write_model(
        tmp_path / "m", CONFIG, inputs=[tensor("x", (1, 4))], outputs=[tensor("y", (1, 3))]
    )
    told = "config.pbtxt:2: max_batch_size is 8, and input 'x' of 1/model.onnx is [1, 4], whose"
    assert refusal(folder).startswith(told)


def test_should_refuse_what_is_no_model(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "m", CONFIG)
    for content in (b"", b"no protobuf"):
        (folder / "1" / "model.onnx").write_bytes(content)
        assert refusal(folder).startswith("1/model.onnx: ")


def test_should_leave_out_an_optional_input_that_the_file_fills(tmp_path: Path) -> None:
    config = CONFIG + 'input { name: "w" dims: [ 4, 3 ] optional: true }'
    inputs = [tensor("x", ("batch", 4)), tensor("w", (4, 3))]
    folder = write_model(tmp_path / "m", config, inputs=inputs)
    model = load(folder)
    assert shapes(model) == {"x": ("n", 4), "y": ("n", 3)}
    assert "config.pbtxt:5: optional input 'w' always has the value that" in model.notes[0]


def test_should_say_so_when_clients_send_another_type(tmp_path: Path) -> None:
    config = CONFIG.replace("FP32", "FP64")
    kind = TensorProto.DOUBLE
    folder = write_model(
        tmp_path / "m",
        config,
        nodes=[helper.make_node("Identity", ["x"], ["y"])],
        inputs=[tensor("x", ("batch", 4), kind)],
        outputs=[tensor("y", ("batch", 4), kind)],
        weights={},
    )
    (folder / "config.pbtxt").write_text(config.replace("[ 3 ]", "[ 4 ]"))
    assert load(folder, wide=Wide.CAST).notes == ()

    def narrow(source: str, options: ImportOptions) -> Model:
        model = load_onnx(source, options)
        inputs = [replace(spec, dtype="f32") for spec in model.contract.inputs]
        return replace(model, contract=replace(model.contract, inputs=tuple(inputs)))

    sys.modules["roundhouse_export.sources.onnx"].load = narrow
    (note,) = load(folder, wide=Wide.CAST).notes
    assert note.endswith("config.pbtxt:3: input 'x' is f32 here, not f64: clients send f32")


SEQUENCE = """\
backend: "onnxruntime"
max_batch_size: 4
input { name: "a" dims: [ 1 ] }
output { name: "c" dims: [ 1 ] }
sequence_batching {
  oldest { }
  control_input { name: "START" control { fp32_false_true: [ 0, 1 ] } }
  state { input_name: "b" output_name: "c2" dims: [ 1 ] }
}
"""


ACCUMULATOR = {
    "nodes": [*SUM, helper.make_node("Add", ["c", "START"], ["c2"])],
    "inputs": [tensor(name, ("N", 1)) for name in ("a", "b", "START")],
    "outputs": [tensor(name, ("N", 1)) for name in ("c2", "c")],
    "weights": {},
}


def test_should_keep_state_and_controls_out_of_clients_hands(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "m", SEQUENCE, **ACCUMULATOR)
    model = load(folder)
    assert [spec.name for spec in model.contract.outputs] == ["c", "c2"]
    assert model.serving["sequence"] == {
        "idle": "1s",
        "controls": {"start": "START"},
        "state": [{"input": "b", "output": "c2", "initial": "zero"}],
    }
    require_same_numbers(model)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"START"', '"BEGIN"', "config.pbtxt:5: input 'BEGIN' is not one of 1/model.onnx: a, b, S"),
        ('"b"', '"a2"', "config.pbtxt:5: input 'a2' is not one of 1/model.onnx"),
        ('"c2"', '"c3"', "config.pbtxt:8: state 'b' is f32['n', 1] in the model, and 'c3' is none"),
        (
            "{ fp32_false_true: [ 0, 1 ]",
            "{ kind: CONTROL_SEQUENCE_CORRID",
            "config.pbtxt:7: control input 'START' is f32['n', 1] in the model; the server feeds "
            "one number of u64, i64, u32, i32",
        ),
    ],
)
def test_should_refuse_state_and_controls_that_the_server_cannot_serve(
    tmp_path: Path, old: str, new: str, told: str
) -> None:
    assert old in SEQUENCE
    folder = write_model(tmp_path / "m", SEQUENCE.replace(old, new), **ACCUMULATOR)
    assert refusal(folder).startswith(told)


BEGINNING = SEQUENCE.replace(
    'output_name: "c2"', 'output_name: "c2" initial_state { data_file: "b" }'
)


def begin_with(folder: Path, content: bytes, name: str = "b") -> Path:
    (folder / "initial_state").mkdir()
    (folder / "initial_state" / name).write_bytes(content)
    return folder


def test_should_begin_state_with_the_file_that_the_configuration_names(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "m", BEGINNING, **ACCUMULATOR)
    model = load(begin_with(folder, np.float32(7).tobytes()))
    assert model.serving["sequence"]["state"] == [{"input": "b", "output": "c2", "initial": "b"}]
    assert model.assets == {"b": np.float32(7).tobytes()}


def test_should_take_zero_data_for_zeros(tmp_path: Path) -> None:
    zeros = BEGINNING.replace('data_file: "b"', "zero_data: true")
    model = load(write_model(tmp_path / "m", zeros, **ACCUMULATOR))
    assert model.serving["sequence"]["state"][0]["initial"] == "zero"
    assert model.assets == {}


@pytest.mark.parametrize(
    ("change", "content", "told"),
    [
        ("b", b"1234567", "config.pbtxt:8: file 'b' has 7 bytes, and state 'b' has 4"),
        ("c", b"1234", "config.pbtxt:8: there is no file initial_state/c"),
        ("../config.pbtxt", b"1234", "config.pbtxt:8: file '../config.pbtxt' lies outside"),
        ('b" data_type: TYPE_INT32 name: "', b"1234", "config.pbtxt:8: state 'b' begins as i32"),
    ],
)
def test_should_refuse_a_file_that_the_state_cannot_begin_with(
    tmp_path: Path, change: str, content: bytes, told: str
) -> None:
    config = BEGINNING.replace('data_file: "b"', f'data_file: "{change}"')
    folder = begin_with(write_model(tmp_path / "m", config, **ACCUMULATOR), content)
    assert refusal(folder).startswith(told)


def test_should_ask_for_the_repository_of_an_ensemble(tmp_path: Path) -> None:
    folder = tmp_path / "both"
    folder.mkdir()
    (folder / "config.pbtxt").write_text(
        'platform: "ensemble"\nensemble_scheduling { step { model_name: "first" }\n'
        'step { model_name: "second" } }'
    )
    assert refusal(folder).startswith(
        "config.pbtxt:2: is an ensemble of first, second; convert the repository that has them all"
    )


def test_should_take_one_model_for_a_repository_of_one_and_name_those_of_more(
    tmp_path: Path,
) -> None:
    write_model(tmp_path / "one", CONFIG)
    assert load(tmp_path).name == "one"
    assert load(tmp_path / "one" / "config.pbtxt").name == "one"
    write_model(tmp_path / "two", CONFIG)
    assert "is a repository of 2 models (one, two)" in refusal(tmp_path)
