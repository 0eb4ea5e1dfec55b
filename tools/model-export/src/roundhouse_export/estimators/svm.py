"""Support vector machines with kernels, as libsvm computes them."""

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from roundhouse_export.estimators.kernels import kernel
from roundhouse_export.estimators.part import (
    INDEX,
    LABEL,
    PROBABILITIES,
    SCORES,
    Array,
    Building,
    Kind,
    Part,
    Weights,
    refuse,
    regressor,
    single_output,
)
from roundhouse_export.estimators.registry import translates

_LEAST = 1e-7
_ROUNDS = 100


@translates("SVR", "NuSVR")
def _regression(estimator: Any, build: Building, path: str) -> Part:
    sums = _sums(estimator, build, path)
    return regressor(lambda x, w: sums(x, w)[:, 0])


@translates("OneClassSVM")
def _one_class(estimator: Any, build: Building, path: str) -> Part:
    sums = _sums(estimator, build, path)

    def apply(x: Array, weights: Weights) -> dict[str, Array]:
        scores = sums(x, weights)[:, 0]
        return {LABEL: jnp.where(scores > 0, 1, -1), SCORES: scores}

    return Part(Kind.OUTLIERS, apply)


@translates("SVC", "NuSVC")
def _classifier(estimator: Any, build: Building, path: str) -> Part:
    classes = single_output(estimator, path)
    if estimator.break_ties:
        raise refuse(path, estimator, "break_ties=True is not supported")
    count = len(classes)
    pairs = list(itertools.combinations(range(count), 2))
    sums = _sums(estimator, build, path, _columns_of_pairs(estimator, count))
    platt = None
    if len(estimator.probA_):  # the flag itself is a text where it was left out
        platt = (
            build.numbers(path, "probA_", estimator.probA_),
            build.numbers(path, "probB_", estimator.probB_),
        )

    def apply(x: Array, weights: Weights) -> dict[str, Array]:
        for_first = sums(x, weights)
        if count == 2:
            # The signs of two classes are turned round in what scikit-learn shows.
            scores = for_first[:, 0]
            found = {INDEX: (scores > 0).astype(np.int32), SCORES: scores}
            for_first = -for_first
        else:
            found = {INDEX: jnp.argmax(votes(for_first, pairs, count), axis=1)}
            found[SCORES] = _one_against_rest(for_first, pairs, count)
        if platt is not None:
            first = jax.nn.sigmoid(-(for_first * weights[platt[0]] + weights[platt[1]]))
            found[PROBABILITIES] = coupled(first, pairs, count)
        return found

    return Part(Kind.CLASSIFIER, apply, classes)


def _sums(estimator: Any, build: Building, path: str, duals: np.ndarray | None = None) -> Any:
    found = None
    if isinstance(estimator.kernel, str):
        found = kernel(estimator.kernel, estimator._gamma, estimator.degree, estimator.coef0)
    if found is None:
        raise refuse(path, estimator, f"kernel {estimator.kernel!r} is not supported")
    intercept = build.numbers(path, "intercept_", estimator.intercept_)
    vectors = _dense(estimator.support_vectors_)
    duals = _dense(estimator.dual_coef_).T if duals is None else duals
    if estimator.kernel == "linear":
        # Multiplied out in f64, as dual coefficients may be large and cancel each other.
        coef = build.numbers(path, "coef_", vectors.T @ duals)
        return lambda x, w: x @ w[coef] + w[intercept]
    learnt = build.numbers(path, "support_vectors_", vectors)
    dual = build.numbers(path, "dual_coef_", duals)

    def sums(x: Array, weights: Weights) -> Array:
        return found(x, weights[learnt]) @ weights[dual] + weights[intercept]

    return sums


def _dense(values: Any) -> np.ndarray:
    return values.toarray() if hasattr(values, "toarray") else np.asarray(values)


