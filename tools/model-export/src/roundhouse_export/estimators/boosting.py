"""Gradient boosting of scikit-learn."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from roundhouse_export.estimators.part import (
    INDEX,
    PROBABILITIES,
    SCORES,
    Array,
    Building,
    Kind,
    Part,
    Weights,
    index_of_scores,
    refuse,
    regressor,
    single_output,
    two_columns,
)
from roundhouse_export.estimators.registry import translates
from roundhouse_export.estimators.tree_program import Tree, sum_groups
from roundhouse_export.estimators.trees import read_tree, targets, tree_values

_CONSTANT_STARTS = ("DummyClassifier", "DummyRegressor")


@translates("GradientBoostingRegressor")
def _gradient_regressor(estimator: Any, build: Building, path: str) -> Part:
    raw = _gradient_raw(estimator, build, path)
    return regressor(lambda x, w: raw(x, w)[:, 0])


@translates("GradientBoostingClassifier")
def _gradient_classifier(estimator: Any, build: Building, path: str) -> Part:
    # The exponential loss takes half of the logarithm of the odds for its scores.
    factor = 2 if estimator.loss == "exponential" else 1
    raw = _gradient_raw(estimator, build, path)
    return boosted_classifier(raw, single_output(estimator, path), factor)


def _gradient_raw(estimator: Any, build: Building, path: str) -> Any:
    start = estimator.init_
    if not isinstance(start, str) and type(start).__name__ not in _CONSTANT_STARTS:
        raise refuse(path, estimator, f"init={type(start).__name__} is not supported")
    nothing = np.zeros((1, estimator.n_features_in_), np.float32)
    first = build.numbers(path, "init_", estimator._raw_predict_init(nothing)[0])
    grown = estimator.estimators_
    trees = [
        read_tree(each, targets(each) * estimator.learning_rate)
        for each in np.asarray(grown).T.ravel()
    ]
    groups = np.repeat(np.arange(grown.shape[1]), grown.shape[0])
    values = tree_values(trees, build, path)
    return lambda x, w: sum_groups(values(x, w), groups, grown.shape[1]) + w[first]


@translates("HistGradientBoostingRegressor")
def _histogram_regressor(estimator: Any, build: Building, path: str) -> Part:
    raw = _histogram_raw(estimator, build, path)
    exponential = estimator.loss in ("poisson", "gamma")
    return regressor(lambda x, w: jnp.exp(raw(x, w)[:, 0]) if exponential else raw(x, w)[:, 0])


@translates("HistGradientBoostingClassifier")
def _histogram_classifier(estimator: Any, build: Building, path: str) -> Part:
    raw = _histogram_raw(estimator, build, path)
    return boosted_classifier(raw, single_output(estimator, path))


def _histogram_raw(estimator: Any, build: Building, path: str) -> Any:
    if getattr(estimator, "is_categorical_", None) is not None:
        at = np.flatnonzero(estimator.is_categorical_).tolist()
        raise refuse(path, estimator, f"columns {at} are categorical, which is not supported")
    rounds = estimator._predictors
    outputs = len(rounds[0])
    trees = [_read_nodes(each[k].nodes) for k in range(outputs) for each in rounds]
    groups = np.repeat(np.arange(outputs), len(rounds))
    first = build.numbers(path, "baseline", np.ravel(estimator._baseline_prediction))
    # Rows are compared in f64 there, and f32 rows say the same of thresholds rounded down.
    values = tree_values(trees, build, path, build.dtype)
    return lambda x, w: sum_groups(values(x, w), groups, outputs) + w[first]


def _read_nodes(nodes: np.ndarray) -> Tree:
    own = np.arange(len(nodes))
    leaf = nodes["is_leaf"].astype(bool)
    return Tree(
        feature=np.where(leaf, 0, nodes["feature_idx"]),
        threshold=np.where(leaf, 0.0, nodes["num_threshold"]),
        left=np.where(leaf, own, nodes["left"]),
        right=np.where(leaf, own, nodes["right"]),
        missing_left=nodes["missing_go_to_left"].astype(bool) & ~leaf,
        value=nodes["value"].astype(np.float64)[:, None],
    )


def boosted_classifier(raw: Any, classes: np.ndarray, factor: float = 1) -> Part:
    """From sums [n, 1] for two classes or [n, classes]."""

    def apply(x: Array, weights: Weights) -> dict[str, Array]:
        sums = raw(x, weights)
        if sums.shape[1] == 1:
            score = sums[:, 0]
            shares = two_columns(jax.nn.sigmoid(factor * score))
            return {INDEX: index_of_scores(score), SCORES: score, PROBABILITIES: shares}
        return {
            INDEX: jnp.argmax(sums, axis=1),
            SCORES: sums,
            PROBABILITIES: jax.nn.softmax(sums, axis=1),
        }

    return Part(Kind.CLASSIFIER, apply, classes)
