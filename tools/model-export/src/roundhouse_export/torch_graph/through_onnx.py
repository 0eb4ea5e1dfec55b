"""The second way: a module is traced and written as ONNX, in memory, and read by our own source."""

import io
import warnings
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import onnx
import torch

from roundhouse_export.model import Wide
from roundhouse_export.onnx_graph.interpreter import run_model
from roundhouse_export.onnx_graph.weights import release, weights_of
from roundhouse_export.refusal import RefusedError
from roundhouse_export.sources.user_code import user_code
from roundhouse_export.torch_graph.flat import PREFIX, Flat

_OPSET = 18


@dataclass(frozen=True)
class Traced:
    """A graph of ONNX with the shapes of one set of inputs.

    ``weights`` are the module's names by the graph's, ``constants`` other tensors of the graph.
    """

    source: str
    graph: onnx.ModelProto
    weights: Mapping[str, str]
    constants: Mapping[str, np.ndarray]
    narrow: bool
    written: tuple[str, ...] = ()

    def run(self, inputs: Sequence[Any], weights: Mapping[str, Any]) -> dict[str, jax.Array]:
        """Traces it by JAX; 64-bit types are there inside, for ONNX has its shapes in them."""
        held = {**self.constants, **{name: weights[own] for name, own in self.weights.items()}}
        given = [value.name for value in self.graph.graph.input]
        try:
            with jax.enable_x64(True):
                results = run_model(
                    self.graph, dict(zip(given, inputs, strict=True)), held, self.narrow
                )
        except RefusedError as refusal:
            raise RefusedError(f"{self.source}: as ONNX: {refusal}") from refusal
        return {
            name: result.astype(jax.dtypes.canonicalize_dtype(result.dtype))
            for name, result in results.items()
        }


def trace(
    flat: Flat, inputs: tuple[torch.Tensor, ...], kept: Mapping[str, str], narrow: bool
) -> Traced:
    """RefusedError with the operator that ONNX has no counterpart for.

    The graph keeps batch normalisation and the weights as they are, by their own names.
    """
    file = io.BytesIO()
    with (
        user_code(f"{flat.source}: torch.onnx.export"),
        torch.no_grad(),
        warnings.catch_warnings(),
        redirect_stdout(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        flat.ask(*inputs)
        torch.onnx.export(
            flat,
            inputs,
            file,
            dynamo=False,
            opset_version=_OPSET,
            input_names=[f"input:{name}" for name in flat.inputs],
            output_names=list(flat.outputs.names),
            do_constant_folding=False,
            training=torch.onnx.TrainingMode.PRESERVE,
        )
        flat.kept.restore()
    graph = onnx.ModelProto()
    graph.ParseFromString(file.getvalue())
    found = weights_of(graph, Wide.KEEP)
    own = {name: kept[name.removeprefix(PREFIX)] for name in found if _is_own(name, kept)}
    release(graph, {name: found[name] for name in own})
    constants = {name: array for name, array in found.items() if name not in own}
    return Traced(flat.source, graph, own, constants, narrow)


def _is_own(name: str, kept: Mapping[str, str]) -> bool:
    return name.startswith(PREFIX) and name.removeprefix(PREFIX) in kept
