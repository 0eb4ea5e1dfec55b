"""Transformers that choose, fill in, combine or project columns."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from roundhouse_export.estimators.part import Array, Building, Part, Weights, refuse, transformer
from roundhouse_export.estimators.registry import translates


@translates(
    "SelectKBest",
    "SelectPercentile",
    "SelectFromModel",
    "SelectFpr",
    "SelectFdr",
    "SelectFwe",
    "GenericUnivariateSelect",
    "SequentialFeatureSelector",
    "VarianceThreshold",
    "RFE",
    "RFECV",
)
def _selection(estimator: Any, build: Building, path: str) -> Part:
    kept = build.keep(path, "support_", np.flatnonzero(estimator.get_support()).astype(np.int32))
    return transformer(lambda x, w: jnp.take(x, w[kept], axis=1, mode="clip"))


@translates("SimpleImputer")
def _imputer(estimator: Any, build: Building, path: str) -> Part:
    statistics = np.asarray(estimator.statistics_)
    if statistics.dtype.kind not in "fiub":
        raise refuse(path, estimator, "it fills in values that are no numbers")
    statistics = statistics.astype(np.float64)
    keep = np.ones(len(statistics), bool)
    if not estimator.keep_empty_features:
        keep = ~np.isnan(statistics)
    fill = build.numbers(path, "statistics_", statistics[keep])
    columns = np.flatnonzero(keep)
    missing = estimator.missing_values
    flagged = estimator.indicator_.features_ if estimator.add_indicator else None

    def transform(x: Array, weights: Weights) -> Array:
        gone = is_missing(x, missing)
        filled = jnp.where(gone[:, columns], weights[fill], x[:, columns])
        if flagged is None:
            return filled
        return jnp.concatenate([filled, gone[:, flagged].astype(x.dtype)], axis=1)

    return transformer(transform)


@translates("MissingIndicator")
def _indicator(estimator: Any, build: Building, path: str) -> Part:
    columns, missing = estimator.features_, estimator.missing_values
    return transformer(lambda x, w: is_missing(x, missing)[:, columns].astype(x.dtype))


def is_missing(x: Array, missing: Any) -> Array:
    if missing is None or np.isnan(missing):
        return jnp.isnan(x)
    return x == missing


@translates("PolynomialFeatures")
def _polynomial(estimator: Any, build: Building, path: str) -> Part:
    powers = estimator.powers_
    one = powers.shape[1]  # the place of a column of ones
    factors = np.full((max(1, int(powers.sum(axis=1).max())), len(powers)), one)
    for at, row in enumerate(powers):
        names = np.repeat(np.arange(one), row)
        factors[: len(names), at] = names

    def transform(x: Array, weights: Weights) -> Array:
        wide = jnp.concatenate([x, jnp.ones_like(x[:, :1])], axis=1)
        product = wide[:, factors[0]]
        for each in factors[1:]:
            product = product * wide[:, each]
        return product

    return transformer(transform)


@translates("PCA", "IncrementalPCA")
def _pca(estimator: Any, build: Building, path: str) -> Part:
    components = np.asarray(estimator.components_, np.float64).T
    if estimator.whiten:
        scale = np.sqrt(estimator.explained_variance_)
        components = components / np.maximum(scale, np.finfo(scale.dtype).eps)
    return _projection(build, path, estimator.mean_, components)


@translates("TruncatedSVD")
def _svd(estimator: Any, build: Building, path: str) -> Part:
    return _projection(build, path, None, estimator.components_.T)


@translates("FastICA")
def _ica(estimator: Any, build: Building, path: str) -> Part:
    mean = estimator.mean_ if estimator.whiten else None
    return _projection(build, path, mean, estimator.components_.T)


def _projection(build: Building, path: str, mean: Any, components: np.ndarray) -> Part:
    key = build.numbers(path, "components_", components)
    if mean is None:
        return transformer(lambda x, w: x @ w[key])
    center = build.numbers(path, "mean_", mean)
    return transformer(lambda x, w: (x - w[center]) @ w[key])
