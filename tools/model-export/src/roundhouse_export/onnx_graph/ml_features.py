"""Operators of ``ai.onnx.ml`` that prepare features, as far as these are numbers."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from roundhouse_export.estimators.scalers import row_norms
from roundhouse_export.onnx_graph.ml_scores import rows_of
from roundhouse_export.onnx_graph.registry import ML, Node, operator, refused

Array = Any
_NORMS = {"MAX": "max", "L1": "l1", "L2": "l2"}


@operator("Normalizer", domain=ML)
def _normalizer(node: Node, x: Array) -> Array:
    norm = node.get("norm", "MAX")
    if norm not in _NORMS:
        raise node.refuse(f"norm '{norm}' is not supported")
    x = rows_of(x)
    if norm == "MAX":
        # The greatest number, not the greatest size: onnxruntime divides by it with its sign.
        most = jnp.max(x, axis=1, keepdims=True)
        return x / jnp.where(most == 0, 1, most)
    return x / row_norms(x, _NORMS[norm])


@operator("Scaler", domain=ML)
def _scaler(node: Node, x: Array) -> Array:
    x = rows_of(x)
    offset = np.asarray(node.get("offset", [0.0]), x.dtype)
    return (x - offset) * np.asarray(node.get("scale", [1.0]), x.dtype)


@operator("Imputer", domain=ML)
def _imputer(node: Node, x: Array) -> Array:
    x = jnp.asarray(x)
    whole = jnp.issubdtype(x.dtype, jnp.integer)
    kind = "int64" if whole else "float"
    fill = node.get(f"imputed_value_{kind}s")
    if not fill:
        raise node.refuse(f"it has no imputed_value_{kind}s")
    replaced = node.get(f"replaced_value_{kind}", 0)
    gone = jnp.isnan(x) if not whole and np.isnan(replaced) else x == replaced
    return jnp.where(gone, jnp.asarray(np.asarray(fill), x.dtype), x)


@operator("Binarizer", domain=ML)
def _binarizer(node: Node, x: Array) -> Array:
    x = jnp.asarray(x)
    return (x > node.get("threshold", 0.0)).astype(x.dtype)


@operator("OneHotEncoder", domain=ML)
def _one_hot(node: Node, x: Array) -> Array:
    categories = node.get("cats_int64s")
    if not categories:
        raise node.refuse("categories that are texts are not supported; encode before the call")
    # An unknown category is a row of zeros; zeros=0 asks for an error, which no program has.
    return (jnp.asarray(x)[..., None] == np.asarray(categories)).astype(np.float32)


@operator("ArrayFeatureExtractor", domain=ML)
def _extractor(node: Node, x: Array, at: Array) -> Array:
    x = jnp.asarray(x)
    x = x[None] if x.ndim == 1 else x
    return jnp.take(x, jnp.asarray(at).reshape(-1), axis=-1)


@operator("FeatureVectorizer", domain=ML)
def _vectorizer(node: Node, *inputs: Array) -> Array:
    sizes = node.get("inputdimensions") or [None] * len(inputs)
    columns = []
    for x, size in zip(inputs, sizes, strict=True):
        x = jnp.asarray(x)
        x = x.reshape(x.shape[0], -1).astype(np.float32)
        columns.append(x if size is None else x[:, :size])
    return jnp.concatenate(columns, axis=1)


@operator("LabelEncoder", since=2, domain=ML)
def _label_encoder(node: Node, x: Array) -> Array:
    keys, values = _numbers(node, "keys"), _numbers(node, "values")
    kind = "int64" if np.issubdtype(values.dtype, np.integer) else "float"
    missed = node.get("default_tensor")
    if missed is None:
        missed = node.get(f"default_{kind}", -1 if kind == "int64" else -0.0)
    x = jnp.asarray(x)
    same = x[..., None] == keys
    if node.version >= 4 and not np.issubdtype(keys.dtype, np.integer):
        same = same | (jnp.isnan(x)[..., None] & np.isnan(keys))
    found = jnp.asarray(values)[jnp.argmax(same, axis=-1)]
    return jnp.where(jnp.any(same, axis=-1), found, jnp.asarray(np.ravel(missed)[0], found.dtype))


def _numbers(node: Node, name: str) -> np.ndarray:
    tensor = node.get(f"{name}_tensor")
    if tensor is not None and np.asarray(tensor).dtype.kind in "if":
        return np.asarray(tensor).ravel()
    for kind, dtype in (("int64", np.int64), ("float", np.float32)):
        found = node.get(f"{name}_{kind}s")
        if found is not None and len(found):
            return np.asarray(found, dtype)
    raise node.refuse(f"{name} that are texts are not supported; a program takes numbers")


@operator("ZipMap", domain=ML)
def _zip_map(node: Node, x: Array) -> Array:
    """Passes probabilities on as they are: the map's keys are the labels of its last axis."""
    return x


refused(
    "CastMap",
    "DictVectorizer",
    "CategoryMapper",
    domain=ML,
    why="maps and texts are not supported; a program takes and returns tensors",
)
