"""Decision trees as tensors: their nodes, and which of three programs walks them.

A row goes left at a node when ``x[feature] <= threshold``. Sources that compare otherwise say so
by another threshold: ``x < t`` is ``x <= below(t)``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import jax.numpy as jnp
import numpy as np

from roundhouse_export.estimators import tree_strategies

Array = Any


@dataclass(frozen=True)
class Tree:
    """Nodes from the root, 0. A leaf is its own left and right child; ``value`` is [nodes, width].

    Nodes may share children, and then the tree is walked as if each had its own.
    """

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    missing_left: np.ndarray
    value: np.ndarray

    @property
    def leaf(self) -> np.ndarray:
        return self.left == np.arange(len(self.left))

    def depth(self) -> int:
        """Decisions on the longest way from the root."""
        level = np.zeros(1, np.int64)
        depth = 0
        while True:
            level = np.unique(level[~self.leaf[level]])
            if not len(level):
                return depth
            if depth > len(self.left):
                raise ValueError("nodes of a tree form a ring")
            level = np.concatenate([self.left[level], self.right[level]])
            depth += 1


class Strategy(Enum):
    """How a program finds the leaves of a row."""

    PRODUCT = "every decision is made, and a product with the paths tells the leaf"
    PERFECT = "every tree is filled up to a perfect one, whose nodes need no links"
    LINKS = "nodes are followed by their links, all trees at once"


@dataclass(frozen=True)
class TreeProgram:
    """``values(x, weights)`` is [trees, n, width]: the value of the leaf in which each row ends."""

    strategy: Strategy
    weights: Mapping[str, np.ndarray]
    values: Callable[[Array, Mapping[str, Array]], Array]


def tree_program(
    trees: Sequence[Tree],
    dtype: np.dtype[Any],
    compared: np.dtype[Any] | None = None,
    strategy: Strategy | None = None,
) -> TreeProgram:
    """Returns a program whose leaves are of ``dtype``.

    Rows are compared as ``compared``: f32 where the source makes its rows f32 itself.
    """
    compared = np.dtype(compared or dtype)
    depth = max(tree.depth() for tree in trees)
    chosen = strategy or _choose(trees, depth)
    missing = any(bool((tree.missing_left & ~tree.leaf).any()) for tree in trees)
    features = 1 + max(int(tree.feature.max(initial=0)) for tree in trees)
    prepared = [_prepare(tree, compared, features if missing else 0) for tree in trees]
    match chosen:
        case Strategy.PRODUCT:
            weights, walk = tree_strategies.product(prepared, dtype)
        case Strategy.PERFECT:
            weights, walk = tree_strategies.perfect(prepared, depth, dtype)
        case Strategy.LINKS:
            weights, walk = tree_strategies.links(prepared, depth, dtype)

    def values(x: Array, held: Mapping[str, Array]) -> Array:
        columns = x[:, :features].T.astype(compared)
        if missing:
            # Nodes where a missing number goes left read a copy in which it is below everything.
            low = jnp.asarray(-np.inf, columns.dtype)
            columns = jnp.concatenate([columns, jnp.where(jnp.isnan(columns), low, columns)])
        return walk(columns, held)

    return TreeProgram(chosen, weights, values)


def _choose(trees: Sequence[Tree], depth: int) -> Strategy:
    """Perfect trees while they are not many times larger than the nodes that there are.

    Walking perfect trees was faster than following links at 500 trees of depth 8 (23 ms at
    best for 1,000 rows on two processors); the limits themselves have not been measured.
    """
    nodes = sum(len(tree.left) for tree in trees)
    if depth <= 2:
        return Strategy.PRODUCT
    if depth <= 12 and len(trees) << depth <= max(4 * nodes, 1 << 16):
        return Strategy.PERFECT
    return Strategy.LINKS


def _prepare(tree: Tree, dtype: np.dtype[Any], features: int) -> Tree:
    feature = np.where(tree.leaf, 0, tree.feature)
    feature = feature + np.where(tree.missing_left & ~tree.leaf, features, 0)
    threshold = round_down(np.where(tree.leaf, 0.0, tree.threshold), dtype)
    return Tree(
        feature.astype(np.int32), threshold, tree.left, tree.right, tree.missing_left, tree.value
    )


def round_down(threshold: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """The greatest number of ``dtype`` that is not above: ``x <= t`` is then the same for every x.

    Numbers too small for a normal float are avoided, as devices take them for zero.
    """
    with np.errstate(over="ignore"):
        rounded = np.asarray(threshold).astype(dtype)
    rounded = np.where(rounded > threshold, np.nextafter(rounded, dtype.type(-np.inf)), rounded)
    tiny = np.finfo(dtype).tiny
    rounded = np.where((rounded < 0) & (rounded > -tiny), -tiny, rounded)
    return np.where((rounded > 0) & (rounded < tiny), 0, rounded).astype(dtype)


def below(threshold: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """For thresholds of ``x < t``: the next number down of ``dtype``, for ``x <= below(t)``."""
    given = np.asarray(threshold).astype(dtype)
    return round_down(np.nextafter(given, dtype.type(-np.inf)), dtype).astype(np.float64)


def sum_groups(values: Array, groups: np.ndarray, outputs: int) -> Array:
    """Adds up [trees, n, 1] to [n, outputs], where each tree speaks for one output."""
    order = np.argsort(groups, kind="stable")
    counts = np.bincount(groups, minlength=outputs)
    flat = values[:, :, 0]
    if not np.array_equal(order, np.arange(len(groups))):
        flat = flat[order]
    if (counts == counts[0]).all():
        return jnp.sum(flat.reshape(outputs, counts[0], -1), axis=1).T
    ends = np.cumsum(counts)
    sums = [
        jnp.sum(flat[end - count : end], axis=0) for end, count in zip(ends, counts, strict=True)
    ]
    return jnp.stack(sums, axis=1)
