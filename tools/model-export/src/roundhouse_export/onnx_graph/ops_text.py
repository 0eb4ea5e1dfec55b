"""Counts of sequences in lists of token numbers."""

import itertools

import jax.numpy as jnp
import numpy as np

from roundhouse_export.onnx_graph.registry import Node, Value, operator


@operator("TfIdfVectorizer")
def tf_idf_vectorizer(node: Node, x: Value) -> Value:
    """Counts n-grams, also with tokens skipped between theirs, and weighs the counts."""
    pool = node.get("pool_int64s")
    if not pool:
        raise node.refuse("its n-grams are texts, which have no place in a program")
    shortest, longest = node.get("min_gram_length"), node.get("max_gram_length")
    starts = [*node.get("ngram_counts"), len(pool)]
    indexes = node.get("ngram_indexes")
    rows = jnp.reshape(x, (1, -1)) if x.ndim == 1 else jnp.asarray(x)
    counts = jnp.zeros((rows.shape[0], max(indexes) + 1), jnp.float32)
    before = 0
    for length, (start, end) in enumerate(itertools.pairwise(starts), 1):
        grams = np.asarray(pool[start:end], np.int64).reshape(-1, length)
        places = np.asarray(indexes[before : before + len(grams)])
        before += len(grams)
        if len(grams) and shortest <= length <= longest:
            skips = range(node.get("max_skip_count", 0) + 1) if length > 1 else range(1)
            found = sum(_found(rows, grams, skip + 1) for skip in skips)
            counts = counts.at[:, places].add(found)
    counts = _weighed(node, counts)
    return counts[0] if x.ndim == 1 else counts


def _found(rows: Value, grams: np.ndarray, step: int) -> Value:
    """How often each n-gram is in each row with its tokens ``step`` apart."""
    length = grams.shape[1]
    windows = rows.shape[1] - (length - 1) * step
    if windows <= 0:
        return jnp.zeros((rows.shape[0], len(grams)), jnp.float32)
    at = np.arange(windows)[:, None] + np.arange(length) * step
    alike = rows[:, at][:, :, None, :] == grams
    return alike.all(-1).sum(1).astype(jnp.float32)


def _weighed(node: Node, counts: Value) -> Value:
    mode, weights = node.get("mode"), node.get("weights")
    factors = np.ones(counts.shape[1], np.float32)
    if weights and mode != "TF":
        factors[np.asarray(node.get("ngram_indexes"))] = weights
    return (counts if mode != "IDF" else (counts > 0).astype(jnp.float32)) * factors
