"""Makes a small repository of Triton's, of eight models of mixed kinds: ``make_repository.py DIR``.

Four are of onnxruntime's backend and can be served; one each is an ensemble, of the Python backend,
TorchScript, and has a mistake in its configuration. Needs the packages ``onnx`` and ``numpy``.
"""

import sys
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Dims = Sequence[int | str]
RNG = np.random.default_rng(26)

DIGITS = """\
platform: "onnxruntime_onnx"
max_batch_size: 16
input { name: "pixels" data_type: TYPE_FP32 dims: [ 64 ] reshape { shape: [ 1, 8, 8 ] } }
output { name: "scores" data_type: TYPE_FP32 dims: [ 10 ] label_filename: "labels.txt" }
dynamic_batching {
  preferred_batch_size: [ 4, 16 ]
  max_queue_delay_microseconds: 2000
  priority_levels: 2
  default_priority_level: 2
  default_queue_policy { default_timeout_microseconds: 500000 max_queue_size: 64 }
}
instance_group { count: 2 kind: KIND_CPU }
optimization { execution_accelerators { cpu_execution_accelerator { name: "openvino" } } }
model_warmup { name: "zeros" batch_size: 1 inputs { key: "pixels"
  value { data_type: TYPE_FP32 dims: [ 64 ] zero_data: true } } }
"""
WORDS = """\
backend: "onnxruntime"
max_batch_size: 8
input { name: "tokens" data_type: TYPE_INT64 dims: [ -1 ] }
output { name: "scores" data_type: TYPE_FP32 dims: [ 2 ] }
version_policy { all { } }
"""
COUNTER = """\
backend: "onnxruntime"
max_batch_size: 4
input { name: "x" data_type: TYPE_FP32 dims: [ 1 ] }
output { name: "total" data_type: TYPE_FP32 dims: [ 1 ] }
sequence_batching {
  max_sequence_idle_microseconds: 60000000
  control_input { name: "START"
    control { kind: CONTROL_SEQUENCE_START fp32_false_true: [ 0, 1 ] } }
  state { input_name: "sum_in" output_name: "sum_out" data_type: TYPE_FP32 dims: [ 1 ]
    initial_state { name: "zero" data_type: TYPE_FP32 dims: [ 1 ] zero_data: true } }
  oldest { max_candidate_sequences: 4 }
}
"""
CHAIN = """\
platform: "ensemble"
max_batch_size: 16
input { name: "raw" data_type: TYPE_FP32 dims: [ 64 ] }
output { name: "scores" data_type: TYPE_FP32 dims: [ 10 ] }
ensemble_scheduling {
  step { model_name: "clean" model_version: -1
    input_map { key: "raw" value: "raw" } output_map { key: "pixels" value: "clean_pixels" } }
  step { model_name: "digits" model_version: -1
    input_map { key: "pixels" value: "clean_pixels" }
    output_map { key: "scores" value: "scores" } }
}
"""
CLEAN = """\
backend: "python"
max_batch_size: 16
input { name: "raw" data_type: TYPE_FP32 dims: [ 64 ] }
output { name: "pixels" data_type: TYPE_FP32 dims: [ 64 ] }
"""
CLEAN_CODE = """\
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        cleaned = []
        for request in requests:
            raw = pb_utils.get_input_tensor_by_name(request, "raw").as_numpy()
            pixels = pb_utils.Tensor("pixels", raw.clip(0, 16) / 16)
            cleaned.append(pb_utils.InferenceResponse([pixels]))
        return cleaned
"""
DETECTOR = """\
platform: "pytorch_libtorch"
max_batch_size: 4
input { name: "INPUT__0" data_type: TYPE_FP32 dims: [ 3, 64, 64 ] }
output { name: "OUTPUT__0" data_type: TYPE_FP32 dims: [ 4 ] }
"""
BROKEN = """\
backend: "onnxruntime"
max_batch_sise: 4
"""


