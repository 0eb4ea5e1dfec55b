"""Probabilities that were calibrated after a classifier was fitted."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from roundhouse_export.estimators.part import (
    PREDICTION,
    PROBABILITIES,
    SCORES,
    Array,
    Building,
    Part,
    Weights,
    by_probabilities,
    join,
    refuse,
    regressor,
    single_output,
    sum_to_one,
    two_columns,
)
from roundhouse_export.estimators.registry import translate, translates

Curve = Callable[[Array, Weights], Array]


@translates("CalibratedClassifierCV")
def _calibrated(estimator: Any, build: Building, path: str) -> Part:
    classes = single_output(estimator, path)
    members = [
        _member(each, build, join(path, f"calibrated_classifiers_.{at}"), classes)
        for at, each in enumerate(estimator.calibrated_classifiers_)
    ]
    return by_probabilities(
        lambda x, w: sum(each(x, w) for each in members) / len(members), classes
    )


def _member(member: Any, build: Building, path: str, classes: np.ndarray) -> Curve:
    if member.method not in ("sigmoid", "isotonic"):
        raise refuse(path, member, f"method '{member.method}' is not supported")
    part = translate(member.estimator, build, join(path, "estimator"))
    curves = [
        _curve(each, build, join(path, f"calibrators.{at}"))
        for at, each in enumerate(member.calibrators)
    ]
    places = np.searchsorted(classes, np.asarray(part.classes))

    def probabilities(x: Array, weights: Weights) -> Array:
        found = part.apply(x, weights)
        given = found[SCORES] if SCORES in found else found[PROBABILITIES]
        if len(classes) == 2:
            positive = given if given.ndim == 1 else given[:, 1]
            return two_columns(curves[0](positive, weights))
        columns = jnp.zeros((x.shape[0], len(classes)), x.dtype)
        for at, (place, curve) in enumerate(zip(places, curves, strict=True)):
            columns = columns.at[:, int(place)].set(curve(given[:, at], weights))
        return sum_to_one(columns)

    return probabilities


def _curve(calibrator: Any, build: Building, path: str) -> Curve:
    if hasattr(calibrator, "X_thresholds_"):
        return _isotonic(calibrator, build, path)
    slope = build.numbers(path, "a_", calibrator.a_)
    shift = build.numbers(path, "b_", calibrator.b_)
    return lambda score, w: jax.nn.sigmoid(-(w[slope] * score + w[shift]))


def _isotonic(calibrator: Any, build: Building, path: str) -> Curve:
    if calibrator.out_of_bounds != "clip":
        raise refuse(path, calibrator, "out_of_bounds other than 'clip' is not supported")
    at = build.numbers(path, "X_thresholds_", calibrator.X_thresholds_)
    value = build.numbers(path, "y_thresholds_", calibrator.y_thresholds_)
    return lambda score, w: jnp.interp(score, w[at], w[value]).astype(score.dtype)


@translates("IsotonicRegression")
def _isotonic_regression(estimator: Any, build: Building, path: str) -> Part:
    curve = _isotonic(estimator, build, path)
    return regressor(lambda x, w: curve(x[:, 0], w))


@translates("TransformedTargetRegressor")
def _target(estimator: Any, build: Building, path: str) -> Part:
    """The target's transformer is turned round only where that is a line."""
    part = translate(estimator.regressor_, build, join(path, "regressor_"))
    back = estimator.transformer_
    if type(back).__name__ != "StandardScaler":
        raise refuse(path, estimator, f"a target transformed by {type(back).__name__}")
    scale = build.numbers(path, "scale_", np.ravel(1.0 if back.scale_ is None else back.scale_))
    mean = build.numbers(path, "mean_", np.ravel(0.0 if back.mean_ is None else back.mean_))
    return regressor(lambda x, w: part.apply(x, w)[PREDICTION] * w[scale] + w[mean])
