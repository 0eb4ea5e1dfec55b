"""Estimators that were each fitted to a part of the rows and columns."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from roundhouse_export.estimators.forest import are_trees, mean_of_trees
from roundhouse_export.estimators.part import (
    INDEX,
    PREDICTION,
    PROBABILITIES,
    Array,
    Building,
    Part,
    Weights,
    by_probabilities,
    join,
    regressor,
    single_output,
)
from roundhouse_export.estimators.registry import translate, translates
from roundhouse_export.estimators.voting import one_vote


@translates("BaggingClassifier")
def _bagging_classifier(estimator: Any, build: Building, path: str) -> Part:
    classes = single_output(estimator, path)
    if are_trees(estimator.estimators_):
        return by_probabilities(
            mean_of_trees(
                build, path, estimator.estimators_, len(classes), estimator.estimators_features_
            ),
            classes,
        )
    parts = _bags(estimator, build, path)
    voting = not hasattr(estimator.estimators_[0], "predict_proba")

    def probabilities(x: Array, weights: Weights) -> Array:
        total = jnp.zeros((x.shape[0], len(classes)), x.dtype)
        for columns, part in parts:
            found = part.apply(x[:, columns], weights)
            places = np.asarray(part.classes).astype(np.int32)
            if voting:
                total = total + one_vote(part, found[INDEX], len(classes), x.dtype)
            else:
                total = total.at[:, places].add(found[PROBABILITIES])
        return total / len(parts)

    return by_probabilities(probabilities, classes)


@translates("BaggingRegressor")
def _bagging_regressor(estimator: Any, build: Building, path: str) -> Part:
    if are_trees(estimator.estimators_):
        return regressor(
            mean_of_trees(build, path, estimator.estimators_, None, estimator.estimators_features_)
        )
    parts = _bags(estimator, build, path)
    return regressor(
        lambda x, w: sum(p.apply(x[:, c], w)[PREDICTION] for c, p in parts) / len(parts)
    )


def _bags(estimator: Any, build: Building, path: str) -> list[tuple[np.ndarray, Part]]:
    return [
        (np.asarray(columns), translate(each, build, join(path, f"estimators_.{at}")))
        for at, (each, columns) in enumerate(
            zip(estimator.estimators_, estimator.estimators_features_, strict=True)
        )
    ]
