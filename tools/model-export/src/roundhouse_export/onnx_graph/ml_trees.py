"""Ensembles of trees of ``ai.onnx.ml``, by the same programs as estimators' own."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from roundhouse_export.estimators.tree_program import Tree, below, sum_groups, tree_program
from roundhouse_export.onnx_graph.ml_scores import (
    TRANSFORMS,
    chosen,
    count_of,
    labels_of,
    post_transform,
    rows_of,
)
from roundhouse_export.onnx_graph.registry import ML, Node, operator

Array = Any
_MODES = (
    "BRANCH_LEQ",
    "BRANCH_LT",
    "BRANCH_GTE",
    "BRANCH_GT",
    "BRANCH_EQ",
    "BRANCH_NEQ",
    "BRANCH_MEMBER",
)
_AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")


class _Growing:
    """One tree while its nodes are written down; leaves get their values at once."""

    def __init__(self, node: Node, width: int, dtype: np.dtype[Any]) -> None:
        self._dtype = dtype
        self._node = node
        self._width = width
        self._rows: list[tuple[int, float, int, int, bool]] = []
        self._values: list[np.ndarray] = []

    def leaf(self, value: np.ndarray) -> int:
        at = self._append(value)
        self._rows[at] = (0, 0.0, at, at, False)
        return at

    def branch(
        self,
        mode: str,
        feature: int,
        split: float,
        missing: bool,
        children: Callable[[bool], int],
    ) -> int:
        """Writes a decision as one or two of ``x <= threshold``; ``missing``: NaN is true."""
        at = self._append()
        match mode:
            case "BRANCH_LEQ" | "BRANCH_LT":
                threshold = split if mode == "BRANCH_LEQ" else self._below(split)
                left, right, goes_left = children(True), children(False), missing
            case "BRANCH_GT" | "BRANCH_GTE":
                threshold = split if mode == "BRANCH_GT" else self._below(split)
                left, right, goes_left = children(False), children(True), not missing
            case "BRANCH_EQ" | "BRANCH_NEQ":
                equal = mode == "BRANCH_EQ"
                threshold = self._below(split)
                left, then = children(not equal), children(equal)
                right = self._append()
                self._rows[right] = (feature, split, then, left, missing and equal)
                goes_left = False  # the second decision knows what is missing
            case _:
                raise self._node.refuse(f"nodes of mode {mode} are not supported")
        self._rows[at] = (feature, threshold, left, right, goes_left)
        return at

    def _below(self, split: float) -> float:
        return float(below(np.asarray(split), self._dtype))

    def tree(self) -> Tree:
        feature, threshold, left, right, missing_left = (
            np.array(column) for column in zip(*self._rows, strict=True)
        )
        return Tree(feature, threshold, left, right, missing_left, np.stack(self._values))

    def _append(self, value: np.ndarray | None = None) -> int:
        self._rows.append((0, 0.0, 0, 0, False))
        self._values.append(np.zeros(self._width) if value is None else value)
        return len(self._rows) - 1


@operator("TreeEnsembleRegressor", domain=ML)
def _regressor(node: Node, x: Array) -> Array:
    x, targets = rows_of(x), int(node.get("n_targets", 1))
    trees = _older(node, "target", targets, x.dtype)
    aggregate = node.get("aggregate_function", "SUM")
    scores = _aggregate(node, trees, targets, aggregate, x, _base(node, targets))
    return post_transform(node, node.get("post_transform", "NONE"), scores)


@operator("TreeEnsembleClassifier", domain=ML)
def _classifier(node: Node, x: Array) -> tuple[Array, Array]:
    x, labels = rows_of(x), labels_of(node, "classlabels_int64s")
    count = count_of(labels)
    spoken = np.asarray(node.get("class_ids"))
    transform = node.get("post_transform", "NONE")
    if count == 2 and len(np.unique(spoken)) == 1:
        return _one_score(node, labels, int(spoken[0]), transform, x)
    trees = _older(node, "class", count, x.dtype)
    scores = _aggregate(node, trees, count, "SUM", x, _base(node, count))
    return chosen(labels, jnp.argmax(scores, axis=1)), post_transform(node, transform, scores)


def _one_score(
    node: Node, labels: np.ndarray | int, spoken: int, transform: str, x: Array
) -> tuple[Array, Array]:
    """Two classes of which trees only mention one: a probability, or a score with a sign."""
    trees = _older(node, "class", 2, x.dtype)
    base = np.asarray(node.get("base_values") or [0.0], np.float64)
    if len(base) > 1:
        raise node.refuse("base_values of two classes beside scores of one are not supported")
    score = _aggregate(node, trees, 2, "SUM", x, np.zeros(2))[:, spoken]
    score = score + base[0].astype(score.dtype)
    positive = (np.asarray(_weights(node, "class_weights")) >= 0).all()
    index = (score > (0.5 if positive else 0)).astype(np.int32)
    if positive:
        shares = jnp.stack([1 - score, score], axis=1)
    else:
        shares = jnp.stack([-score, score], axis=1)
        if transform == "LOGISTIC":
            shares = post_transform(node, transform, shares)
    return chosen(labels, index), shares


def _base(node: Node, count: int) -> np.ndarray:
    base = np.asarray(_weights(node, "base_values") or [0.0], np.float64)
    return np.broadcast_to(base, count)


def _weights(node: Node, name: str) -> list[float]:
    """A list, or the tensor of doubles that takes its place from version 3 on."""
    found = node.get(name)
    if found is None or not len(found):
        found = node.get(f"{name}_as_tensor")
    return [] if found is None else np.asarray(found, np.float64).ravel().tolist()


def _older(node: Node, kind: str, width: int, dtype: np.dtype[Any]) -> list[Tree]:
    """Trees as versions 1 and 3 list them: nodes by tree and number, then leaves' weights."""
    ids = list(zip(node.get("nodes_treeids"), node.get("nodes_nodeids"), strict=True))
    place = {key: at for at, key in enumerate(ids)}
    leaves: dict[tuple[int, int], np.ndarray] = defaultdict(lambda: np.zeros(width))
    for tree, number, target, weight in zip(
        node.get(f"{kind}_treeids"),
        node.get(f"{kind}_nodeids"),
        node.get(f"{kind}_ids"),
        _weights(node, f"{kind}_weights"),
        strict=True,
    ):
        leaves[tree, number][target] += weight
    modes, features = node.get("nodes_modes"), node.get("nodes_featureids")
    splits = _weights(node, "nodes_values")
    missing = node.get("nodes_missing_value_tracks_true") or [0] * len(ids)
    links = {True: node.get("nodes_truenodeids"), False: node.get("nodes_falsenodeids")}

    def grow(growing: _Growing, tree: int, number: int) -> int:
        at = place[tree, number]
        if modes[at] == "LEAF":
            return growing.leaf(leaves[tree, number])
        return growing.branch(
            modes[at],
            features[at],
            splits[at],
            bool(missing[at]),
            lambda side: grow(growing, tree, links[side][at]),
        )

    trees = []
    for tree in dict.fromkeys(tree for tree, _ in ids):
        inner = [at for at, (owner, _) in enumerate(ids) if owner == tree]
        reached = {links[side][at] for side in links for at in inner if modes[at] != "LEAF"}
        roots = [ids[at][1] for at in inner if ids[at][1] not in reached]
        if len(roots) != 1:
            raise node.refuse(f"tree {tree} has {len(roots)} roots")
        growing = _Growing(node, width, dtype)
        grow(growing, tree, roots[0])
        trees.append(growing.tree())
    return trees


