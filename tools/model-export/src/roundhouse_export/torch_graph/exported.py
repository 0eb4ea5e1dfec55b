"""The first way: ``torch.export`` writes a module down, and torchax's operators run that in JAX."""

import logging
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch
from torch._export.converter import TS2EPConverter
from torch.export.graph_signature import InputKind, OutputKind
from torchax import decompositions

from roundhouse_export.refusal import RefusedError
from roundhouse_export.sources.user_code import told, user_code
from roundhouse_export.torch_graph import operators
from roundhouse_export.torch_graph.flat import PREFIX, Flat
from roundhouse_export.torch_graph.tensors import numpy_dtype, to_numpy

# It warns of every size that it takes as fixed, and here all sizes are.
logging.getLogger("torch._export.non_strict_utils").setLevel(logging.ERROR)

_STATE = (InputKind.PARAMETER, InputKind.BUFFER)


@dataclass(frozen=True)
class Exported:
    """A program with the shapes of one set of inputs, and how its outputs are named."""

    source: str
    program: torch.export.ExportedProgram
    outputs: tuple[str, ...]
    kept: Mapping[str, str]

    @property
    def written(self) -> tuple[str, ...]:
        """Buffers that a call changes."""
        names = self._signature.buffers_to_mutate.values()
        return tuple(name.removeprefix(PREFIX) for name in names)

    @property
    def _signature(self) -> torch.export.ExportGraphSignature:
        return self.program.graph_signature

    def run(self, inputs: Sequence[Any], weights: Mapping[str, Any]) -> dict[str, jax.Array]:
        """Traces it by JAX; ``weights`` has each weight by the one name that ``kept`` says."""
        given = iter(inputs)
        arguments = []
        for spec in self._signature.input_specs:
            if spec.kind in _STATE:
                name = str(spec.target).removeprefix(PREFIX)
                arguments.append(weights[self.kept[name]])
            elif spec.kind is InputKind.CONSTANT_TENSOR:
                arguments.append(jnp.asarray(to_numpy(self.program.constants[str(spec.target)])))
            elif spec.kind is InputKind.USER_INPUT:
                arguments.append(next(given))
            else:
                arguments.append(None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that JAX narrows 64-bit types is what is wanted
            results = _Interpreter(self.source, self.program.graph_module).run(
                *arguments, enable_io_processing=False
            )
        wanted = [
            (result, _type_of(node))
            for spec, result, node in zip(
                self._signature.output_specs, results, self._result_nodes(), strict=True
            )
            if spec.kind is OutputKind.USER_OUTPUT
        ]
        return {
            name: jnp.asarray(result, dtype)
            for name, (result, dtype) in zip(self.outputs, wanted, strict=True)
        }

    def _result_nodes(self) -> Sequence[Any]:
        nodes: Sequence[Any] = next(iter(reversed(self.program.graph.nodes))).args[0]
        return nodes


def _type_of(node: Any) -> np.dtype | None:
    value = node.meta.get("val") if isinstance(node, torch.fx.Node) else None
    if not isinstance(value, torch.Tensor):
        return None
    return jax.dtypes.canonicalize_dtype(numpy_dtype(value.dtype))


def export(flat: Flat, inputs: tuple[torch.Tensor, ...], kept: Mapping[str, str]) -> Exported:
    """RefusedError with the line of the person's code that cannot be written down."""
    with user_code(f"{flat.source}: torch.export"), torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if isinstance(flat.module, torch.jit.ScriptModule):
            traced = torch.jit.trace(flat, inputs, check_trace=False)
            flat.kept.restore()
            program = TS2EPConverter(traced, inputs).convert()
        else:
            program = torch.export.export(flat, inputs, strict=False)
        return Exported(flat.source, _decomposed(program), flat.outputs.names, kept)


def _decomposed(program: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
    table = torch.export.default_decompositions()
    table.update(decompositions.DECOMPOSITIONS)
    for each in operators.WHOLE:
        table.pop(each, None)
    return program.run_decompositions(table)


class _Interpreter(torch.fx.Interpreter):
    def __init__(self, source: str, module: torch.fx.GraphModule) -> None:
        super().__init__(module)
        self.extra_traceback = False
        self._source = source

    def run_node(self, node: torch.fx.Node) -> Any:
        try:
            return super().run_node(node)
        except RefusedError:
            raise
        except Exception as error:
            raise RefusedError(
                f"{self._source}: {_place(node)}: operator {node.target} does not become JAX: "
                f"{told(error)}"
            ) from error

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if isinstance(target, torch._ops.HigherOrderOperator):
            return self._higher_order(target, args)
        if not isinstance(target, torch._ops.OpOverload):
            return super().call_function(target, args, kwargs)
        return operators.find(target)(*args, **kwargs)

    def _higher_order(self, target: Any, args: tuple[Any, ...]) -> Any:
        """Regions without gradients or with another type for autocast are just run."""
        for position, each in enumerate(args):
            if isinstance(each, torch.fx.GraphModule) and target.name().startswith("wrap_with"):
                inner = _Interpreter(self._source, each)
                return inner.run(*args[position + 1 :], enable_io_processing=False)
        raise NotImplementedError("control flow of this kind is not read from here")


def _place(node: torch.fx.Node) -> str:
    """The innermost layer that a node comes from, by its path in the person's module."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    path, kind = stack[-1] if stack else ("", "")
    kind = kind if isinstance(kind, str) else getattr(kind, "__name__", str(kind))
    name = kind.rpartition(".")[2]
    path = path.removeprefix("L['self'].").removeprefix(PREFIX.strip(".")).strip(".")
    return f"layer '{path}' ({name})" if path else f"in {name or 'the module itself'}"
