"""Values of expressions over weights: by numpy where it is exact everywhere, else by XLA.

Numpy's moves, conversions and single operations of arithmetic are the same on every processor;
what XLA makes of several operations may differ in the last bit between kinds of processors.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import jax
import numpy as np
from jax.interpreters.mlir import make_ir_context
from jaxlib import _jax, xla_client
from jaxlib.mlir import ir

from roundhouse_export.passes.axis_attributes import integers
from roundhouse_export.passes.main_function import main_block, operations
from roundhouse_export.passes.tensor_types import struct_of

Arrays = Sequence[np.ndarray]


def evaluate(text: str, arrays: Arrays) -> np.ndarray:
    """Runs ``@main`` of a module with one result."""
    with make_ir_context():
        module = ir.Module.parse(text)  # its block does not keep it alive
        block = main_block(module)
        *body, end = operations(block)
        if all(_by_numpy(operation) for operation in body):
            return _evaluate_by_numpy(block, body, end, arrays)
    return _evaluate_by_xla(text, arrays)


def _evaluate_by_numpy(
    block: ir.Block, body: Sequence[ir.Operation], end: ir.Operation, arrays: Arrays
) -> np.ndarray:
    values: dict[ir.Value, np.ndarray] = dict(zip(block.arguments, arrays, strict=True))
    with np.errstate(all="ignore"):
        for operation in body:
            operands = [values[operand] for operand in operation.operands]
            struct = struct_of(operation.results[0].type)
            assert struct is not None
            value = _OPERATIONS[operation.name](operation, struct, *operands)
            values[operation.results[0]] = np.asarray(value, struct.dtype, order="C")
    return values[end.operands[0]]


def _evaluate_by_xla(text: str, arrays: Arrays) -> np.ndarray:
    device = jax.devices("cpu")[0]
    with jax.enable_x64(True):  # keeps 64-bit arguments from being narrowed
        buffers = [jax.device_put(array, device) for array in arrays]
    results = _compiled(text).execute_sharded(buffers).disassemble_into_single_device_arrays()
    return np.array(results[0][0], order="C")


@lru_cache(maxsize=256)
def _compiled(text: str) -> Any:
    device = jax.devices("cpu")[0]
    return device.client.compile_and_load(
        text.encode(), _jax.DeviceList((device,)), xla_client.CompileOptions()
    )


def _by_numpy(operation: ir.Operation) -> bool:
    if operation.name not in _OPERATIONS or struct_of(operation.results[0].type) is None:
        return False
    structs = [struct_of(operand.type) for operand in operation.operands]
    if operation.name == "stablehlo.constant":
        return _reads(operation)
    if operation.name == "stablehlo.convert":
        # Out of range and NaN to integers are whatever the processor does.
        made = struct_of(operation.results[0].type)
        return made is not None and made.dtype.kind not in "iub"
    if operation.name == "stablehlo.divide":
        return all(struct is not None and struct.dtype.kind not in "iu" for struct in structs)
    return all(struct is not None for struct in structs)


def _reads(operation: ir.Operation) -> bool:
    try:
        np.array(operation.attributes["value"])
    except TypeError:  # bf16 and f8 have no buffer
        return False
    return True


def _constant(operation: ir.Operation, struct: jax.ShapeDtypeStruct) -> np.ndarray:
    value = np.array(operation.attributes["value"])
    return np.broadcast_to(value, struct.shape)


def _broadcast(
    operation: ir.Operation, struct: jax.ShapeDtypeStruct, array: np.ndarray
) -> np.ndarray:
    axes = integers(operation, "broadcast_dimensions")
    sizes = [1] * len(struct.shape)
    for axis, size in zip(axes, array.shape, strict=True):
        sizes[axis] = size
    order = np.argsort(axes)
    return np.broadcast_to(array.transpose(order).reshape(sizes), struct.shape)


def _slice(operation: ir.Operation, _: jax.ShapeDtypeStruct, array: np.ndarray) -> np.ndarray:
    bounds = (integers(operation, name) for name in ("start_indices", "limit_indices", "strides"))
    return array[tuple(slice(*each) for each in zip(*bounds, strict=True))]


def _concatenate(
    operation: ir.Operation, _: jax.ShapeDtypeStruct, *arrays: np.ndarray
) -> np.ndarray:
    return np.concatenate(arrays, ir.IntegerAttr(operation.attributes["dimension"]).value)


def _elementwise(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda _, __, *arrays: function(*arrays)


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "stablehlo.constant": _constant,
    "stablehlo.transpose": lambda operation, _, array: array.transpose(
        integers(operation, "permutation")
    ),
    "stablehlo.reshape": lambda _, struct, array: array.reshape(struct.shape),
    "stablehlo.convert": lambda _, struct, array: array.astype(struct.dtype),
    "stablehlo.broadcast_in_dim": _broadcast,
    "stablehlo.slice": _slice,
    "stablehlo.concatenate": _concatenate,
    "stablehlo.reverse": lambda operation, _, array: np.flip(
        array, integers(operation, "dimensions")
    ),
    "stablehlo.add": _elementwise(np.add),
    "stablehlo.subtract": _elementwise(np.subtract),
    "stablehlo.multiply": _elementwise(np.multiply),
    "stablehlo.divide": _elementwise(np.divide),
    "stablehlo.negate": _elementwise(np.negative),
    "stablehlo.sqrt": _elementwise(np.sqrt),
    "stablehlo.rsqrt": _elementwise(lambda x: np.reciprocal(np.sqrt(x))),
}
