"""Pipelines and what puts transformers side by side."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from roundhouse_export.estimators.part import (
    TRANSFORMED,
    Array,
    Building,
    Part,
    Weights,
    join,
    refuse,
    transformer,
)
from roundhouse_export.estimators.registry import translate, translates


@translates("Pipeline")
def _pipeline(estimator: Any, build: Building, path: str) -> Part:
    parts: list[Part] = []
    for name, step in estimator.steps:
        if step is None or (isinstance(step, str) and step == "passthrough"):
            continue
        parts.append(translate(step, build, join(path, name)))
    if not parts:
        return transformer(lambda x, w: x)

    def apply(x: Array, weights: Weights) -> dict[str, Array]:
        for part in parts[:-1]:
            x = part.apply(x, weights)[TRANSFORMED]
        return parts[-1].apply(x, weights)

    return Part(parts[-1].kind, apply, parts[-1].classes)


@translates("ColumnTransformer")
def _columns(estimator: Any, build: Building, path: str) -> Part:
    parts: list[tuple[np.ndarray, Part | None, float]] = []
    factors = estimator.transformer_weights or {}
    for name, step, _ in estimator.transformers_:
        columns = np.asarray(estimator._transformer_to_input_indices[name], np.int64)
        if not len(columns) or (isinstance(step, str) and step == "drop"):
            continue
        part = None
        if not isinstance(step, str):
            part = translate(step, build, join(path, name))
        parts.append((columns, part, factors.get(name) or 1))
    if not parts:
        raise refuse(path, estimator, "every column is dropped")

    def transform(x: Array, weights: Weights) -> Array:
        found = []
        for columns, part, factor in parts:
            given = x[:, columns]
            if part is not None:
                given = part.apply(given, weights)[TRANSFORMED]
            found.append(given if factor == 1 else given * factor)
        return jnp.concatenate(found, axis=1)

    return transformer(transform)


@translates("FeatureUnion")
def _union(estimator: Any, build: Building, path: str) -> Part:
    factors = estimator.transformer_weights or {}
    parts: list[tuple[Part | None, float]] = []
    for name, step in estimator.transformer_list:
        if isinstance(step, str) and step == "drop":
            continue
        part = None if isinstance(step, str) else translate(step, build, join(path, name))
        parts.append((part, factors.get(name) or 1))
    if not parts:
        raise refuse(path, estimator, "every transformer is dropped")

    def transform(x: Array, weights: Weights) -> Array:
        found = [x if part is None else part.apply(x, weights)[TRANSFORMED] for part, _ in parts]
        scaled = [
            each if factor == 1 else each * factor
            for each, (_, factor) in zip(found, parts, strict=True)
        ]
        return jnp.concatenate(scaled, axis=1)

    return transformer(transform)


@translates("FrozenEstimator")
def _frozen(estimator: Any, build: Building, path: str) -> Part:
    return translate(estimator.estimator, build, path)
