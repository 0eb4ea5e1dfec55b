"""Single trees of scikit-learn, and how its trees are read."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from roundhouse_export.estimators.part import (
    Array,
    Building,
    Part,
    Weights,
    by_probabilities,
    join,
    regressor,
    single_output,
)
from roundhouse_export.estimators.registry import translates
from roundhouse_export.estimators.tree_program import Tree, tree_program


@translates("DecisionTreeClassifier", "ExtraTreeClassifier")
def _classifier(estimator: Any, build: Building, path: str) -> Part:
    classes = single_output(estimator, path)
    values = tree_values([read_tree(estimator, probabilities(estimator))], build, path)
    return by_probabilities(lambda x, w: values(x, w)[0], classes)


@translates("DecisionTreeRegressor", "ExtraTreeRegressor")
def _regressor(estimator: Any, build: Building, path: str) -> Part:
    values = tree_values([read_tree(estimator, targets(estimator))], build, path)
    return regressor(lambda x, w: flat(values(x, w)[0]))


def flat(values: Array) -> Array:
    """[n, 1] as [n]; several targets stay as they are."""
    return values[:, 0] if values.shape[1] == 1 else values


def probabilities(estimator: Any) -> np.ndarray:
    """The shares of the classes at every node, [nodes, classes]."""
    counts = np.asarray(estimator.tree_.value)[:, 0, :]
    total = counts.sum(axis=1, keepdims=True)
    return counts / np.where(total == 0, 1, total)


def targets(estimator: Any) -> np.ndarray:
    """[nodes, targets]."""
    return np.asarray(estimator.tree_.value)[:, :, 0]


def read_tree(
    estimator: Any, value: np.ndarray, columns: Sequence[int] | np.ndarray | None = None
) -> Tree:
    """``columns`` are the places in a row of the features that the tree was given."""
    inner = estimator.tree_
    own = np.arange(inner.node_count)
    leaf = inner.children_left < 0
    feature = np.where(leaf, 0, inner.feature)
    if columns is not None:
        feature = np.asarray(columns)[feature]
    missing = getattr(inner, "missing_go_to_left", np.zeros(inner.node_count))
    return Tree(
        feature=feature,
        threshold=np.asarray(inner.threshold),
        left=np.where(leaf, own, inner.children_left),
        right=np.where(leaf, own, inner.children_right),
        missing_left=np.asarray(missing, bool) & ~leaf,
        value=np.asarray(value, np.float64).reshape(inner.node_count, -1),
    )


def tree_values(
    trees: Sequence[Tree], build: Building, path: str, compared: Any = np.float32
) -> Any:
    """Adds the trees' weights; returns a function to [trees, n, width].

    scikit-learn makes rows f32 before it compares them, whatever they were; so does this.
    """
    program = tree_program(trees, build.dtype, compared)
    keys = {
        name: build.keep(path, join("trees", name), array)
        for name, array in program.weights.items()
    }

    def values(x: Array, weights: Weights) -> Array:
        return program.values(x, {name: weights[key] for name, key in keys.items()})

    return values
