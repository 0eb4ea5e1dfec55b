"""Models of a Triton repository for tests, and a loader that stands in for that of ONNX files.

The loader knows a few operators, so that what it makes can be compared with onnxruntime.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from roundhouse_export import sources
from roundhouse_export.model import ImportOptions, Model
from roundhouse_export.refusal import RefusedError
from roundhouse_export.shapes import SourceTensor, contract_of, input_specs
from roundhouse_export.triton import onnx_signature

WEIGHT = np.arange(12, dtype=np.float32).reshape(4, 3) / 8
_OPERATORS = {
    "MatMul": jnp.matmul,
    "Add": jnp.add,
    "Identity": lambda x: x,
    "ReduceSum": lambda x, axes: x.sum(axis=tuple(axes), keepdims=True),
}

Dims = tuple[int | str | None, ...]


def tensor(name: str, dims: Dims, element: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, element, dims)


def write_onnx(
    file: Path,
    nodes: list[onnx.NodeProto] | None = None,
    inputs: list[onnx.ValueInfoProto] | None = None,
    outputs: list[onnx.ValueInfoProto] | None = None,
    weights: dict[str, np.ndarray] | None = None,
) -> Path:
    """``y = x @ w`` of four numbers a row, if nothing else is said."""
    graph = helper.make_graph(
        nodes or [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "graph",
        inputs or [tensor("x", ("batch", 4))],
        outputs or [tensor("y", ("batch", 3))],
        [numpy_helper.from_array(each, name) for name, each in (weights or {"w": WEIGHT}).items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    file.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, str(file))
    return file


def write_model(folder: Path, config: str | None, *versions: int, **parts: Any) -> Path:
    """A model's folder with the same ONNX file in every version."""
    for version in versions or (1,):
        write_onnx(folder / str(version) / "model.onnx", **parts)
    if config is not None:
        (folder / "config.pbtxt").write_text(config)
    return folder


def load(folder: Path, **options: Any) -> Model:
    return sources.load(str(folder), ImportOptions(**options))


def refusal(folder: Path, **options: Any) -> str:
    return refused(folder, lambda: load(folder, **options))


def refused(folder: Path, call: Callable[[], object]) -> str:
    """What is told of a folder, by paths inside it."""
    with pytest.raises(RefusedError) as error:
        call()
    said = str(error.value)
    assert "\n" not in said
    return said.replace(f"{folder}/", "")


def shapes(model: Model) -> dict[str, tuple]:
    return {each.name: each.shape for each in model.contract.inputs + model.contract.outputs}


def load_onnx(source: str, options: ImportOptions) -> Model:
    """Takes the place of ``roundhouse_export.sources.onnx.load``."""
    graph = onnx.load(source).graph
    if any(node.op_type not in _OPERATORS for node in graph.node):
        raise RefusedError(f"{source}: operator {graph.node[0].op_type} is not known")
    signature = onnx_signature.read(Path(source))
    tensors = [SourceTensor(each.name, each.dtype, each.dims or ()) for each in signature.inputs]
    specs, variants = input_specs(source, tensors, options)
    held = {each.name: numpy_helper.to_array(each) for each in graph.initializer}

    def forward(inputs: Any, weights: Any) -> dict[str, Any]:
        known = {**weights, **inputs}
        for node in graph.node:
            known[node.output[0]] = _OPERATORS[node.op_type](*(known[name] for name in node.input))
        return {each.name: known[each.name] for each in graph.output}

    names = [each.name for each in graph.output]
    session = onnxruntime.InferenceSession(source, providers=["CPUExecutionProvider"])

    def reference(inputs: Any) -> dict[str, np.ndarray]:
        return dict(zip(names, session.run(names, dict(inputs)), strict=True))

    return Model(
        name=options.name or Path(source).stem,
        contract=contract_of(source, specs, variants, names, forward, held, options),
        forward=forward,
        weights=held,
        framework=f"onnx {onnx.__version__}",
        reference=reference,
    )
