"""A convolution of StableHLO: what it computes, apart from how its operands lie."""

from dataclasses import asdict, dataclass, replace
from typing import Any

import jax
import numpy as np
from jax import lax
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from roundhouse_export import dtypes
from roundhouse_export.passes.axis_attributes import Pairs, integers, padding
from roundhouse_export.passes.order import inverse
from roundhouse_export.passes.tensor_types import struct_of


@dataclass(frozen=True)
class Convolution:
    """Sizes with channels last: input is n, space, channels; kernel is space, in, out.

    ``in`` of the kernel are the channels of one group. Types are tokens of the manifest.
    """

    input: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    padding: Pairs
    input_dilation: tuple[int, ...]
    kernel_dilation: tuple[int, ...]
    groups: int
    input_type: str = "f32"
    kernel_type: str = "f32"
    output_type: str = "f32"
    precision: str = ""

    @property
    def rank(self) -> int:
        """How many axes are of space."""
        return len(self.strides)

    @property
    def window(self) -> tuple[int, ...]:
        return self.kernel[: self.rank]

    @property
    def channels(self) -> int:
        return self.input[-1]

    @property
    def output_channels(self) -> int:
        return self.kernel[-1]

    @property
    def output(self) -> tuple[int, ...]:
        """Sizes of the result, channels last."""
        space = tuple(
            (padded - reach) // stride + 1 if padded >= reach else 0
            for padded, reach, stride in zip(
                self.padded_space, self._reach(), self.strides, strict=True
            )
        )
        return (self.input[0], *space, self.output_channels)

    @property
    def padded_space(self) -> tuple[int, ...]:
        """Sizes of space after dilation of the input and padding."""
        return tuple(
            max(0, (size - 1) * dilation + 1) + low + high
            for size, dilation, (low, high) in zip(
                self.input[1:-1], self.input_dilation, self.padding, strict=True
            )
        )

    @property
    def lax_precision(self) -> Any:
        """The precision of products as JAX wants it; None where nothing is said."""
        names = self.precision.split()
        return tuple(lax.Precision[name] for name in names) if names else None

    @property
    def numpy_output_type(self) -> np.dtype:
        return dtypes.numpy_dtype(self.output_type)

    @property
    def layer(self) -> "Convolution":
        """The same for any number of rows: what one way of computing is chosen for."""
        return replace(self, input=(0, *self.input[1:]))

    def describe(self) -> str:
        """One line that tells convolutions apart, and that a person can read."""
        sizes = [
            f"{_by(self.input)} {self.input_type}",
            f"kernel {_by(self.kernel)} {self.kernel_type}",
            f"to {self.output_type}",
            f"strides {_by(self.strides)}",
            "padding " + " ".join(f"{low}:{high}" for low, high in self.padding),
        ]
        if set(self.input_dilation) != {1}:
            sizes.append(f"input dilation {_by(self.input_dilation)}")
        if set(self.kernel_dilation) != {1}:
            sizes.append(f"dilation {_by(self.kernel_dilation)}")
        if self.groups != 1:
            sizes.append(f"groups {self.groups}")
        if self.precision:
            sizes.append(f"precision {self.precision}")
        return ", ".join(sizes)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(fields: dict[str, Any]) -> "Convolution":
        given: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in fields.items()
        }
        given["padding"] = tuple((low, high) for low, high in fields["padding"])
        return Convolution(**given)

    def _reach(self) -> tuple[int, ...]:
        return tuple(
            (size - 1) * dilation + 1
            for size, dilation in zip(self.window, self.kernel_dilation, strict=True)
        )


@dataclass(frozen=True)
class Layout:
    """How the operands of an operation lie: permutations to and from channels last.

    ``reversed_axes`` are axes of space along which the kernel runs backwards.
    """

    input: tuple[int, ...]
    kernel: tuple[int, ...]
    output: tuple[int, ...]
    reversed_axes: tuple[int, ...] = ()

    @property
    def plain(self) -> bool:
        moved = (tuple(range(len(each))) != each for each in (self.input, self.kernel, self.output))
        return not self.reversed_axes and not any(moved)


def read(operation: ir.Operation) -> tuple[Convolution, Layout] | None:
    """Reads a ``stablehlo.convolution``; None for what no lowering knows.

    That is types without a place in a bundle, and groups of rows, which only gradients have.
    """
    attributes = operation.attributes
    values = (*operation.operands, operation.results[0])
    structs = [struct_of(value.type) for value in values]
    if ir.IntegerAttr(attributes["batch_group_count"]).value != 1:
        return None
    if any(struct is None or 0 in struct.shape for struct in structs):
        return None
    image, kernel, result = (struct for struct in structs if struct is not None)
    layout = _layout(operation)
    rank = len(image.shape) - 2
    precision = ""
    if "precision_config" in attributes:
        names = [_precision_name(each) for each in ir.ArrayAttr(attributes["precision_config"])]
        precision = "" if set(names) == {"DEFAULT"} else " ".join(names)
    convolution = Convolution(
        _permuted(image, layout.input),
        _permuted(kernel, layout.kernel),
        integers(operation, "window_strides", rank),
        padding(operation, rank),
        integers(operation, "lhs_dilation", rank),
        integers(operation, "rhs_dilation", rank),
        ir.IntegerAttr(attributes["feature_group_count"]).value,
        dtypes.token_of(image.dtype),
        dtypes.token_of(kernel.dtype),
        dtypes.token_of(result.dtype),
        precision,
    )
    return convolution, layout


def _layout(operation: ir.Operation) -> Layout:
    numbers = _numbers(operation)
    output = (
        numbers.output_batch_dimension,
        *numbers.output_spatial_dimensions,
        numbers.output_feature_dimension,
    )
    backwards: tuple[int, ...] = ()
    if "window_reversal" in operation.attributes:
        flags = list(ir.DenseBoolArrayAttr(operation.attributes["window_reversal"]))
        backwards = tuple(axis for axis, flag in enumerate(flags) if flag)
    return Layout(
        (
            numbers.input_batch_dimension,
            *numbers.input_spatial_dimensions,
            numbers.input_feature_dimension,
        ),
        (
            *numbers.kernel_spatial_dimensions,
            numbers.kernel_input_feature_dimension,
            numbers.kernel_output_feature_dimension,
        ),
        inverse(output),
        backwards,
    )


def _numbers(operation: ir.Operation) -> Any:
    return stablehlo.ConvDimensionNumbers(operation.attributes["dimension_numbers"])


def _permuted(struct: jax.ShapeDtypeStruct, axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(struct.shape[axis]) for axis in axes)


def _precision_name(attribute: ir.Attribute) -> str:
    return str(attribute).removeprefix("#stablehlo<precision ").removesuffix(">")


def _by(sizes: tuple[int, ...]) -> str:
    return "x".join(map(str, sizes))
