"""Three programs that find the leaves of all trees at once, for columns [features, n].

Rows lie along the last axis throughout, so that a decision at one node is one run over memory.
A number that is missing is not ``<=`` anything, and so goes right.
Each returns its weights, and ``walk(columns, weights)`` that gives [trees, n, width].
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

if TYPE_CHECKING:
    from roundhouse_export.estimators.tree_program import Tree

Array = Any
Walk = Callable[[Array, Mapping[str, Array]], Array]
Built = tuple[dict[str, np.ndarray], Walk]


def product(trees: Sequence["Tree"], dtype: np.dtype[Any]) -> Built:
    """Makes every decision of a tree; the leaf is where as many agree as lie on its path."""
    inner = max(1, *(int((~tree.leaf).sum()) for tree in trees))
    leaves = max(int(_paths(tree)[0].shape[0]) for tree in trees)
    width = trees[0].value.shape[1]
    weights = {
        "feature": np.zeros((len(trees), inner), np.int32),
        "threshold": np.zeros((len(trees), inner), trees[0].threshold.dtype),
        "path": np.zeros((len(trees), leaves, inner), np.float32),
        "wanted": np.full((len(trees), leaves), -1, np.float32),  # no leaf: never reached
        "value": np.zeros((len(trees), leaves, width), dtype),
    }
    for at, tree in enumerate(trees):
        nodes = np.flatnonzero(~tree.leaf)
        weights["feature"][at, : len(nodes)] = tree.feature[nodes]
        weights["threshold"][at, : len(nodes)] = tree.threshold[nodes]
        paths, ends = _paths(tree)
        weights["path"][at, : len(paths), : len(nodes)] = paths[:, nodes]
        # A path counts its decisions to the left; any decision to the right takes one away.
        weights["wanted"][at, : len(paths)] = (paths > 0).sum(axis=1)
        weights["value"][at, : len(paths)] = tree.value[ends]

    def walk(columns: Array, held: Mapping[str, Array]) -> Array:
        seen = _pick(columns, held["feature"])
        left = (seen <= held["threshold"][:, :, None]).astype(np.float32)
        agreed = jnp.einsum("tli,tin->tln", held["path"], left)
        reached = agreed == held["wanted"][:, :, None]
        return jnp.einsum(
            "tlw,tln->tnw",
            held["value"],
            reached.astype(dtype),
            precision=jax.lax.Precision.HIGHEST,
        )

    return weights, walk


def _paths(tree: "Tree") -> tuple[np.ndarray, np.ndarray]:
    """For every leaf, 1 at nodes left by the left, -1 by the right; and the leaves' nodes."""
    found: list[np.ndarray] = []
    ends: list[int] = []
    waiting = [(0, np.zeros(len(tree.left), np.int8))]
    while waiting:
        node, path = waiting.pop()
        if tree.left[node] == node:
            found.append(path)
            ends.append(node)
            continue
        for child, sign in ((tree.left[node], 1), (tree.right[node], -1)):
            further = path.copy()
            further[node] = sign
            waiting.append((int(child), further))
    return np.stack(found), np.asarray(ends)


def perfect(trees: Sequence["Tree"], depth: int, dtype: np.dtype[Any]) -> Built:
    """Fills trees up so that the children of place p are 2p and 2p + 1 of the next level."""
    weights: dict[str, np.ndarray] = {}
    level = [np.zeros(1, np.int64) for _ in trees]
    for at in range(depth):
        weights[f"feature.{at}"] = np.stack(
            [tree.feature[nodes] for tree, nodes in zip(trees, level, strict=True)]
        )
        weights[f"threshold.{at}"] = np.stack(
            [tree.threshold[nodes] for tree, nodes in zip(trees, level, strict=True)]
        )
        level = [
            np.stack([tree.left[nodes], tree.right[nodes]], axis=1).ravel()
            for tree, nodes in zip(trees, level, strict=True)
        ]
    leaves = [tree.value[nodes] for tree, nodes in zip(trees, level, strict=True)]
    weights["value"] = np.stack(leaves).astype(dtype)

    def walk(columns: Array, held: Mapping[str, Array]) -> Array:
        count, rows = len(trees), columns.shape[1]
        place = jnp.zeros((count, rows), np.int32)
        for at in range(depth):
            feature, threshold = held[f"feature.{at}"], held[f"threshold.{at}"]
            if at == 0:  # one node, so no place to look up
                right = ~(_pick(columns, feature[:, 0]) <= threshold[:, :1])
            else:
                node = place + (jnp.arange(count, dtype=np.int32) << at)[:, None]
                seen = _cells(columns, _pick(feature.reshape(-1), node))
                right = ~(seen <= _pick(threshold.reshape(-1), node))
            place = 2 * place + right.astype(np.int32)
        leaf = place + (jnp.arange(count, dtype=np.int32) << depth)[:, None]
        return _pick(held["value"].reshape(-1, held["value"].shape[2]), leaf)

    return weights, walk


def links(trees: Sequence["Tree"], depth: int, dtype: np.dtype[Any]) -> Built:
    """Follows links for as many steps as the deepest tree has; a leaf leads to itself."""
    starts = np.cumsum([0, *(len(tree.left) for tree in trees)])[:-1].astype(np.int32)
    children = [
        np.stack([tree.left, tree.right], axis=1) + start
        for tree, start in zip(trees, starts, strict=True)
    ]
    weights = {
        "feature": np.concatenate([tree.feature for tree in trees]),
        "threshold": np.concatenate([tree.threshold for tree in trees]),
        "children": np.concatenate(children).astype(np.int32),
        "root": starts,
        "value": np.concatenate([tree.value for tree in trees]).astype(dtype),
    }

    def walk(columns: Array, held: Mapping[str, Array]) -> Array:
        def step(_: Any, node: Array) -> Array:
            seen = _cells(columns, _pick(held["feature"], node))
            right = ~(seen <= _pick(held["threshold"], node))
            return _pick(held["children"].reshape(-1), 2 * node + right.astype(np.int32))

        node = jnp.broadcast_to(held["root"][:, None], (len(trees), columns.shape[1]))
        node = jax.lax.fori_loop(0, depth, step, node)
        return _pick(held["value"], node)

    return weights, walk


def _pick(table: Array, index: Array) -> Array:
    return jnp.asarray(table).at[index].get(mode="promise_in_bounds")


def _cells(columns: Array, feature: Array) -> Array:
    """The number of each row in the column that [trees, n] names for it."""
    rows = columns.shape[1]
    return _pick(columns.reshape(-1), feature * rows + jnp.arange(rows, dtype=np.int32))
