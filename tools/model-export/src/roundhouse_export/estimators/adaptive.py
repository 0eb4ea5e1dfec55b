"""AdaBoost: members that vote by weight."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from roundhouse_export.estimators.forest import are_trees
from roundhouse_export.estimators.part import (
    INDEX,
    PREDICTION,
    PROBABILITIES,
    SCORES,
    Array,
    Building,
    Kind,
    Part,
    Weights,
    index_of_scores,
    join,
    regressor,
    single_output,
)
from roundhouse_export.estimators.registry import translate, translates
from roundhouse_export.estimators.trees import probabilities, read_tree, targets, tree_values


@translates("AdaBoostClassifier")
def _classifier(estimator: Any, build: Building, path: str) -> Part:
    classes = single_output(estimator, path)
    count = len(classes)
    votes = _votes(estimator, build, path, classes)

    def apply(x: Array, weights: Weights) -> dict[str, Array]:
        # A member adds 1 to its class and takes away from the others what makes the sum 0.
        agreed = votes(x, weights)
        sums = agreed - (1 - agreed) / (count - 1)
        scores = sums[:, 1] - sums[:, 0] if count == 2 else sums
        spread = jnp.stack([-scores, scores], axis=1) / 2 if count == 2 else scores / (count - 1)
        return {
            INDEX: index_of_scores(scores),
            SCORES: scores,
            PROBABILITIES: jax.nn.softmax(spread, axis=1),
        }

    return Part(Kind.CLASSIFIER, apply, classes)


def _votes(estimator: Any, build: Building, path: str, classes: np.ndarray) -> Any:
    """The share of the weights that speaks for each class, [n, classes]."""
    members = estimator.estimators_
    share = np.asarray(estimator.estimator_weights_[: len(members)], np.float64)
    share = share / share.sum()
    if are_trees(members):
        trees = []
        for each, weight in zip(members, share, strict=True):
            chosen = np.searchsorted(classes, each.classes_[probabilities(each).argmax(axis=1)])
            trees.append(read_tree(each, weight * np.eye(len(classes))[chosen]))
        values = tree_values(trees, build, path)
        return lambda x, w: jnp.sum(values(x, w), axis=0)
    parts = _parts(members, build, path)
    key = build.numbers(path, "estimator_weights_", share)

    def votes(x: Array, weights: Weights) -> Array:
        total = jnp.zeros((x.shape[0], len(classes)), x.dtype)
        for at, part in enumerate(parts):
            places = jnp.asarray(np.searchsorted(classes, np.asarray(part.classes)))
            hot = jax.nn.one_hot(places[part.apply(x, weights)[INDEX]], len(classes), dtype=x.dtype)
            total = total + weights[key][at] * hot
        return total

    return votes


@translates("AdaBoostRegressor")
def _regressor(estimator: Any, build: Building, path: str) -> Part:
    members = estimator.estimators_
    share = np.asarray(estimator.estimator_weights_[: len(members)], np.float64)
    key = build.numbers(path, "estimator_weights_", share / share.sum())
    if are_trees(members):
        values = tree_values([read_tree(each, targets(each)) for each in members], build, path)

        def each_prediction(x: Array, weights: Weights) -> Array:
            return values(x, weights)[:, :, 0]
    else:
        parts = _parts(members, build, path)

        def each_prediction(x: Array, weights: Weights) -> Array:
            return jnp.stack([part.apply(x, weights)[PREDICTION] for part in parts])

    def median(x: Array, weights: Weights) -> Array:
        found = each_prediction(x, weights).T
        order = jnp.argsort(found, axis=1)
        reached = jnp.cumsum(weights[key][order], axis=1)
        at = jnp.argmax(reached >= 0.5 * reached[:, -1:], axis=1)
        return jnp.take_along_axis(jnp.sort(found, axis=1), at[:, None], axis=1)[:, 0]

    return regressor(median)


def _parts(members: Any, build: Building, path: str) -> list[Part]:
    return [
        translate(each, build, join(path, f"estimators_.{at}")) for at, each in enumerate(members)
    ]
