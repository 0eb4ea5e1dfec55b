"""Multi-layer perceptrons of scikit-learn."""

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
    refuse,
    regressor,
    single_output,
    two_columns,
)
from roundhouse_export.estimators.registry import translates

_ACTIVATIONS = {
    "identity": lambda x: x,
    "relu": jax.nn.relu,
    "tanh": jnp.tanh,
    "logistic": jax.nn.sigmoid,
    "softmax": lambda x: jax.nn.softmax(x, axis=1),
    "exp": jnp.exp,
}


@translates("MLPRegressor")
def _regressor(estimator: Any, build: Building, path: str) -> Part:
    layers = _layers(estimator, build, path)
    flat = estimator.n_outputs_ == 1
    return regressor(lambda x, w: layers(x, w)[:, 0] if flat else layers(x, w))


@translates("MLPClassifier")
def _classifier(estimator: Any, build: Building, path: str) -> Part:
    classes = single_output(estimator, path)
    if estimator.out_activation_ == "logistic" and estimator.n_outputs_ > 1:
        raise refuse(path, estimator, "several labels for a row are not supported")
    layers = _layers(estimator, build, path)

    def apply(x: Array, weights: Weights) -> dict[str, Array]:
        values = layers(x, weights)
        if estimator.n_outputs_ == 1:
            positive = values[:, 0]
            index = (positive > 0.5).astype(np.int32)
            return {INDEX: index, PROBABILITIES: two_columns(positive)}
        return {INDEX: jnp.argmax(values, axis=1), PROBABILITIES: values}

    return Part(Kind.CLASSIFIER, apply, classes)


def _layers(estimator: Any, build: Building, path: str) -> Any:
    for name in (estimator.activation, estimator.out_activation_):
        if name not in _ACTIVATIONS:
            raise refuse(path, estimator, f"activation '{name}' is not supported")
    pairs = [
        (build.numbers(path, f"coefs_.{i}", coef), build.numbers(path, f"intercepts_.{i}", bias))
        for i, (coef, bias) in enumerate(zip(estimator.coefs_, estimator.intercepts_, strict=True))
    ]
    hidden, last = _ACTIVATIONS[estimator.activation], _ACTIVATIONS[estimator.out_activation_]

    def layers(x: Array, weights: Weights) -> Array:
        for coef, bias in pairs[:-1]:
            x = hidden(x @ weights[coef] + weights[bias])
        coef, bias = pairs[-1]
        return last(x @ weights[coef] + weights[bias])

    return layers