def write_onnx(
    file: Path,
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, Dims],
    outputs: Mapping[str, Dims],
    weights: Mapping[str, np.ndarray],
    element: int = TensorProto.FLOAT,
) -> None:
    graph = helper.make_graph(
        nodes,
        file.parent.parent.name,
        [helper.make_tensor_value_info(name, element, dims) for name, dims in inputs.items()],
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)
            for name, dims in outputs.items()
        ],
        [numpy_helper.from_array(each, name) for name, each in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    file.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, str(file))


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape, dtype=np.float32) / np.float32(np.sqrt(shape[0]))


def iris(file: Path) -> None:
    nodes = [
        helper.make_node("Gemm", ["x", "w", "b"], ["z"]),
        helper.make_node("Softmax", ["z"], ["probabilities"], axis=1),
    ]
    weights = {"w": normal(4, 3), "b": normal(3)}
    write_onnx(file, nodes, {"x": ("batch", 4)}, {"probabilities": ("batch", 3)}, weights)


def digits(file: Path) -> None:
    nodes = [
        helper.make_node("Conv", ["pixels", "kernel", "shift"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("AveragePool", ["r"], ["a"], kernel_shape=[4, 4], strides=[4, 4]),
        helper.make_node("Flatten", ["a"], ["f"]),
        helper.make_node("Gemm", ["f", "w", "b"], ["scores"]),
    ]
    weights = {"kernel": normal(8, 1, 3, 3), "shift": normal(8), "w": normal(32, 10)}
    weights["b"] = normal(10)
    write_onnx(file, nodes, {"pixels": ("batch", 1, 8, 8)}, {"scores": ("batch", 10)}, weights)


def words(file: Path) -> None:
    nodes = [
        helper.make_node("Gather", ["table", "tokens"], ["e"]),
        helper.make_node("ReduceMean", ["e"], ["m"], axes=[1], keepdims=0),
        helper.make_node("MatMul", ["m", "w"], ["scores"]),
    ]
    weights = {"table": normal(100, 8), "w": normal(8, 2)}
    inputs = {"tokens": ("batch", "length")}
    write_onnx(file, nodes, inputs, {"scores": ("batch", 2)}, weights, TensorProto.INT64)


def counter(file: Path) -> None:
    nodes = [
        helper.make_node("Sub", ["one", "START"], ["goes_on"]),
        helper.make_node("Mul", ["sum_in", "goes_on"], ["kept"]),
        helper.make_node("Add", ["x", "kept"], ["sum_out"]),
        helper.make_node("Identity", ["sum_out"], ["total"]),
    ]
    row = ("batch", 1)
    inputs = {"x": row, "START": row, "sum_in": row}
    weights = {"one": np.ones(1, np.float32)}
    write_onnx(file, nodes, inputs, {"total": row, "sum_out": row}, weights)


def make_repository(folder: Path) -> None:
    iris(folder / "iris" / "1" / "model.onnx")  # no configuration: the file says it all
    digits(folder / "digits" / "1" / "model.onnx")
    (folder / "digits" / "labels.txt").write_text("".join(f"digit {i}\n" for i in range(10)))
    for version in ("1", "2"):
        words(folder / "words" / version / "model.onnx")
    counter(folder / "counter" / "1" / "model.onnx")
    iris(folder / "broken" / "1" / "model.onnx")
    for name in ("chain", "clean", "detector"):
        (folder / name / "1").mkdir(parents=True)
    (folder / "clean" / "1" / "model.py").write_text(CLEAN_CODE)
    with zipfile.ZipFile(folder / "detector" / "1" / "model.pt", "w") as archive:
        archive.writestr("model/data.pkl", b"")  # nobody looks into it without --trust
    configurations = {
        "digits": DIGITS,
        "words": WORDS,
        "counter": COUNTER,
        "chain": CHAIN,
        "clean": CLEAN,
        "detector": DETECTOR,
        "broken": BROKEN,
    }
    for name, text in configurations.items():
        (folder / name / "config.pbtxt").write_text(text)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: make_repository.py DIR")
    make_repository(Path(sys.argv[1]))
