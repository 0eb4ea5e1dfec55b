"""Estimators that average or count what others say."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

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
    by_probabilities,
    join,
    refuse,
    regressor,
    single_output,
)
from roundhouse_export.estimators.registry import translate, translates


@translates("VotingRegressor")
def _voting_regressor(estimator: Any, build: Building, path: str) -> Part:
    parts, share = _members(estimator, build, path)
    return regressor(
        lambda x, w: sum(s * p.apply(x, w)[PREDICTION] for p, s in zip(parts, share, strict=True))
    )


@translates("VotingClassifier")
def _voting_classifier(estimator: Any, build: Building, path: str) -> Part:
    classes = single_output(estimator, path)
    parts, share = _members(estimator, build, path)
    if estimator.voting == "soft":
        _require_probabilities(estimator, path, estimator.estimators_)
        return by_probabilities(
            lambda x, w: sum(
                s * p.apply(x, w)[PROBABILITIES] for p, s in zip(parts, share, strict=True)
            ),
            classes,
        )

    def apply(x: Array, weights: Weights) -> dict[str, Array]:
        votes = sum(
            s * one_vote(part, part.apply(x, weights)[INDEX], len(classes), x.dtype)
            for part, s in zip(parts, share, strict=True)
        )
        return {INDEX: jnp.argmax(votes, axis=1), SCORES: votes}

    return Part(Kind.CLASSIFIER, apply, classes)


def one_vote(part: Part, index: Array, count: int, dtype: Any) -> Array:
    """One vote per row; members of a vote have learnt positions of classes, not classes."""
    places = np.asarray(part.classes).astype(np.int32)
    return jax.nn.one_hot(jnp.asarray(places)[index], count, dtype=dtype)


def _members(estimator: Any, build: Building, path: str) -> tuple[list[Part], list[float]]:
    names = [name for name, each in estimator.estimators if not isinstance(each, str)]
    parts = [
        translate(each, build, join(path, name))
        for name, each in zip(names, estimator.estimators_, strict=True)
    ]
    given = estimator._weights_not_none or [1] * len(parts)
    total = float(sum(given))
    return parts, [float(each) / total for each in given]


def _require_probabilities(estimator: Any, path: str, members: Sequence[Any]) -> None:
    for each in members:
        if not hasattr(each, "predict_proba"):
            raise refuse(path, estimator, f"{type(each).__name__} has no probabilities")


@translates("StackingClassifier", "StackingRegressor")
def _stacking(estimator: Any, build: Building, path: str) -> Part:
    kept = [
        (name, method)
        for (name, each), method in zip(estimator.estimators, _methods(estimator), strict=True)
        if not isinstance(each, str)
    ]
    parts = [
        translate(each, build, join(path, name))
        for (name, _), each in zip(kept, estimator.estimators_, strict=True)
    ]
    last = translate(estimator.final_estimator_, build, join(path, "final_estimator_"))
    if any(method == "predict" for _, method in kept) and last.kind is Kind.CLASSIFIER:
        raise refuse(path, estimator, "stack_method 'predict' is not supported")

    def apply(x: Array, weights: Weights) -> dict[str, Array]:
        found = []
        for part, (_, method) in zip(parts, kept, strict=True):
            values = part.apply(x, weights)
            if method == "predict_proba":
                shown = values[PROBABILITIES]
                found.append(shown[:, 1:] if shown.shape[1] == 2 else shown)
            else:
                shown = values[SCORES if method == "decision_function" else PREDICTION]
                found.append(shown[:, None] if shown.ndim == 1 else shown)
        if estimator.passthrough:
            found.append(x)
        return last.apply(jnp.concatenate(found, axis=1), weights)

    classes = None if last.kind is Kind.REGRESSOR else single_output(estimator, path)
    return Part(last.kind, apply, classes)


def _methods(estimator: Any) -> list[str]:
    methods = iter(estimator.stack_method_)
    return ["" if isinstance(each, str) else next(methods) for _, each in estimator.estimators]
