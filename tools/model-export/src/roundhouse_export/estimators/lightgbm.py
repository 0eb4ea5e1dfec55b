"""LightGBM's boosters, read from the text that LightGBM itself writes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from roundhouse_export.estimators.boosting import boosted_classifier
from roundhouse_export.estimators.part import (
    INDEX,
    PROBABILITIES,
    SCORES,
    Array,
    Building,
    Kind,
    Part,
    Weights,
    regressor,
)
from roundhouse_export.estimators.registry import translates
from roundhouse_export.estimators.tree_program import Tree, sum_groups
from roundhouse_export.estimators.trees import flat, tree_values
from roundhouse_export.refusal import RefusedError

_PLAIN = (
    "regression",
    "regression_l1",
    "huber",
    "fair",
    "quantile",
    "mape",
    "lambdarank",
    "rank_xendcg",
)
_EXPONENTIAL = ("poisson", "gamma", "tweedie")
_SIGMOID = ("binary", "cross_entropy")
_CLASSES = ("multiclass", "multiclassova")
_CATEGORICAL, _LEFT, _MISSING_SHIFT, _MISSING_ZERO = 1, 2, 2, 1


@dataclass(frozen=True)
class Text:
    """What a model file says: its header by key, and every tree's entries by key."""

    header: Mapping[str, str]
    trees: tuple[Mapping[str, str], ...]

    @property
    def features(self) -> int:
        return int(self.header["max_feature_idx"]) + 1


def parse(text: str, source: str) -> Text:
    sections: list[dict[str, str]] = [{}]
    for line in text.splitlines():
        if line.startswith("end of trees"):
            break
        key, equals, value = line.partition("=")
        if key == "Tree" and equals:
            sections.append({})
        sections[-1][key] = value if equals else "yes"
    header, trees = sections[0], tuple(sections[1:])
    lacking = {"tree", "max_feature_idx", "num_tree_per_iteration"} - set(header)
    if lacking or any("num_leaves" not in tree for tree in trees):
        raise RefusedError(
            f"{source}: not a whole LightGBM model: no {', '.join(sorted(lacking)) or 'num_leaves'}"
        )
    return Text(header, trees)


@translates("LGBMClassifier", "LGBMRegressor", "LGBMRanker", package="lightgbm")
def _estimator(estimator: Any, build: Building, path: str) -> Part:
    part = _booster(estimator.booster_, build, path)
    if part.kind is Kind.CLASSIFIER:
        return Part(part.kind, part.apply, np.asarray(estimator.classes_))
    return part


@translates("Booster", package="lightgbm")
def _booster(booster: Any, build: Building, path: str) -> Part:
    where = f"step '{path}'" if path else "the model"
    return translate_text(parse(booster.model_to_string(), where), build, path)


def translate_text(text: Text, build: Building, path: str) -> Part:
    where = f"{f'step {path!r}' if path else 'the model'}: LightGBM"
    objective, *settings = text.header.get("objective", "none given").split()
    if objective not in (*_PLAIN, *_EXPONENTIAL, *_SIGMOID, *_CLASSES):
        raise RefusedError(f"{where}: objective '{objective}' is not supported")
    slope = float(dict(s.split(":", 1) for s in settings if ":" in s).get("sigmoid", 1))
    sums = _sums(text, build, path, where)
    if objective == "multiclass":
        return boosted_classifier(sums, np.arange(int(text.header["num_class"])))
    if objective == "multiclassova":
        return _each_alone(sums, slope, int(text.header["num_class"]))
    if objective == "binary":
        return boosted_classifier(sums, np.arange(2), slope)
    if objective == "cross_entropy":
        return regressor(lambda x, w: flat(jax.nn.sigmoid(sums(x, w))))
    if objective in _EXPONENTIAL:
        return regressor(lambda x, w: flat(jnp.exp(sums(x, w))))
    if "sqrt" in settings:
        return regressor(lambda x, w: flat(jnp.sign(s := sums(x, w)) * s * s))
    return regressor(lambda x, w: flat(sums(x, w)))


def _each_alone(sums: Any, slope: float, classes: int) -> Part:
    """One model against the rest for each class; LightGBM leaves rows that do not sum to 1."""

    def apply(x: Array, weights: Weights) -> dict[str, Array]:
        scores = sums(x, weights)
        return {
            INDEX: jnp.argmax(scores, axis=1),
            SCORES: scores,
            PROBABILITIES: jax.nn.sigmoid(slope * scores),
        }

    return Part(Kind.CLASSIFIER, apply, np.arange(classes))


def _sums(text: Text, build: Building, path: str, where: str) -> Any:
    outputs = int(text.header["num_tree_per_iteration"])
    if not text.trees:
        raise RefusedError(f"{where}: it has no trees")
    # Random forests of LightGBM are averaged.
    share = outputs / len(text.trees) if "average_output" in text.header else 1.0
    trees = [_tree(each, at, share, where) for at, each in enumerate(text.trees)]
    groups = np.arange(len(trees)) % outputs
    # Rows are compared in f64 there, and f32 rows say the same of thresholds rounded down.
    values = tree_values(trees, build, path, build.dtype)
    return lambda x, w: sum_groups(values(x, w), groups, outputs)


def _tree(tree: Mapping[str, str], at: int, share: float, where: str) -> Tree:
    def numbers(key: str, dtype: Any) -> np.ndarray:
        return np.asarray(tree.get(key, "").split(), dtype)

    if int(tree.get("is_linear", "0")):
        raise RefusedError(f"{where}: tree {at} has linear leaves, which is not supported")
    leaves = numbers("leaf_value", np.float64) * share
    if len(leaves) == 1:
        zero = np.zeros(1, np.int64)
        return Tree(zero, np.zeros(1), zero, zero, np.zeros(1, bool), leaves[:, None])
    decision = numbers("decision_type", np.int64)
    if (decision & _CATEGORICAL).any():
        raise RefusedError(f"{where}: tree {at} has categorical splits, which is not supported")
    threshold = numbers("threshold", np.float64)
    inner = len(threshold)

    def links(key: str) -> np.ndarray:
        """Leaves are numbered ~0, ~1, ...; here they come after the inner nodes."""
        children = numbers(key, np.int64)
        return np.concatenate(
            [np.where(children < 0, inner + ~children, children), inner + np.arange(len(leaves))]
        )

    rest = np.zeros(len(leaves))
    return Tree(
        feature=np.concatenate([numbers("split_feature", np.int64), rest.astype(np.int64)]),
        threshold=np.concatenate([threshold, rest]),
        left=links("left_child"),
        right=links("right_child"),
        missing_left=np.concatenate([_missing_left(decision, threshold, at, where), rest > 0]),
        value=np.concatenate([np.zeros(inner), leaves])[:, None],
    )


def _missing_left(decision: np.ndarray, threshold: np.ndarray, at: int, where: str) -> np.ndarray:
    """Where NaN goes left: by the node's default, or, where none was learnt, as 0 does."""
    kind, default = (decision >> _MISSING_SHIFT) & 3, (decision & _LEFT) > 0
    if ((kind == _MISSING_ZERO) & (default != (threshold >= 0))).any():
        raise RefusedError(
            f"{where}: tree {at} takes zeros for missing (zero_as_missing), which is not supported"
        )
    return np.where(kind == 0, threshold >= 0, default)
