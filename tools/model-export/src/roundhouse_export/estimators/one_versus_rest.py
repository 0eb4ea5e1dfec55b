"""One classifier of two classes for each class."""

from typing import Any

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
    join,
    refuse,
    single_output,
)
from roundhouse_export.estimators.registry import translate, translates


@translates("OneVsRestClassifier")
def _one_versus_rest(estimator: Any, build: Building, path: str) -> Part:
    if estimator.multilabel_:
        raise refuse(path, estimator, "several labels for a row are not supported")
    classes = single_output(estimator, path)
    parts = [
        translate(each, build, join(path, f"estimators_.{at}"))
        for at, each in enumerate(estimator.estimators_)
    ]

    def apply(x: Array, weights: Weights) -> dict[str, Array]:
        each = [part.apply(x, weights) for part in parts]
        found: dict[str, Array] = {}
        if all(PROBABILITIES in one for one in each):
            found[PROBABILITIES] = _normalised([one[PROBABILITIES][:, 1] for one in each])
        if all(SCORES in one for one in each):
            scores = jnp.stack([one[SCORES] for one in each], axis=1)
            found[SCORES] = scores[:, 0] if len(parts) == 1 else scores
            deciding, threshold = scores, 0.0
        else:
            deciding = jnp.stack([one[PROBABILITIES][:, 1] for one in each], axis=1)
            threshold = 0.5
        if len(parts) == 1:
            found[INDEX] = (deciding[:, 0] > threshold).astype(np.int32)
        else:
            found[INDEX] = jnp.argmax(deciding, axis=1)
        return found

    return Part(Kind.CLASSIFIER, apply, classes)


def _normalised(positive: list[Array]) -> Array:
    if len(positive) == 1:
        positive = [1 - positive[0], positive[0]]
    values = jnp.stack(positive, axis=1)
    total = jnp.sum(values, axis=1, keepdims=True)
    return values / jnp.where(total == 0, 1, total)
