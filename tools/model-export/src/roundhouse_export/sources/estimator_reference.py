"""What an estimator itself answers, in the names of its model's outputs."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from roundhouse_export.estimators import part
from roundhouse_export.estimators.part import Kind, Part
from roundhouse_export.model import Reference


def estimator_reference(
    estimator: Any, name: str, shown: Sequence[str], whole: Part, values: np.ndarray | None
) -> Reference:
    """``values`` are what ``label`` says for each class; None where that is its position."""
    package = type(estimator).__module__.split(".")[0]
    if type(estimator).__name__ == "Booster":
        return _of_booster(estimator, package, name, whole)

    def ask(inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        x = _rows(estimator, inputs[name])
        found = {}
        for output in shown:
            match output:
                case part.LABEL:
                    answer = np.asarray(estimator.predict(x))
                    if whole.kind is Kind.CLASSIFIER and values is None:
                        answer = np.searchsorted(np.asarray(whole.classes), answer)
                case part.PREDICTION:
                    answer = estimator.predict(x)
                case part.PROBABILITIES:
                    answer = estimator.predict_proba(x)
                case part.SCORES:
                    answer = _scores(estimator, x)
                case _:
                    answer = estimator.transform(x)
            found[output] = _dense(answer)
        return found

    return ask


def _scores(estimator: Any, x: Any) -> np.ndarray:
    if hasattr(estimator, "decision_function"):
        return np.asarray(estimator.decision_function(x))
    # A hard vote: what share of the weights spoke for each class.
    each = estimator.transform(x)
    given = np.asarray(estimator._weights_not_none or [1] * each.shape[1], float)
    hot = each[:, :, None] == np.arange(len(estimator.classes_))
    return np.einsum("nek,e->nk", hot, given / given.sum())


def _rows(estimator: Any, x: np.ndarray) -> Any:
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        return x
    import pandas

    return pandas.DataFrame(x, columns=names)


def _dense(values: Any) -> np.ndarray:
    return np.asarray(values.toarray() if hasattr(values, "toarray") else values)


def _of_booster(booster: Any, package: str, name: str, whole: Part) -> Reference:
    """A booster answers with probabilities of the second class, or with those of all."""

    def ask(inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        x = inputs[name]
        if package == "xgboost":
            import xgboost

            names = booster.feature_names
            answer = booster.predict(xgboost.DMatrix(x, feature_names=names))
        else:
            answer = booster.predict(x)
        if whole.kind is not Kind.CLASSIFIER:
            return {part.PREDICTION: answer}
        if answer.ndim == 1:
            answer = np.stack([1 - answer, answer], axis=1)
        return {part.LABEL: answer.argmax(axis=1), part.PROBABILITIES: answer}

    return ask
