"""Small models of ONNX, from the file through the bundle, against onnxruntime."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from roundhouse_export import dtypes
from roundhouse_export.model import ImportOptions, Model, Wide
from roundhouse_export.pipeline import export_model
from roundhouse_export.program_runner import run_program
from roundhouse_export.refusal import RefusedError
from roundhouse_export.sources.onnx import load
from roundhouse_export.weights import decode

RANDOM = np.random.default_rng(31)
FLOAT = TensorProto.FLOAT


def value(name: str, dims: Sequence[Any] | None, kind: int = FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, dims)


def random(name: str, *shape: int, kind: Any = np.float32) -> onnx.TensorProto:
    return numpy_helper.from_array((RANDOM.standard_normal(shape) * 0.3).astype(kind), name)


def held(name: str, array: Any, kind: Any = np.int64) -> onnx.TensorProto:
    return numpy_helper.from_array(np.asarray(array, kind), name)


def saved(
    folder: Path,
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[onnx.ValueInfoProto],
    initializers: Sequence[onnx.TensorProto] = (),
) -> str:
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializers)
    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", 17)],
        producer_name="tests",
        producer_version="1",
        ir_version=8,
    )
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return str(path)


def check(model: Model, folder: Path, tolerance: float = 1e-4) -> None:
    """Runs every program of the written bundle with the written weights."""
    bundle = export_model(model, folder / "bundle")
    weights = decode((folder / "bundle" / "weights.safetensors").read_bytes())
    assert model.reference is not None
    for key in bundle.contract.programs():
        given = {}
        for spec in bundle.contract.inputs:
            shape = spec.resolve(key.batch, bundle.contract.variant(key))
            dtype = dtypes.numpy_dtype(spec.dtype)
            if dtype.kind == "f":
                given[spec.name] = RANDOM.standard_normal(shape).astype(dtype)
            else:
                given[spec.name] = RANDOM.integers(0, 5, shape).astype(dtype)
        wanted = model.reference(given)
        made = run_program(
            (folder / "bundle" / key.file_name).read_bytes(),
            [*given.values(), *weights.values()],
        )
        for spec, result in zip(bundle.contract.outputs, made, strict=True):
            assert result.dtype == wanted[spec.name].dtype
            np.testing.assert_allclose(result, wanted[spec.name], tolerance, tolerance)


def conv_net(folder: Path, batch: Any = "batch") -> str:
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["c", "s", "b", "m", "v"], ["n"]),
        helper.make_node("Relu", ["n"], ["r"]),
        helper.make_node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Shape", ["p"], ["shape"]),
        helper.make_node("Gather", ["shape", "zero"], ["rows"]),
        helper.make_node("Unsqueeze", ["rows", "axis"], ["row"]),
        helper.make_node("Concat", ["row", "rest"], ["flat"], axis=0),
        helper.make_node("Reshape", ["p", "flat"], ["f"]),
        helper.make_node("Gemm", ["f", "g"], ["y"], transB=1),
        helper.make_node("ArgMax", ["y"], ["best"], axis=1, keepdims=0),
    ]
    initializers = [
        random("w", 8, 3, 3, 3),
        random("b", 8),
        random("s", 8),
        random("m", 8),
        held("v", np.linspace(0.5, 2, 8), np.float32),
        held("zero", 0),
        held("axis", [0]),
        held("rest", [-1]),
        random("g", 5, 128),
    ]
    outputs = [value("y", [batch, 5]), value("best", [batch], TensorProto.INT64)]
    return saved(folder, nodes, [value("x", [batch, 3, 8, 8])], outputs, initializers)


def relu(folder: Path, inputs: Sequence[onnx.ValueInfoProto], first: str = "x") -> str:
    node = helper.make_node("Relu", [first], ["y"], name="only")
    return saved(folder, [node], inputs, [value("y", None)])


def test_should_match_onnxruntime_when_a_conv_net_has_a_dynamic_batch(tmp_path: Path) -> None:
    model = load(conv_net(tmp_path), ImportOptions(batch_sizes=(1, 3)))
    assert list(model.weights) == ["w", "b", "s", "m", "v", "g"]
    assert model.contract.outputs[0].shape == ("n", 5)
    assert model.contract.outputs[1].dtype == "i64"
    assert model.facts["opset"] == "ai.onnx 17"
    assert model.facts["producer"] == "tests 1"
    check(model, tmp_path)


def test_should_match_when_attention_has_batch_and_sequence_axes(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Gather", ["table", "ids"], ["e"]),
        helper.make_node("MatMul", ["e", "wq"], ["q"]),
        helper.make_node("MatMul", ["e", "wk"], ["k"]),
        helper.make_node("Transpose", ["k"], ["kt"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["q", "kt"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["shares"], axis=-1),
        helper.make_node("MatMul", ["shares", "e"], ["mixed"]),
        helper.make_node("Add", ["mixed", "e"], ["sum"]),
        helper.make_node("LayerNormalization", ["sum", "s", "b"], ["y"], axis=-1),
    ]
    initializers = [
        random("table", 10, 8),
        random("wq", 8, 8),
        random("wk", 8, 8),
        random("s", 8),
        random("b", 8),
    ]
    path = saved(
        tmp_path,
        nodes,
        [value("ids", ["batch", "sequence"], TensorProto.INT64)],
        [value("y", None)],
        initializers,
    )
    model = load(path, ImportOptions(batch_sizes=(1, 2), axes={"sequence": (3, 6)}))
    assert len(model.contract.variants) == 2
    assert model.contract.inputs[0].dtype == "i64"
    check(model, tmp_path)


def test_should_match_when_a_layer_is_an_lstm(tmp_path: Path) -> None:
    node = helper.make_node(
        "LSTM", ["x", "w", "r", "b"], ["y", "h", "c"], hidden_size=4, direction="bidirectional"
    )
    initializers = [random("w", 2, 16, 3), random("r", 2, 16, 4), random("b", 2, 32)]
    outputs = [value(name, None) for name in "yhc"]
    path = saved(tmp_path, [node], [value("x", [5, 2, 3])], outputs, initializers)
    check(load(path, ImportOptions()), tmp_path)


def test_should_match_when_a_convolution_is_quantised(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "xs", "xz"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "xs", "xz"], ["d"]),
        helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["dw"], axis=0),
        helper.make_node("Conv", ["d", "dw"], ["y"]),
    ]
    initializers = [
        held("xs", 0.05, np.float32),
        held("xz", 7, np.uint8),
        held("w", RANDOM.integers(-100, 100, (2, 3, 3, 3)), np.int8),
        held("ws", [0.01, 0.02], np.float32),
        held("wz", [0, 0], np.int8),
    ]
    path = saved(tmp_path, nodes, [value("x", ["n", 3, 6, 6])], [value("y", None)], initializers)
    model = load(path, ImportOptions(batch_sizes=(2,)))
    assert model.weights["w"].dtype == np.int8
    check(model, tmp_path)


def test_should_match_when_a_branch_and_a_loop_depend_on_the_data(tmp_path: Path) -> None:
    def branch(name: str, operator: str) -> onnx.GraphProto:
        node = helper.make_node(operator, ["x"], [name])
        return helper.make_graph([node], name, [], [value(name, [3])])

    body = helper.make_graph(
        [
            helper.make_node("Add", ["h", "h"], ["h2"]),
            helper.make_node("ReduceMax", ["h2"], ["top"], keepdims=0),
            helper.make_node("Less", ["top", "hundred"], ["goes_on"]),
        ],
        "body",
        [
            value("i", [], TensorProto.INT64),
            value("go", [], TensorProto.BOOL),
            value("h", [3]),
        ],
        [value("goes_on", [], TensorProto.BOOL), value("h2", [3])],
    )
    nodes = [
        helper.make_node("ReduceSum", ["x"], ["s"], keepdims=0),
        helper.make_node("Greater", ["s", "zero"], ["c"]),
        helper.make_node(
            "If", ["c"], ["a"], then_branch=branch("t", "Abs"), else_branch=branch("e", "Neg")
        ),
        helper.make_node("Exp", ["a"], ["b"]),
        helper.make_node("Loop", ["trips", ""], ["y"], body=body),
    ]
    nodes[-1].input.append("b")
    initializers = [
        held("zero", 0, np.float32),
        held("hundred", 100, np.float32),
        held("trips", 1000),
    ]
    path = saved(tmp_path, nodes, [value("x", [3])], [value("y", [3])], initializers)
    check(load(path, ImportOptions()), tmp_path)


def test_should_read_tensors_beside_the_model_and_nowhere_else(tmp_path: Path) -> None:
    path = Path(conv_net(tmp_path))
    model = onnx.load(path)
    folder = tmp_path / "inner"
    folder.mkdir()
    onnx.save_model(
        model, folder / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=100
    )
    inner = str(folder / "m.onnx")
    check(load(inner, ImportOptions(batch_sizes=(2,))), tmp_path)
    (folder / "w.bin").rename(tmp_path / "w.bin")
    with pytest.raises(RefusedError, match=r"tensor 'w' lies in 'w.bin', and there is no such"):
        load(inner, ImportOptions())
    (folder / "w.bin").symlink_to(tmp_path / "w.bin")
    with pytest.raises(RefusedError, match="outside the model's folder"):
        load(inner, ImportOptions())


@pytest.mark.parametrize("location", ["../w.bin", "/etc/hostname"])
def test_should_refuse_when_external_data_lies_outside(tmp_path: Path, location: str) -> None:
    model = onnx.load(conv_net(tmp_path))
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)
    path = tmp_path / "out.onnx"
    path.write_bytes(model.SerializeToString())
    with pytest.raises(RefusedError, match="outside the model's folder"):
        load(str(path), ImportOptions())


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.99])
def test_should_refuse_in_one_line_when_a_file_is_cut_short(tmp_path: Path, share: float) -> None:
    path = Path(conv_net(tmp_path))
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(RefusedError, match=r"model.onnx") as refusal:
        load(str(path), ImportOptions())
    assert "\n" not in str(refusal.value)


def test_should_load_or_refuse_in_one_line_when_bytes_are_wrong(tmp_path: Path) -> None:
    path = Path(conv_net(tmp_path))
    whole = path.read_bytes()
    refused = 0
    for _ in range(40):
        data = bytearray(whole)
        data[RANDOM.integers(0, 700)] = RANDOM.integers(0, 256)
        path.write_bytes(bytes(data))
        try:
            load(str(path), ImportOptions())
        except RefusedError as refusal:
            refused += 1
            assert "\n" not in str(refusal)
    assert refused > 5


def test_should_name_the_node_when_an_operator_is_unknown(tmp_path: Path) -> None:
    node = helper.make_node("Fancy", ["x"], ["y"], name="one", domain="com.example")
    path = saved(tmp_path, [node], [value("x", [2])], [value("y", [2])])
    with pytest.raises(RefusedError, match=r"node 'one': operator Fancy: .*com\.example"):
        load(path, ImportOptions())


def test_should_refuse_texts_and_repeated_names(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match=r"input 'x' holds texts"):
        load(relu(tmp_path, [value("x", [2], TensorProto.STRING)]), ImportOptions())
    with pytest.raises(RefusedError, match=r"several inputs are named \['x'\]"):
        load(relu(tmp_path, [value("x", [2]), value("x", [2])]), ImportOptions())


def test_should_refuse_wide_weights_unless_told_otherwise(tmp_path: Path) -> None:
    node = helper.make_node("Mul", ["x", "w"], ["y"])
    wide = TensorProto.DOUBLE
    path = saved(
        tmp_path,
        [node],
        [value("x", ["n", 9], wide)],
        [value("y", None, wide)],
        [random("w", 9, kind=np.float64)],
    )
    with pytest.raises(RefusedError, match="weight 'w' is f64"):
        load(path, ImportOptions())
    cast = load(path, ImportOptions(wide=Wide.CAST))
    assert cast.contract.inputs[0].dtype == cast.contract.outputs[0].dtype == "f32"
    assert cast.weights["w"].dtype == np.float32
    check(load(path, ImportOptions(wide=Wide.KEEP, batch_sizes=(2,))), tmp_path, 1e-12)


def test_should_note_a_fixed_batch_and_allow_another(tmp_path: Path) -> None:
    from roundhouse_export.contract import TensorSpec

    path = conv_net(tmp_path, batch=1)
    fixed = load(path, ImportOptions())
    assert not fixed.contract.batched
    assert "--input x=f32[n,3,8,8]" in fixed.notes[0]
    wanted = {"x": TensorSpec("x", "f32", ("n", 3, 8, 8))}
    check(load(path, ImportOptions(inputs=wanted, batch_sizes=(2,))), tmp_path)


def test_should_take_inputs_with_initializers_for_weights(tmp_path: Path) -> None:
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    inputs = [value("x", ["n", 4]), value("w", [4, 3])]
    model = load(
        saved(tmp_path, [node], inputs, [value("y", None)], [random("w", 4, 3)]),
        ImportOptions(batch_sizes=(2,)),
    )
    assert [spec.name for spec in model.contract.inputs] == ["x"]
    check(model, tmp_path)


def test_should_name_the_axis_when_its_sizes_are_not_said(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="--axis length=16,64,128"):
        load(relu(tmp_path, [value("x", ["n", "length"])]), ImportOptions())
