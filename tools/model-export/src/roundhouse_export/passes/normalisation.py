"""Batch normalisation after a convolution, taken into the convolution's kernel.

What follows a convolution as additions, subtractions, multiplications and divisions by weights per
channel becomes one factor in the kernel, which folding then stores, and one addition.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxlib.mlir import ir

from roundhouse_export.passes.axis_attributes import integers
from roundhouse_export.passes.convolution.description import Layout, read
from roundhouse_export.passes.convolution.rewriting import convolutions
from roundhouse_export.passes.dependence import Known, known_values
from roundhouse_export.passes.main_function import erase_unused, in_main, main_block
from roundhouse_export.passes.tensor_types import struct_of
from roundhouse_export.passes.traced import insert_before

_AFFINE = {f"stablehlo.{name}": name for name in ("add", "subtract", "multiply", "divide")}


def fold_scales(module: ir.Module, inputs: int) -> None:
    """Changes the module in place; ``inputs`` leading arguments of ``@main`` are no weights."""
    known = known_values(main_block(module), inputs)
    for operation in convolutions(module):
        chain = _chain(operation, known)
        if any(link.kind in ("multiply", "divide") for link in chain):
            _fold(operation, chain)


@dataclass(frozen=True)
class _Link:
    """One operation after the convolution: its kind and its operand for each channel."""

    operation: ir.Operation
    kind: str
    per_channel: ir.Value


def _chain(convolution: ir.Operation, known: dict[ir.Value, Known]) -> list[_Link]:
    """Returns the operations that can be taken in; they end where anything else reads a value."""
    described = read(convolution)
    if not in_main(convolution):
        return []
    if described is None or known.get(convolution.operands[1]) is not Known.WEIGHTS:
        return []
    if described[0].output_type not in ("f32", "f64"):
        return []  # a narrow kernel would lose what the wide factor keeps
    if described[0].kernel_type != described[0].output_type:
        return []
    axis = described[1].output.index(len(described[1].output) - 1)
    channels = described[0].output_channels
    chain: list[_Link] = []
    value = convolution.results[0]
    while True:
        uses = list(value.uses)
        if len(uses) != 1 or uses[0].owner.name not in _AFFINE:
            return chain
        operation, kind = uses[0].owner.operation, _AFFINE[uses[0].owner.name]
        first = operation.operands[0] == value
        other = operation.operands[1 if first else 0]
        per_channel = _per_channel(other, axis, channels)
        if per_channel is None or other not in known:
            return chain
        if not first and kind in ("subtract", "divide"):
            return chain
        chain.append(_Link(operation, kind, per_channel))
        value = operation.results[0]


def _per_channel(value: ir.Value, axis: int | None, channels: int) -> ir.Value | None:
    """Follows broadcasts back to a value with one element per channel, or one in all."""
    while True:
        struct = struct_of(value.type)
        if struct is None:
            return None
        along = axis is not None and struct.shape[axis] == channels
        if struct.size == 1 or (along and struct.size == channels):
            return value
        if isinstance(value, ir.BlockArgument):
            return None
        operation = value.owner
        if operation.name != "stablehlo.broadcast_in_dim":
            return None
        axes = integers(operation, "broadcast_dimensions")
        axis = axes.index(axis) if axis in axes else None
        value = operation.operands[0]


@dataclass(frozen=True)
class _Factor:
    """The product of a chain's factors, for each channel."""

    kinds: tuple[str, ...]
    channels: int

    def __call__(self, *operands: jax.Array) -> jax.Array:
        factor = None
        for kind, operand in zip(self.kinds, operands, strict=True):
            flat = jnp.broadcast_to(operand.reshape(-1), (self.channels,))
            if kind == "multiply":
                factor = flat if factor is None else factor * flat
            elif kind == "divide":
                factor = 1 / flat if factor is None else factor / flat
        assert factor is not None
        return factor


@dataclass(frozen=True)
class _Shift:
    """What a chain makes of zero, for each channel."""

    kinds: tuple[str, ...]
    channels: int

    def __call__(self, *operands: jax.Array) -> jax.Array:
        shift = None
        for kind, operand in zip(self.kinds, operands, strict=True):
            flat = jnp.broadcast_to(operand.reshape(-1), (self.channels,))
            match kind:
                case "add":
                    shift = flat if shift is None else shift + flat
                case "subtract":
                    shift = -flat if shift is None else shift - flat
                case "multiply" if shift is not None:
                    shift = shift * flat
                case "divide" if shift is not None:
                    shift = shift / flat
        assert shift is not None
        return shift


@dataclass(frozen=True)
class _Scaled:
    """A kernel times a factor for each output channel."""

    layout: Layout

    def __call__(self, kernel: jax.Array, factor: jax.Array) -> jax.Array:
        sizes = [1] * kernel.ndim
        sizes[self.layout.kernel[-1]] = -1
        return kernel * factor.reshape(sizes)


@dataclass(frozen=True)
class _Shifted:
    axis: int

    def __call__(self, result: jax.Array, shift: jax.Array) -> jax.Array:
        sizes = [1] * result.ndim
        sizes[self.axis] = -1
        return result + shift.reshape(sizes)


def _fold(convolution: ir.Operation, chain: list[_Link]) -> None:
    described = read(convolution)
    assert described is not None
    layout, channels = described[1], described[0].output_channels
    kinds = tuple(link.kind for link in chain)
    operands = [link.per_channel for link in chain]
    end = chain[-1].operation
    # The chain's operands may be made after the convolution: everything moves to the chain's end.
    factor = insert_before(end, _Factor(kinds, channels), operands)
    kernel = insert_before(end, _Scaled(layout), [convolution.operands[1], factor])
    scaled = convolution.clone(ir.InsertionPoint(end)).operation
    scaled.operands[1] = kernel
    result = scaled.results[0]
    if {"add", "subtract"} & set(kinds):
        shift = insert_before(end, _Shift(kinds, channels), operands)
        axis = layout.output.index(len(layout.output) - 1)
        result = insert_before(end, _Shifted(axis), [result, shift])
    end.results[0].replace_all_uses_with(result)
    erase_unused([convolution, *(link.operation for link in chain)])
