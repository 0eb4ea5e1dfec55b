"""Names of weights that are made of others: readable, unique and the same in every export."""

from collections.abc import Collection, Mapping

import numpy as np

from roundhouse_export.passes.expression import Expression

_SUFFIXES = {
    "transpose": "transposed",
    "reshape": "reshaped",
    "convert": "converted",
    "slice": "part",
    "concatenate": "joined",
}


def base_of(expression: Expression, weights: Mapping[str, np.ndarray]) -> str:
    """Returns the weight that most of the value comes from: the largest, the last of those.

    What is read last of batch normalisation's parameters is the bias, which its shift is named by.
    """
    return max(reversed(expression.leaves), key=lambda name: weights[name].nbytes)


def name_for(
    expression: Expression, weights: Mapping[str, np.ndarray], taken: Collection[str]
) -> str:
    """Returns the name of a weight that it replaces where one is free, else one with a suffix.

    ``taken`` are the names of weights that stay as they are and of those named before.
    """
    largest = weights[base_of(expression, weights)].nbytes
    for leaf in reversed(expression.leaves):
        if leaf not in taken and weights[leaf].nbytes == largest:
            return leaf
    suffix = "folded"
    if len(expression.steps) == 1:
        suffix = _SUFFIXES.get(next(iter(expression.steps)), suffix)
    return unique(f"{base_of(expression, weights)}.{suffix}", {*taken, *weights})


def unique(name: str, taken: Collection[str]) -> str:
    """Returns the name, with a number where it is taken."""
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name}.{number}"
    return found
