"""Orders of axes, as a transpose has them: which axis of its operand each axis of its result is."""

from collections.abc import Sequence

Order = tuple[int, ...]


def inverse(order: Sequence[int]) -> Order:
    """Returns the order that undoes this one."""
    return tuple(order.index(axis) for axis in range(len(order)))
