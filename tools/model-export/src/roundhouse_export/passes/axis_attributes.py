"""Attributes of operations with a value for each axis."""

import numpy as np
from jaxlib.mlir import ir

Pairs = tuple[tuple[int, int], ...]


def integers(operation: ir.Operation, name: str, rank: int | None = None) -> tuple[int, ...]:
    """Returns an attribute's values; with ``rank`` they are 1 where it is not there."""
    if rank is not None and name not in operation.attributes:
        return (1,) * rank
    return tuple(ir.DenseI64ArrayAttr(operation.attributes[name]))


def padding(operation: ir.Operation, rank: int) -> Pairs:
    """Returns what is added before and after each axis; negative values cut off."""
    if "padding" not in operation.attributes:
        return ((0, 0),) * rank
    pairs = np.array(operation.attributes["padding"]).reshape(rank, 2)
    return tuple((int(low), int(high)) for low, high in pairs)
