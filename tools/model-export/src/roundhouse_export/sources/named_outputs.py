"""What a function returns, by name."""

from collections.abc import Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from roundhouse_export import dtypes
from roundhouse_export.refusal import RefusedError
from roundhouse_export.sources.parameter_tree import path_name

_NUMBERS = (bool, int, float, np.generic, np.ndarray, jax.Array)


def named(source: str, returned: Any) -> dict[str, jax.Array]:
    """Names an array ``output``, those of a tuple ``output_0`` and on, those of a dict by its keys.

    A tuple with names and a dataclass give theirs; deeper ones are joined by ``/``. What is None
    is left out.
    """
    outputs: dict[str, jax.Array] = {}
    for name, value in leaves("", returned):
        if not isinstance(value, _NUMBERS):
            what = type(value).__name__ + (f" as '{name}'" if name else "")
            raise RefusedError(
                f"{source}: it returns a {what}; a model returns arrays, or tuples or dicts of them"
            )
        if name in outputs:
            raise RefusedError(f"{source}: it returns two outputs with the name '{name}'")
        array = jnp.asarray(value)
        try:
            dtypes.token_of(array.dtype)
        except ValueError as refusal:
            raise RefusedError(f"{source}: output '{name or 'output'}': {refusal}") from refusal
        outputs[name or "output"] = array
    if not outputs:
        raise RefusedError(f"{source}: it returns nothing; a model returns at least one array")
    return outputs


def leaves(prefix: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yields what stands in a returned tree, by name; the name is empty for what is no tree."""
    if value is None:
        return
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from leaves(_joined(prefix, str(key)), inner)
    elif isinstance(value, list | tuple):
        fields = getattr(value, "_fields", None)
        for position, inner in enumerate(value):
            if fields:
                name = _joined(prefix, fields[position])
            else:
                name = f"{prefix}_{position}" if prefix else f"output_{position}"
            yield from leaves(name, inner)
    elif isinstance(value, _NUMBERS):
        yield prefix, value
    else:
        found = jax.tree_util.tree_leaves_with_path(value)
        if len(found) == 1 and found[0][1] is value:
            yield prefix, value
        for path, inner in found:
            if inner is not value:
                yield _joined(prefix, path_name(path)), inner


def _joined(prefix: str, name: str) -> str:
    return f"{prefix}/{name}" if prefix else name
