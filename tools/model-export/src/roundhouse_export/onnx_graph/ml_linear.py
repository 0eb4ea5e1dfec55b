"""Linear models and support vector machines of ``ai.onnx.ml``."""

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from roundhouse_export.estimators.kernels import Kernel, kernel
from roundhouse_export.estimators.svm import coupled, pair_columns, votes
from roundhouse_export.onnx_graph.ml_scores import (
    chosen,
    count_of,
    labels_of,
    post_transform,
    rows_of,
)
from roundhouse_export.onnx_graph.registry import ML, Node, operator

Array = Any


@operator("LinearRegressor", domain=ML)
def _linear_regressor(node: Node, x: Array) -> Array:
    targets = int(node.get("targets", 1))
    scores = _linear(node, rows_of(x), targets)
    return post_transform(node, node.get("post_transform", "NONE"), scores)


@operator("LinearClassifier", domain=ML)
def _linear_classifier(node: Node, x: Array) -> tuple[Array, Array]:
    labels = labels_of(node)
    x = rows_of(x)
    targets = len(node.get("coefficients")) // x.shape[1]
    scores = _linear(node, x, targets)
    transform = node.get("post_transform", "NONE")
    if targets == 1 and count_of(labels) == 2:
        score = scores[:, 0]
        if transform == "LOGISTIC":
            positive = jax.nn.sigmoid(score)
            shares = jnp.stack([1 - positive, positive], axis=1)
        else:
            shares = post_transform(node, transform, jnp.stack([1 - score, score], axis=1))
        return chosen(labels, (score > 0).astype(np.int32)), shares
    return chosen(labels, jnp.argmax(scores, axis=1)), post_transform(node, transform, scores)


def _linear(node: Node, x: Array, targets: int) -> Array:
    coef = np.asarray(node.get("coefficients"), x.dtype).reshape(targets, -1).T
    intercepts = node.get("intercepts")
    sums = x @ jnp.asarray(coef)
    return sums if not intercepts else sums + np.asarray(intercepts, x.dtype)


@operator("SVMRegressor", domain=ML)
def _svm_regressor(node: Node, x: Array) -> Array:
    x = rows_of(x)
    coefficients = np.asarray(node.get("coefficients"), x.dtype)
    vectors = np.asarray(node.get("support_vectors") or [], x.dtype)
    rho = np.asarray(node.get("rho"), x.dtype)[0]
    if len(vectors):
        values = _kernel(node)(x, jnp.asarray(vectors.reshape(-1, x.shape[1])))
        score = values @ coefficients + rho
    else:
        score = _kernel(node)(x, coefficients[None])[:, 0] + rho
    if node.get("one_class", 0):
        score = jnp.where(score > 0, 1, -1).astype(x.dtype)
    return post_transform(node, node.get("post_transform", "NONE"), score[:, None])


@operator("SVMClassifier", domain=ML)
def _svm_classifier(node: Node, x: Array) -> tuple[Array, Array]:
    labels, x = labels_of(node), rows_of(x)
    count = count_of(labels)
    support = node.get("vectors_per_class")
    if not support:
        raise node.refuse("a linear machine without support vectors is not supported")
    pairs = list(itertools.combinations(range(count), 2))
    vectors = np.asarray(node.get("support_vectors"), x.dtype).reshape(-1, x.shape[1])
    shared = np.asarray(node.get("coefficients"), np.float64).reshape(count - 1, -1)
    columns = pair_columns(shared, np.asarray(support), count).astype(x.dtype)
    values = _kernel(node)(x, jnp.asarray(vectors))
    for_first = values @ jnp.asarray(columns) + np.asarray(node.get("rho"), x.dtype)
    # Votes decide, whatever the probabilities say: as libsvm and onnxruntime have it.
    label = chosen(labels, jnp.argmax(votes(for_first, pairs, count), axis=1))
    slopes, shifts = node.get("prob_a"), node.get("prob_b")
    if slopes:
        argument = for_first * np.asarray(slopes, x.dtype) + np.asarray(shifts, x.dtype)
        return label, coupled(jax.nn.sigmoid(-argument), pairs, count)
    if node.get("post_transform", "NONE") != "NONE":
        raise node.refuse("post_transform without probabilities is not supported")
    if count == 2:
        return label, jnp.concatenate([-for_first, for_first], axis=1)
    return label, for_first


def _kernel(node: Node) -> Kernel:
    name = node.get("kernel_type", "LINEAR").lower()
    gamma, coef0, degree = [*(node.get("kernel_params") or ()), 0.0, 0.0, 0.0][:3]
    found = kernel(name, gamma, degree, coef0)
    if found is None:
        raise node.refuse(f"kernel_type {name!r} is not supported")
    return found
