"""Linear models: a product with the coefficients, and what each makes of the sums."""

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
    sum_to_one,
    two_columns,
)
from roundhouse_export.estimators.registry import translates


@translates(
    "LinearRegression",
    "Ridge",
    "RidgeCV",
    "Lasso",
    "LassoCV",
    "LassoLars",
    "LassoLarsCV",
    "LassoLarsIC",
    "Lars",
    "LarsCV",
    "ElasticNet",
    "ElasticNetCV",
    "MultiTaskLasso",
    "MultiTaskElasticNet",
    "BayesianRidge",
    "ARDRegression",
    "HuberRegressor",
    "TheilSenRegressor",
    "OrthogonalMatchingPursuit",
    "QuantileRegressor",
    "SGDRegressor",
    "PassiveAggressiveRegressor",
    "LinearSVR",
)
def _regression(estimator: Any, build: Building, path: str) -> Part:
    return regressor(_sums(estimator, build, path, flat=_one_target(estimator)))


@translates("PoissonRegressor", "GammaRegressor", "TweedieRegressor")
def _generalised(estimator: Any, build: Building, path: str) -> Part:
    sums = _sums(estimator, build, path, flat=True)
    identity = type(estimator).__name__ == "TweedieRegressor" and (
        estimator.link == "identity" or (estimator.link == "auto" and estimator.power <= 0)
    )
    return regressor(sums if identity else lambda x, w: jnp.exp(sums(x, w)))


@translates("LogisticRegression", "LogisticRegressionCV", "LinearDiscriminantAnalysis")
def _logistic(estimator: Any, build: Building, path: str) -> Part:
    return _classifier(estimator, build, path, _softmax)


@translates("SGDClassifier")
def _sgd(estimator: Any, build: Building, path: str) -> Part:
    probabilities = {"log_loss": _sigmoids, "modified_huber": _clipped}.get(estimator.loss)
    return _classifier(estimator, build, path, probabilities)


@translates(
    "LinearSVC", "RidgeClassifier", "RidgeClassifierCV", "Perceptron", "PassiveAggressiveClassifier"
)
def _without_probabilities(estimator: Any, build: Building, path: str) -> Part:
    return _classifier(estimator, build, path, None)


def _classifier(estimator: Any, build: Building, path: str, probabilities: Any) -> Part:
    classes = single_output(estimator, path)
    if len(classes) < 2:
        raise refuse(path, estimator, "it was fitted to one class")
    sums = _sums(estimator, build, path, flat=len(classes) == 2)

    def apply(x: Array, weights: Weights) -> dict[str, Array]:
        scores = sums(x, weights)
        found = {INDEX: index_of_scores(scores), SCORES: scores}
        if probabilities is not None:
            found[PROBABILITIES] = probabilities(scores)
        return found

    return Part(Kind.CLASSIFIER, apply, classes)


def _sums(estimator: Any, build: Building, path: str, flat: bool) -> Any:
    coefficients = estimator.coef_
    if hasattr(coefficients, "toarray"):  # what sparsify() leaves
        coefficients = coefficients.toarray()
    coefficients = np.atleast_2d(coefficients)
    coef = build.numbers(path, "coef_", coefficients.T)
    intercept = build.numbers(
        path, "intercept_", np.broadcast_to(np.ravel(estimator.intercept_), len(coefficients))
    )

    def sums(x: Array, weights: Weights) -> Array:
        found = x @ weights[coef] + weights[intercept]
        return found[:, 0] if flat else found

    return sums


def _one_target(estimator: Any) -> bool:
    shape = np.shape(estimator.coef_)
    return len(shape) == 1 or (shape[0] == 1 and np.ndim(estimator.intercept_) == 0)


def _softmax(scores: Array) -> Array:
    if scores.ndim == 1:
        return two_columns(jax.nn.sigmoid(scores))
    return jax.nn.softmax(scores, axis=1)


def _sigmoids(scores: Array) -> Array:
    """Each class against the rest."""
    values = jax.nn.sigmoid(scores)
    return two_columns(values) if scores.ndim == 1 else sum_to_one(values)


def _clipped(scores: Array) -> Array:
    values = (jnp.clip(scores, -1, 1) + 1) / 2
    return two_columns(values) if scores.ndim == 1 else sum_to_one(values)
