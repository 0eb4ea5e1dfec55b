"""Encoders of categories that are numbers."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from roundhouse_export.estimators.part import Array, Building, Part, Weights, refuse, transformer
from roundhouse_export.estimators.registry import translates


@translates("OneHotEncoder")
def _one_hot(estimator: Any, build: Building, path: str) -> Part:
    categories = _numbers(estimator, build, path)
    key, columns = _flat(build, path, categories)
    features = len(categories)
    table = _columns_of_categories(estimator, categories)
    table_key = build.numbers(path, "columns", table)
    if estimator.handle_unknown == "error":
        build.note(f"{path or 'OneHotEncoder'}: a category that was not learnt is a row of zeros")

    def transform(x: Array, weights: Weights) -> Array:
        same = _same(x, weights[key], columns)
        unknown = [~jnp.any(same[:, columns == at], axis=1) for at in range(features)]
        every = jnp.concatenate([same, jnp.stack(unknown, axis=1)], axis=1)
        return every.astype(x.dtype) @ weights[table_key]

    return transformer(transform)


def _columns_of_categories(estimator: Any, categories: Sequence[np.ndarray]) -> np.ndarray:
    """[categories of all features, then one unknown of each feature] to columns, 0 or 1."""
    grouped = getattr(estimator, "_default_to_infrequent_mappings", None) or [None] * len(
        categories
    )
    dropped = estimator._drop_idx_after_grouping
    takes_unknown = estimator.handle_unknown in ("infrequent_if_exist", "warn")
    blocks, unknown = [], []
    for at, each in enumerate(categories):
        place = np.arange(len(each)) if grouped[at] is None else np.asarray(grouped[at])
        count = int(place.max()) + 1
        block, other = np.zeros((len(each), count)), np.zeros((1, count))
        block[np.arange(len(each)), place] = 1
        if grouped[at] is not None and takes_unknown:
            other[0, -1] = 1  # infrequent categories share the last column
        if dropped is not None and dropped[at] is not None:
            block, other = np.delete(block, dropped[at], 1), np.delete(other, dropped[at], 1)
        blocks.append(block)
        unknown.append(other)
    return np.concatenate([_block_diagonal(blocks), _block_diagonal(unknown)])


def _block_diagonal(blocks: Sequence[np.ndarray]) -> np.ndarray:
    whole = np.zeros((sum(b.shape[0] for b in blocks), sum(b.shape[1] for b in blocks)))
    row = column = 0
    for block in blocks:
        whole[row : row + block.shape[0], column : column + block.shape[1]] = block
        row, column = row + block.shape[0], column + block.shape[1]
    return whole


@translates("OrdinalEncoder")
def _ordinal(estimator: Any, build: Building, path: str) -> Part:
    categories = _numbers(estimator, build, path)
    grouped = getattr(estimator, "_default_to_infrequent_mappings", ())
    if any(each is not None for each in grouped):
        raise refuse(path, estimator, "infrequent categories are not supported")
    key, columns = _flat(build, path, categories)
    place = np.concatenate([np.arange(len(each)) for each in categories])
    places = np.zeros((len(columns), len(categories)))
    places[np.arange(len(columns)), columns] = place
    members = np.zeros_like(places)
    members[np.arange(len(columns)), columns] = 1
    places_key = build.numbers(path, "places", places)
    members_key = build.numbers(path, "members", members)
    unknown, missing = estimator.unknown_value, estimator.encoded_missing_value
    if unknown is None:
        unknown = -1
        build.note(f"{path or 'OrdinalEncoder'}: a category that was not learnt becomes -1")
    learnt_missing = np.array([np.isnan(each).any() for each in categories])

    def transform(x: Array, weights: Weights) -> Array:
        same = _same(x, weights[key], columns).astype(x.dtype)
        found = same @ weights[members_key] > 0
        values = jnp.where(found, same @ weights[places_key], unknown)
        return jnp.where(jnp.isnan(x) & learnt_missing, missing, values).astype(x.dtype)

    return transformer(transform)


@translates("KBinsDiscretizer")
def _bins(estimator: Any, build: Building, path: str) -> Part:
    if estimator.encode not in ("ordinal", "onehot", "onehot-dense"):
        raise refuse(path, estimator, f"encode '{estimator.encode}' is not supported")
    edges = [
        build.numbers(path, f"bin_edges_.{at}", np.asarray(each)[1:-1])
        for at, each in enumerate(estimator.bin_edges_)
    ]

    def transform(x: Array, weights: Weights) -> Array:
        found = [
            jnp.sum(x[:, at, None] >= weights[key][None], axis=1) for at, key in enumerate(edges)
        ]
        if estimator.encode == "ordinal":
            return jnp.stack(found, axis=1).astype(x.dtype)
        hot = [
            bins[:, None] == np.arange(len(each) - 1)
            for bins, each in zip(found, estimator.bin_edges_, strict=True)
        ]
        return jnp.concatenate(hot, axis=1).astype(x.dtype)

    return transformer(transform)


def _numbers(estimator: Any, build: Building, path: str) -> list[np.ndarray]:
    found = []
    for at, each in enumerate(estimator.categories_):
        values = np.asarray(each)
        if values.dtype.kind in "OUS":
            try:
                values = np.asarray([float("nan") if v is None else _number(v) for v in each])
            except TypeError:
                raise refuse(
                    path,
                    estimator,
                    f"column {at} has categories that are texts (such as {str(each[0])!r}); a "
                    "program takes numbers: encode texts before the call",
                ) from None
        values = values.astype(np.float64)
        if len(np.unique(values.astype(build.dtype))) != len(values):
            raise refuse(
                path,
                estimator,
                f"column {at} has categories that {build.dtype.name} does not tell apart; keep "
                "64 bits (--wide keep)",
            )
        found.append(values)
    return found


def _number(value: Any) -> float:
    if isinstance(value, str | bytes):
        raise TypeError(value)
    return float(value)


def _flat(build: Building, path: str, categories: Sequence[np.ndarray]) -> tuple[str, np.ndarray]:
    """The key of all categories in a row, and the column that each belongs to."""
    key = build.numbers(path, "categories_", np.concatenate(categories))
    return key, np.repeat(np.arange(len(categories)), [len(each) for each in categories])


def _same(x: Array, categories: Array, columns: np.ndarray) -> Array:
    spread = x[:, columns]
    return (spread == categories) | (jnp.isnan(spread) & jnp.isnan(categories))
