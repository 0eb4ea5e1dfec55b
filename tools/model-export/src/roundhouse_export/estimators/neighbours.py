"""Nearest neighbours by comparing with every row that was learnt."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from roundhouse_export.estimators.kernels import squared_distances
from roundhouse_export.estimators.part import (
    Array,
    Building,
    Part,
    Weights,
    by_probabilities,
    refuse,
    regressor,
    single_output,
)
from roundhouse_export.estimators.registry import translates


@translates("KNeighborsClassifier")
def _classifier(estimator: Any, build: Building, path: str) -> Part:
    classes = single_output(estimator, path)
    learnt = build.keep(path, "y", np.asarray(estimator._y, np.int32))
    nearest = _nearest(estimator, build, path)

    def probabilities(x: Array, weights: Weights) -> Array:
        at, share = nearest(x, weights)
        own = jax.nn.one_hot(weights[learnt][at], len(classes), dtype=share.dtype)
        total = jnp.sum(own * share[:, :, None], axis=1)
        return total / jnp.sum(total, axis=1, keepdims=True)

    return by_probabilities(probabilities, classes)


@translates("KNeighborsRegressor")
def _regressor(estimator: Any, build: Building, path: str) -> Part:
    learnt = build.numbers(path, "y", estimator._y)
    nearest = _nearest(estimator, build, path)

    def predict(x: Array, weights: Weights) -> Array:
        at, share = nearest(x, weights)
        share = share / jnp.sum(share, axis=1, keepdims=True)
        values = weights[learnt][at]
        return jnp.sum(values * share.reshape(share.shape + (1,) * (values.ndim - 2)), axis=1)

    return regressor(predict)


def _nearest(estimator: Any, build: Building, path: str) -> Any:
    distances = _distances(estimator, path)
    if estimator.weights not in ("uniform", "distance"):
        raise refuse(path, estimator, "weights by a function are not supported")
    rows = estimator._fit_X
    rows = build.numbers(path, "x", rows.toarray() if hasattr(rows, "toarray") else rows)
    count, uniform = estimator.n_neighbors, estimator.weights == "uniform"

    def nearest(x: Array, weights: Weights) -> tuple[Array, Array]:
        """Positions [n, k], and what each counts."""
        negative, at = jax.lax.top_k(-distances(x, weights[rows]), count)
        far = -negative
        if uniform:
            return at, jnp.ones_like(far)
        same = far == 0
        inverse = 1 / jnp.where(same, 1, far)
        some = jnp.any(same, axis=1, keepdims=True)
        return at, jnp.where(some, same.astype(far.dtype), inverse)

    return nearest


def _distances(estimator: Any, path: str) -> Any:
    match estimator.effective_metric_:
        case "euclidean" | "l2":
            return lambda x, rows: jnp.sqrt(squared_distances(x, rows))
        case "manhattan" | "l1" | "cityblock":
            return lambda x, rows: jnp.sum(jnp.abs(x[:, None] - rows[None]), axis=2)
        case "chebyshev":
            return lambda x, rows: jnp.max(jnp.abs(x[:, None] - rows[None]), axis=2)
    raise refuse(path, estimator, f"metric '{estimator.effective_metric_}' is not supported")