@operator("TreeEnsemble", since=5, domain=ML)
def _ensemble(node: Node, x: Array) -> Array:
    x, targets = rows_of(x), int(node.get("n_targets", 1))
    scores = _aggregate(
        node,
        _newer(node, targets, x.dtype),
        targets,
        _AGGREGATES[node.get("aggregate_function", 1)],
        x,
        np.zeros(targets),
    )
    return post_transform(node, TRANSFORMS[node.get("post_transform", 0)], scores)


def _newer(node: Node, width: int, dtype: np.dtype[Any]) -> list[Tree]:
    """Trees as version 5 lists them: links go to nodes, or to leaves where a flag says so."""
    modes = np.asarray(node.get("nodes_modes")).ravel()
    splits = np.asarray(node.get("nodes_splits"), np.float64).ravel()
    features = node.get("nodes_featureids")
    missing = node.get("nodes_missing_value_tracks_true") or [0] * len(features)
    links = {True: node.get("nodes_truenodeids"), False: node.get("nodes_falsenodeids")}
    ends = {True: node.get("nodes_trueleafs"), False: node.get("nodes_falseleafs")}
    targets = node.get("leaf_targetids")
    weights = np.asarray(node.get("leaf_weights"), np.float64).ravel()

    def child(growing: _Growing, at: int, side: bool) -> int:
        to = links[side][at]
        if not ends[side][at]:
            return grow(growing, to)
        value = np.zeros(width)
        value[targets[to]] = weights[to]
        return growing.leaf(value)

    def grow(growing: _Growing, at: int) -> int:
        return growing.branch(
            _MODES[int(modes[at])],
            features[at],
            splits[at],
            bool(missing[at]),
            lambda side: child(growing, at, side),
        )

    trees = []
    for root in node.get("tree_roots"):
        growing = _Growing(node, width, dtype)
        grow(growing, root)
        trees.append(growing.tree())
    return trees


def _aggregate(
    node: Node,
    trees: Sequence[Tree],
    targets: int,
    how: str,
    x: Array,
    base: np.ndarray,
) -> Array:
    dtype = np.dtype(x.dtype)
    groups = None if how in ("MIN", "MAX") else _one_target_each(trees)
    if groups is not None:
        trees = [_narrowed(tree, group) for tree, group in zip(trees, groups, strict=True)]
    program = tree_program(trees, dtype)
    values = program.values(x, program.weights)
    match how:
        case "SUM" | "AVERAGE":
            if groups is None:
                total = jnp.sum(values, axis=0)
            else:
                total = sum_groups(values, groups, targets)
            total = total / len(trees) if how == "AVERAGE" else total
        case "MIN":
            total = jnp.min(values, axis=0)
        case "MAX":
            total = jnp.max(values, axis=0)
        case _:
            raise node.refuse(f"aggregate_function {how!r} is not supported")
    return total + base.astype(dtype)


def _one_target_each(trees: Sequence[Tree]) -> np.ndarray | None:
    """The one target of every tree, so that the others need not be stored; None if one has more."""
    groups = []
    for tree in trees:
        spoken = np.flatnonzero((tree.value != 0).any(axis=0))
        if len(spoken) > 1:
            return None
        groups.append(int(spoken[0]) if len(spoken) else 0)
    return np.asarray(groups)


def _narrowed(tree: Tree, group: int) -> Tree:
    value = tree.value[:, group : group + 1]
    return Tree(tree.feature, tree.threshold, tree.left, tree.right, tree.missing_left, value)
