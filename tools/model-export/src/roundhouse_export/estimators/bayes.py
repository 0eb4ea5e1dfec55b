"""Naive Bayes: sums of logarithms for each class."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from roundhouse_export.estimators.part import (
    INDEX,
    PROBABILITIES,
    Array,
    Building,
    Kind,
    Part,
    Weights,
    single_output,
)
from roundhouse_export.estimators.registry import translates


@translates("GaussianNB")
def _gaussian(estimator: Any, build: Building, path: str) -> Part:
    mean = build.numbers(path, "theta_", estimator.theta_)
    variance = build.numbers(path, "var_", estimator.var_)
    prior = build.numbers(path, "class_prior_", estimator.class_prior_)

    def joint(x: Array, weights: Weights) -> Array:
        spread = weights[variance]
        apart = (x[:, None] - weights[mean]) ** 2 / spread
        sizes = jnp.sum(jnp.log(2 * np.pi * spread), axis=1)
        return jnp.log(weights[prior]) - 0.5 * (sizes + jnp.sum(apart, axis=2))

    return _by_joint(joint, single_output(estimator, path))


@translates("MultinomialNB", "ComplementNB")
def _multinomial(estimator: Any, build: Building, path: str) -> Part:
    feature = build.numbers(path, "feature_log_prob_", estimator.feature_log_prob_.T)
    complement = type(estimator).__name__ == "ComplementNB" and len(estimator.classes_) > 1
    prior = build.numbers(
        path, "class_log_prior_", estimator.class_log_prior_ * (0 if complement else 1)
    )
    return _by_joint(
        lambda x, w: x @ w[feature] + w[prior],
        single_output(estimator, path),
    )


@translates("BernoulliNB")
def _bernoulli(estimator: Any, build: Building, path: str) -> Part:
    present = estimator.feature_log_prob_
    absent = np.log1p(-np.exp(present))
    feature = build.numbers(path, "feature_log_prob_", (present - absent).T)
    prior = build.numbers(path, "class_log_prior_", estimator.class_log_prior_ + absent.sum(1))
    threshold = estimator.binarize

    def joint(x: Array, weights: Weights) -> Array:
        if threshold is not None:
            x = (x > threshold).astype(x.dtype)
        return x @ weights[feature] + weights[prior]

    return _by_joint(joint, single_output(estimator, path))


def _by_joint(joint: Callable[[Array, Weights], Array], classes: np.ndarray) -> Part:
    def apply(x: Array, weights: Weights) -> dict[str, Array]:
        logs = joint(x, weights)
        return {INDEX: jnp.argmax(logs, axis=1), PROBABILITIES: jax.nn.softmax(logs, axis=1)}

    return Part(Kind.CLASSIFIER, apply, classes)
