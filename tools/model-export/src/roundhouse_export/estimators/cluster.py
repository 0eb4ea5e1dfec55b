"""K-means: the nearest of the centres, and how far each is."""

from typing import Any

import jax.numpy as jnp

from roundhouse_export.estimators.kernels import squared_distances
from roundhouse_export.estimators.part import (
    DISTANCES,
    LABEL,
    TRANSFORMED,
    Array,
    Building,
    Kind,
    Part,
    Weights,
)
from roundhouse_export.estimators.registry import translates


@translates("KMeans", "MiniBatchKMeans")
def _k_means(estimator: Any, build: Building, path: str) -> Part:
    centers = build.numbers(path, "cluster_centers_", estimator.cluster_centers_)

    def apply(x: Array, weights: Weights) -> dict[str, Array]:
        squared = squared_distances(x, weights[centers])
        distances = jnp.sqrt(squared)
        return {
            LABEL: jnp.argmin(squared, axis=1),
            DISTANCES: distances,
            TRANSFORMED: distances,  # what a pipeline hands on
        }

    return Part(Kind.CLUSTERER, apply)
