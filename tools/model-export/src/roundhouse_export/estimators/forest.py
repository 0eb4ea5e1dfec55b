"""Forests: trees whose answers are averaged."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from roundhouse_export.estimators.part import (
    LABEL,
    SCORES,
    Array,
    Building,
    Kind,
    Part,
    Weights,
    by_probabilities,
    regressor,
    single_output,
)
from roundhouse_export.estimators.registry import translates
from roundhouse_export.estimators.trees import (
    flat,
    probabilities,
    read_tree,
    targets,
    tree_values,
)

_TREES = (
    "DecisionTreeClassifier",
    "ExtraTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreeRegressor",
)


@translates("RandomForestClassifier", "ExtraTreesClassifier")
def _classifier(estimator: Any, build: Building, path: str) -> Part:
    classes = single_output(estimator, path)
    mean = mean_of_trees(build, path, estimator.estimators_, len(classes))
    return by_probabilities(mean, classes)


@translates("RandomForestRegressor", "ExtraTreesRegressor")
def _regressor(estimator: Any, build: Building, path: str) -> Part:
    return regressor(mean_of_trees(build, path, estimator.estimators_))


def are_trees(estimators: Sequence[Any]) -> bool:
    return all(
        type(each).__name__ in _TREES and type(each).__module__.startswith("sklearn.")
        for each in estimators
    )


def mean_of_trees(
    build: Building,
    path: str,
    estimators: Sequence[Any],
    classes: int | None = None,
    columns: Sequence[np.ndarray] | None = None,
) -> Any:
    """The mean of trees, [n, classes], or [n] where ``classes`` is None and there is one target.

    Leaves are divided by the number of trees at export, so that the sum is the mean.
    """
    trees = []
    for at, each in enumerate(estimators):
        value = targets(each)
        if classes is not None:
            value = np.zeros((each.tree_.node_count, classes))
            # A bag may lack a class; its members number the classes of the whole.
            value[:, np.asarray(each.classes_).astype(int)] = probabilities(each)
        trees.append(read_tree(each, value / len(estimators), columns[at] if columns else None))
    values = tree_values(trees, build, path)

    def mean(x: Array, weights: Weights) -> Array:
        found = jnp.sum(values(x, weights), axis=0)
        return found if classes is not None else flat(found)

    return mean


@translates("IsolationForest")
def _isolation(estimator: Any, build: Building, path: str) -> Part:
    trees = [
        read_tree(
            each,
            (np.asarray(depths) + np.asarray(further) - 1.0)[:, None],
            columns,
        )
        for each, columns, depths, further in zip(
            estimator.estimators_,
            estimator.estimators_features_,
            estimator._decision_path_lengths,
            estimator._average_path_length_per_tree,
            strict=True,
        )
    ]
    values = tree_values(trees, build, path)
    usual = len(trees) * _average_path(estimator._max_samples)
    offset = float(estimator.offset_)

    def apply(x: Array, weights: Weights) -> dict[str, Array]:
        depth = jnp.sum(values(x, weights)[:, :, 0], axis=0)
        share = depth / usual if usual else jnp.ones_like(depth)
        scores = -(2.0**-share) - offset
        return {LABEL: jnp.where(scores < 0, -1, 1), SCORES: scores}

    return Part(Kind.OUTLIERS, apply)


def _average_path(samples: float) -> float:
    """Steps that a search without success takes in a random tree of so many samples."""
    if samples <= 1:
        return 0.0
    if samples <= 2:
        return 1.0
    return float(2 * (np.log(samples - 1) + np.euler_gamma) - 2 * (samples - 1) / samples)
