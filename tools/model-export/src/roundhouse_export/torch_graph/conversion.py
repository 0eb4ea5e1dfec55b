"""A model of a module: its weights, the programs that it becomes, and what it says itself."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch
import torchax
from torch._subclasses.fake_tensor import FakeTensorMode

from roundhouse_export import dtypes
from roundhouse_export.contract import TensorSpec, Variant
from roundhouse_export.model import ImportOptions, Model, Reference, Wide
from roundhouse_export.refusal import RefusedError
from roundhouse_export.shapes import contract_of
from roundhouse_export.sources.calling import Binder
from roundhouse_export.sources.user_code import told, user_code
from roundhouse_export.torch_graph import exported, through_onnx
from roundhouse_export.torch_graph.exported import Exported
from roundhouse_export.torch_graph.flat import Flat, held_tensors
from roundhouse_export.torch_graph.tensors import numpy_dtype, to_numpy, to_torch, torch_dtype
from roundhouse_export.torch_graph.through_onnx import Traced
from roundhouse_export.wide import settle_weights

FRAMEWORK = f"torch {torch.__version__.partition('+')[0]}"
Specs = tuple[tuple[TensorSpec, ...], tuple[Variant, ...]]
Shapes = tuple[tuple[int, ...], ...]


class Way(Enum):
    """How a module becomes JAX."""

    TORCHAX = f"torch.export and torchax {torchax.__version__}"
    ONNX = "torch.onnx.export"


WAYS = (Way.TORCHAX, Way.ONNX)
"""Those that are tried, in this order."""


def model_of(
    source: str,
    module: torch.nn.Module,
    bind: Binder,
    declared: Mapping[str, str],
    specs: Specs,
    options: ImportOptions,
    ways: Sequence[Way] = WAYS,
) -> Model:
    """``bind`` makes the module's arguments; ``declared`` are its inputs' types, in order, where
    ``specs`` has those of the programs. The first of ``ways`` that can convert the first program
    converts all of them.
    """
    inputs, variants = specs
    flat = Flat(source, module, bind, list(declared))
    held, kept = held_tensors(module)
    weights = _settled(source, held, options.wide)
    types = {name: torch_dtype(dtypes.numpy_dtype(token)) for name, token in declared.items()}
    narrow = options.wide is Wide.CAST

    def returned(arrays: Mapping[str, Any], _: Mapping[str, Any]) -> dict[str, jax.Array]:
        results = _shapes_of_results(flat, _shapes(flat, arrays), types)
        return {
            name: jnp.zeros(result.shape, jax.dtypes.canonicalize_dtype(numpy_dtype(result.dtype)))
            for name, result in zip(flat.outputs.names, results, strict=True)
        }

    contract = contract_of(source, inputs, variants, None, returned, weights, options)
    by_name = {tensor.name: tensor for tensor in contract.outputs}
    contract = replace(contract, outputs=tuple(by_name[name] for name in flat.outputs.names))
    first = next(contract.programs())
    given = {
        spec.name: jax.ShapeDtypeStruct(
            spec.resolve(first.batch, contract.variant(first)), dtypes.numpy_dtype(spec.dtype)
        )
        for spec in inputs
    }
    wide = contract.needs_64_bit or any(each.dtype.itemsize == 8 for each in weights.values())
    refusals: list[str] = []
    for way in ways:
        programs = _Programs(flat, types, kept, way, narrow)
        try:
            with jax.enable_x64(wide):
                jax.eval_shape(programs.forward, given, weights)
            break
        except RefusedError as refusal:
            refusals.append(str(refusal).removeprefix(f"{source}: "))
    else:
        raise RefusedError(f"{source}: {'; nor through ONNX: '.join(refusals)}")
    notes = [f"converted through ONNX, for: {each}" for each in refusals]
    for name in programs.of(_shapes(flat, given)).written:
        notes.append(f"a call writes to the buffer '{name}'; here every call begins with it as is")
    return Model(
        name=options.name or "model",
        contract=contract,
        forward=programs.forward,
        weights=weights,
        framework=FRAMEWORK,
        description=_description(module),
        reference=_reference(flat, types),
        facts={"way": way.value},
        notes=tuple(notes),
    )


def _description(module: torch.nn.Module) -> str:
    if isinstance(module, torch.jit.ScriptModule):
        return f"TorchScript of {module.original_name}"
    return (
        "torch.export program"
        if isinstance(module, torch.fx.GraphModule)
        else type(module).__name__
    )


def _settled(source: str, held: Mapping[str, torch.Tensor], wide: Wide) -> dict[str, np.ndarray]:
    """PyTorch has indices of 64 bits and no others: they are made narrow where they fit."""
    weights = {}
    for name, tensor in held.items():
        try:
            weights[name] = to_numpy(tensor)
        except (ValueError, RuntimeError, NotImplementedError) as error:
            raise RefusedError(f"{source}: weight '{name}': {told(error)}") from error
    indices = {name: array for name, array in weights.items() if array.dtype.kind in "iu"}
    others = {name: array for name, array in weights.items() if name not in indices}
    settled = settle_weights(source, indices, Wide.CAST if wide is Wide.REFUSE else wide)
    settled |= settle_weights(source, others, wide)
    return {name: settled[name] for name in weights}


@dataclass
class _Programs:
    """What a module became for shapes that were asked for."""

    flat: Flat
    types: Mapping[str, torch.dtype]
    kept: Mapping[str, str]
    way: Way
    narrow: bool
    made: dict[Shapes, Exported | Traced] = field(default_factory=dict)

    def of(self, shapes: Shapes) -> Exported | Traced:
        if shapes not in self.made:
            examples = _examples(shapes, self.types)
            if self.way is Way.TORCHAX:
                self.made[shapes] = exported.export(self.flat.apart(), examples, self.kept)
            else:
                self.made[shapes] = through_onnx.trace(
                    self.flat.apart(), examples, self.kept, self.narrow
                )
        return self.made[shapes]

    def forward(
        self, arrays: Mapping[str, Any], weights: Mapping[str, Any]
    ) -> dict[str, jax.Array]:
        program = self.of(_shapes(self.flat, arrays))
        with jax.enable_x64(True) if self.way is Way.ONNX else nullcontext():
            given = [
                jnp.asarray(arrays[name], jax.dtypes.canonicalize_dtype(numpy_dtype(dtype)))
                for name, dtype in self.types.items()
            ]
        return program.run(given, weights)


def _shapes(flat: Flat, arrays: Mapping[str, Any]) -> Shapes:
    return tuple(tuple(arrays[name].shape) for name in flat.inputs)


def _examples(shapes: Shapes, types: Mapping[str, torch.dtype]) -> tuple[torch.Tensor, ...]:
    """Numbers that a module can be called with: integers are 1, for many are indices or masks."""
    random = torch.Generator().manual_seed(0)
    return tuple(
        torch.rand(shape, generator=random).to(dtype)
        if dtype.is_floating_point
        else torch.ones(shape, dtype=dtype)
        for shape, dtype in zip(shapes, types.values(), strict=True)
    )


def _shapes_of_results(
    flat: Flat, shapes: Shapes, types: Mapping[str, torch.dtype]
) -> tuple[torch.Tensor, ...]:
    """Asks the module without computing, or by computing where it looks at its numbers."""
    apart = flat.apart()
    try:
        with FakeTensorMode(allow_non_fake_inputs=True):
            return apart.ask(
                *(
                    torch.empty(shape, dtype=dtype)
                    for shape, dtype in zip(shapes, types.values(), strict=True)
                )
            )
    except RefusedError:
        raise
    except Exception:
        with user_code(f"{flat.source}: calling it"):
            return flat.ask(*_examples(shapes, types))


def _reference(flat: Flat, types: Mapping[str, torch.dtype]) -> Reference:
    def reference(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        given = [to_torch(arrays[name], dtype) for name, dtype in types.items()]
        with user_code(flat.source):
            results = flat.ask(*given)
        return {
            name: to_numpy(result) for name, result in zip(flat.outputs.names, results, strict=True)
        }

    return reference
