"""A tree of parameters as weights by name, and back."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from roundhouse_export import dtypes
from roundhouse_export.refusal import RefusedError

_ROOT = "parameters"


@dataclass(frozen=True)
class ParameterTree:
    """``weights`` are the tree's arrays; ``rebuild`` makes the tree of others by those names.

    What is not an array (a number of Python, a key of random numbers) is no weight: it stays in
    the tree as it is and becomes a constant of the programs.
    """

    weights: Mapping[str, np.ndarray]
    rebuild: Callable[[Mapping[str, Any]], Any]


def flattened(source: str, tree: Any) -> ParameterTree:
    """Returns arrays by path, such as ``layer1/kernel`` or ``blocks/0/bias``."""
    leaves, structure = jax.tree_util.tree_flatten_with_path(tree)
    weights: dict[str, np.ndarray] = {}
    names: list[str | None] = []
    for path, leaf in leaves:
        if not _is_weight(leaf):
            names.append(None)
            continue
        name = path_name(path) or _ROOT
        if name in weights:
            raise RefusedError(f"{source}: two parameters have the name '{name}'; rename one")
        weights[name] = np.asarray(leaf)
        _require_dtype(source, name, weights[name])
        names.append(name)

    def rebuild(held: Mapping[str, Any]) -> Any:
        return jax.tree_util.tree_unflatten(
            structure,
            [leaf if n is None else held[n] for (_, leaf), n in zip(leaves, names, strict=True)],
        )

    return ParameterTree(weights, rebuild)


def path_name(path: Sequence[Any]) -> str:
    """Returns a path of JAX's with its parts joined by ``/``; a Variable's own value is no part."""
    parts = [jax.tree_util.keystr((key,), simple=True) for key in path]
    if path and isinstance(path[-1], jax.tree_util.GetAttrKey) and path[-1].name == "value":
        parts.pop()
    return "/".join(part for part in parts if part)


def _is_weight(leaf: Any) -> bool:
    if isinstance(leaf, jax.Array):
        return not jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return isinstance(leaf, np.ndarray)


def _require_dtype(source: str, name: str, array: np.ndarray) -> None:
    try:
        dtypes.token_of(array.dtype)
    except ValueError as refusal:
        raise RefusedError(f"{source}: parameter '{name}': {refusal}") from refusal