def _columns_of_pairs(estimator: Any, count: int) -> np.ndarray:
    """One column for each pair of classes from libsvm's shared coefficients [classes - 1, m]."""
    return pair_columns(_dense(estimator.dual_coef_), estimator.n_support_, count)


def pair_columns(shared: np.ndarray, support: np.ndarray, count: int) -> np.ndarray:
    if count == 2:
        return shared.T
    ends = np.cumsum(support)
    spans = [slice(end - size, end) for end, size in zip(ends, support, strict=True)]
    columns = np.zeros((shared.shape[1], count * (count - 1) // 2))
    for at, (i, j) in enumerate(itertools.combinations(range(count), 2)):
        columns[spans[i], at] = shared[j - 1, spans[i]]
        columns[spans[j], at] = shared[i, spans[j]]
    return columns


def votes(for_first: Array, pairs: list[tuple[int, int]], count: int) -> Array:
    """How often each class wins: [n, classes]."""
    columns: list[Array] = [0] * count
    for at, (i, j) in enumerate(pairs):
        won = (for_first[:, at] > 0).astype(for_first.dtype)
        columns[i] = columns[i] + won
        columns[j] = columns[j] + (1 - won)
    return jnp.stack(columns, axis=1)


def _one_against_rest(for_first: Array, pairs: list[tuple[int, int]], count: int) -> Array:
    """scikit-learn's scores of ``decision_function_shape='ovr'``: votes, and how clear they are."""
    clear: list[Array] = [0] * count
    won: list[Array] = [0] * count
    for at, (i, j) in enumerate(pairs):
        clear[i] = clear[i] + for_first[:, at]
        clear[j] = clear[j] - for_first[:, at]
        lost = (for_first[:, at] < 0).astype(for_first.dtype)
        won[i] = won[i] + (1 - lost)
        won[j] = won[j] + lost
    total = jnp.stack(clear, axis=1)
    return jnp.stack(won, axis=1) + total / (3 * (jnp.abs(total) + 1))


def coupled(first: Array, pairs: list[tuple[int, int]], count: int) -> Array:
    """Probabilities of classes from those of pairs (Wu, Lin and Weng, 2004, second method).

    libsvm improves one class after another and stops when it is near enough, not when it is
    exact; the same steps are taken here, so that the same digits come out.
    """
    first = jnp.clip(first, _LEAST, 1 - _LEAST)
    rows, dtype = first.shape[0], first.dtype
    against: list[list[Array]] = [[jnp.zeros(rows, dtype)] * count for _ in range(count)]
    for at, (i, j) in enumerate(pairs):
        against[i][j], against[j][i] = first[:, at], 1 - first[:, at]
    r = jnp.stack([jnp.stack(row, axis=1) for row in against], axis=1)
    back = jnp.swapaxes(r, 1, 2)
    q = -back * r + jnp.eye(count, dtype=dtype) * jnp.sum(back * back, axis=2)[:, :, None]
    enough = 0.005 / count

    def round_of_all(_: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        p, done = state
        qp = jnp.einsum("nij,nj->ni", q, p)
        pqp = jnp.sum(p * qp, axis=1)
        done = done | (jnp.max(jnp.abs(qp - pqp[:, None]), axis=1) < enough)
        better = p
        for t in range(count):
            change = (pqp - qp[:, t]) / q[:, t, t]
            better = better.at[:, t].add(change)
            pqp = (pqp + change * (change * q[:, t, t] + 2 * qp[:, t])) / (1 + change) ** 2
            qp = (qp + change[:, None] * q[:, t]) / (1 + change)[:, None]
            better = better / (1 + change)[:, None]
        return jnp.where(done[:, None], p, better), done

    even = jnp.full((rows, count), 1 / count, dtype)
    rounds = max(_ROUNDS, count)
    p, _ = jax.lax.fori_loop(0, rounds, round_of_all, (even, jnp.zeros(rows, bool)))
    return p
