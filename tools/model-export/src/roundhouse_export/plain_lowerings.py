"""Lowerings to operations of StableHLO where JAX would call a library of one platform.

JAX calls LAPACK on a CPU and cuSOLVER on a GPU for these. XLA computes ``cholesky`` and
``triangular_solve`` by itself on every platform, and JAX has a form of ``lu`` in plain operations:
with them ``solve``, ``inv``, ``det`` and ``expm`` are programs that any server runs. Random
numbers, which JAX writes otherwise for each platform, are the CPU's on all.
Rests on parts of JAX that are not public; the pinned release is what makes that safe.
"""

from typing import Any

from jax._src.lax import linalg
from jax._src.random import threefry2x32
from jax.interpreters import mlir

PLAIN_LOWERINGS: tuple[tuple[Any, Any], ...] = (
    (linalg.cholesky_p, linalg._cholesky_lowering),
    (linalg.triangular_solve_p, linalg._triangular_solve_lowering),
    (linalg.lu_p, mlir.lower_fun(linalg._lu_python, multiple_results=True)),
    (
        linalg.lu_pivots_to_permutation_p,
        mlir.lower_fun(linalg._generic_lu_pivots_to_permutation, multiple_results=False),
    ),
    (threefry2x32.threefry2x32_p, threefry2x32._threefry2x32_cpu_lowering_rule),
)
