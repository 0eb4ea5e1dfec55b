"""Transformers that treat every column, or every row, by a few numbers."""

from typing import Any

import jax
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

_BOUND = 1e-7
"""scikit-learn's own: quantiles this near to 0 and 1 count as the ends."""


@translates("StandardScaler")
def _standard(estimator: Any, build: Building, path: str) -> Part:
    mean = estimator.mean_ if estimator.with_mean else None
    return _shift_and_divide(build, path, ("mean_", mean), ("scale_", estimator.scale_))


@translates("RobustScaler")
def _robust(estimator: Any, build: Building, path: str) -> Part:
    center = estimator.center_ if estimator.with_centering else None
    scale = estimator.scale_ if estimator.with_scaling else None
    return _shift_and_divide(build, path, ("center_", center), ("scale_", scale))


@translates("MaxAbsScaler")
def _max_abs(estimator: Any, build: Building, path: str) -> Part:
    scaled = _shift_and_divide(build, path, ("center_", None), ("scale_", estimator.scale_))
    if not getattr(estimator, "clip", False):
        return scaled
    return transformer(lambda x, w: jnp.clip(scaled.apply(x, w)[TRANSFORMED], -1, 1))


@translates("MinMaxScaler")
def _min_max(estimator: Any, build: Building, path: str) -> Part:
    scale = build.numbers(path, "scale_", estimator.scale_)
    least = build.numbers(path, "min_", estimator.min_)
    low, high = estimator.feature_range

    def transform(x: Array, weights: Weights) -> Array:
        scaled = x * weights[scale] + weights[least]
        return jnp.clip(scaled, low, high) if estimator.clip else scaled

    return transformer(transform)


@translates("Normalizer")
def _normalizer(estimator: Any, build: Building, path: str) -> Part:
    return transformer(lambda x, w: x / row_norms(x, estimator.norm))


def row_norms(x: Array, norm: str) -> Array:
    """[n, 1], with 1 for rows of zeros."""
    match norm:
        case "l1":
            sizes = jnp.sum(jnp.abs(x), axis=1, keepdims=True)
        case "l2":
            sizes = jnp.sqrt(jnp.sum(x * x, axis=1, keepdims=True))
        case _:
            sizes = jnp.max(jnp.abs(x), axis=1, keepdims=True)
    return jnp.where(sizes == 0, 1, sizes)


@translates("Binarizer")
def _binarizer(estimator: Any, build: Building, path: str) -> Part:
    return transformer(lambda x, w: (x > estimator.threshold).astype(x.dtype))


@translates("PowerTransformer")
def _power(estimator: Any, build: Building, path: str) -> Part:
    lambdas = build.numbers(path, "lambdas_", estimator.lambdas_)
    scaler = None
    if estimator.standardize:
        scaler = translate(estimator._scaler, build, join(path, "_scaler"))
    box_cox = estimator.method == "box-cox"

    def transform(x: Array, weights: Weights) -> Array:
        power = weights[lambdas]
        if box_cox:
            y = _raised(jnp.log(x), power)
        else:
            above = _raised(jnp.log1p(jnp.maximum(x, 0)), power)
            under = -_raised(jnp.log1p(jnp.maximum(-x, 0)), 2 - power)
            y = jnp.where(x >= 0, above, under)
        return y if scaler is None else scaler.apply(y, weights)[TRANSFORMED]

    return transformer(transform)


def _raised(logarithm: Array, power: Array) -> Array:
    """``(exp(logarithm) ** power - 1) / power``, and its limit where the power is 0."""
    zero = power == 0
    safe = jnp.where(zero, 1, power)
    return jnp.where(zero, logarithm, jnp.expm1(safe * logarithm) / safe)


@translates("QuantileTransformer")
def _quantile(estimator: Any, build: Building, path: str) -> Part:
    quantiles = build.numbers(path, "quantiles_", estimator.quantiles_)
    references = build.numbers(path, "references_", estimator.references_)
    normal = estimator.output_distribution == "normal"

    def column(x: Array, at: Array, share: Array) -> Array:
        # Both ways, as repeated quantiles would otherwise give one of their ends.
        up = jnp.interp(x, at, share)
        down = jnp.interp(-x, -at[::-1], -share[::-1])
        y = 0.5 * (up - down)
        slack = _BOUND if normal else 0.0
        y = jnp.where(x + slack >= at[-1], 1.0, y)
        y = jnp.where(x - slack <= at[0], 0.0, y)
        return jnp.where(jnp.isnan(x), x, y).astype(x.dtype)

    def transform(x: Array, weights: Weights) -> Array:
        each = jax.vmap(column, in_axes=(1, 1, None), out_axes=1)
        y = each(x, weights[quantiles], weights[references])
        if not normal:
            return y
        # 1 - 1e-7 has no f32 of its own, so the upper half is looked up from above.
        far = jax.scipy.special.ndtri(jnp.clip(jnp.minimum(y, 1 - y), _BOUND, None))
        return jnp.where(y > 0.5, -far, far)

    return transformer(transform)


@translates("FunctionTransformer")
def _function(estimator: Any, build: Building, path: str) -> Part:
    if estimator.func is None:
        return transformer(lambda x, w: x)
    name = getattr(estimator.func, "__name__", repr(estimator.func))
    is_ufunc = isinstance(estimator.func, np.ufunc) and getattr(np, name, None) is estimator.func
    if not is_ufunc or estimator.func.nin != 1 or not hasattr(jnp, name) or estimator.kw_args:
        raise refuse(
            path,
            estimator,
            f"function '{name}' is a person's own code; functions of numpy with one argument are "
            "known, as numpy.log1p; use a transformer that is known, or compute it before the call",
        )
    function = getattr(jnp, name)
    return transformer(lambda x, w: function(x).astype(x.dtype))


def _shift_and_divide(
    build: Building, path: str, shift: tuple[str, Any], scale: tuple[str, Any]
) -> Part:
    keys = [
        None if values is None else build.numbers(path, name, values)
        for name, values in (shift, scale)
    ]

    def transform(x: Array, weights: Weights) -> Array:
        if keys[0] is not None:
            x = x - weights[keys[0]]
        return x if keys[1] is None else x / weights[keys[1]]

    return transformer(transform)
