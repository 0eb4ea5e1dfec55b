"""Attributes that passes leave for later ones; none is left in a finished program."""

from jaxlib.mlir import ir

from roundhouse_export.passes.main_function import main_block, nested, operations

STORED = "roundhouse.stored"
"""The result is a weight even where it is larger than what it is made of."""

CALLED = "roundhouse.called"
"""Done in every call, even to weights: parts of a weight are not stored apart."""

MARKERS = (STORED, CALLED)


def remove_markers(module: ir.Module) -> None:
    """Changes the module in place."""
    for operation in operations(main_block(module)):
        for each in nested(operation):
            for marker in MARKERS:
                if marker in each.attributes:
                    del each.attributes[marker]
