"""The node tests that the ``onnx`` package carries: which of them count, and whether one passes."""

import logging
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

from roundhouse_export.onnx_graph import registry
from roundhouse_export.onnx_graph.arrays import UnknownAtExportError
from roundhouse_export.onnx_graph.interpreter import run_model
from roundhouse_export.refusal import RefusedError

_QUICKLY: dict[str, str | bool] = {
    "xla_backend_optimization_level": "0",
    "xla_llvm_disable_expensive_passes": True,
}
_LEFT_OUT_DOMAINS = ("ai.onnx.preview", "ai.onnx.preview.training")


@dataclass(frozen=True)
class Outcome:
    """``failure`` is empty when a case passes; ``known_inputs`` says that it only does when what
    fixes shapes is known at export."""

    name: str
    operator: str
    failure: str
    known_inputs: bool


def load_cases() -> list[Any]:
    """Returns every node test; making them takes a while, as onnx computes what they expect."""
    logging.getLogger("jax").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.loader import load_model_tests

        return list(load_model_tests(kind="node"))


def left_out(case: Any) -> str:
    """Says why a case does not count, or nothing."""
    model = case.model
    domains = {node.domain for node in model.graph.node}
    if domains & set(_LEFT_OUT_DOMAINS):
        return "preview and training"
    kinds = {value.type.WhichOneof("value") for value in _typed(model.graph)}
    if kinds - {"tensor_type"}:
        return "sequences and optionals"
    if any("Sequence" in node.op_type for node in model.graph.node):
        return "sequences and optionals"
    types = {value.type.tensor_type.elem_type for value in _typed(model.graph)}
    if TensorProto.STRING in types:
        return "texts"
    known = set(registry.known_operators(registry.ML))
    if any(n.domain == registry.ML and n.op_type not in known for n in model.graph.node):
        return "ai.onnx.ml operators that are not known"
    return ""


def operator_of(case: Any) -> str:
    """The operator that a case is for; cases of a function written out are for the function."""
    nodes = case.model.graph.node
    if len(nodes) == 1:
        return str(nodes[0].op_type)
    return "written out from functions" if "expanded" in case.name else "several operators"


def run_case(case: Any) -> Outcome:
    """Tries with every input unknown first, then with those known that may fix shapes."""
    try:
        return Outcome(case.name, operator_of(case), _failure(case, False), False)
    except UnknownAtExportError:
        pass
    try:
        return Outcome(case.name, operator_of(case), _failure(case, True), True)
    except UnknownAtExportError as unknown:
        return Outcome(case.name, operator_of(case), str(unknown), True)


def _failure(case: Any, know: bool) -> str:
    model = case.model
    inputs = [value.name for value in model.graph.input]
    outputs = [value.name for value in model.graph.output]
    for given, expected in case.data_sets:
        tensors = {
            name: _array(array)
            for name, array in zip(inputs, given, strict=False)
            if array is not None
        }
        known = {n: a for n, a in tensors.items() if know and may_fix_shapes(a)}
        try:
            made = _run(model, {n: a for n, a in tensors.items() if n not in known}, known)
        except UnknownAtExportError:
            raise
        except RefusedError as refusal:
            return str(refusal)
        except Exception as error:
            return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        for name, wanted in zip(outputs, expected, strict=False):
            difference = _difference(made[name], _array(wanted), case.rtol, case.atol)
            if difference:
                return f"output '{name}' {difference}"
    return ""


def _array(value: Any) -> np.ndarray:
    """Types that numpy lacks lie in the cases as protobufs."""
    return numpy_helper.to_array(value) if isinstance(value, TensorProto) else np.asarray(value)


def may_fix_shapes(array: np.ndarray) -> bool:
    """Whole numbers and conditions, and lists of numbers."""
    return array.ndim <= 1 or array.dtype.kind in "iub"


def _run(model: onnx.ModelProto, unknown: Any, known: Any) -> dict[str, np.ndarray]:
    with jax.enable_x64(True):
        function = jax.jit(lambda given: run_model(model, {**given, **known}, {}))
        made = function.lower(unknown).compile(_QUICKLY)(unknown)
        return {name: np.asarray(array) for name, array in made.items()}


def _difference(made: np.ndarray, wanted: np.ndarray, rtol: float, atol: float) -> str:
    if made.dtype != wanted.dtype:
        return f"is {made.dtype}, not {wanted.dtype}"
    if made.shape != wanted.shape:
        return f"has shape {list(made.shape)}, not {list(wanted.shape)}"
    ours, theirs = _plain(made), _plain(wanted)
    if np.allclose(ours, theirs, rtol, atol, equal_nan=True):
        return ""
    apart = np.abs(ours.astype(np.complex128) - theirs)
    return f"differs in {int((apart > atol + rtol * np.abs(theirs)).sum())} of {made.size} numbers"


def _plain(array: np.ndarray) -> np.ndarray:
    if array.dtype.kind in "V" or array.dtype.name.startswith(("float8", "float4", "bfloat")):
        return array.astype(np.float32)
    small = array.dtype.name in ("int4", "uint4", "int2", "uint2")
    return array.astype(np.int64) if small else array


def _typed(graph: onnx.GraphProto) -> Sequence[onnx.ValueInfoProto]:
    return [*graph.input, *graph.output, *graph.value_info]
