"""XGBoost's boosters, read from the JSON that XGBoost itself writes."""

import json
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from roundhouse_export.estimators.boosting import boosted_classifier
from roundhouse_export.estimators.part import Array, Building, Kind, Part, Weights, regressor
from roundhouse_export.estimators.registry import translates
from roundhouse_export.estimators.tree_program import Tree, below, sum_groups
from roundhouse_export.estimators.trees import flat, tree_values
from roundhouse_export.refusal import RefusedError

_PLAIN = (
    "reg:squarederror",
    "reg:linear",
    "reg:squaredlogerror",
    "reg:pseudohubererror",
    "reg:absoluteerror",
    "reg:quantileerror",
    "rank:pairwise",
    "rank:ndcg",
    "rank:map",
)
_EXPONENTIAL = ("count:poisson", "reg:gamma", "reg:tweedie", "survival:cox")
_LOGISTIC = ("binary:logistic", "reg:logistic")
_CLASSES = ("multi:softprob", "multi:softmax")


@translates(
    "XGBClassifier",
    "XGBRFClassifier",
    "XGBRegressor",
    "XGBRFRegressor",
    "XGBRanker",
    package="xgboost",
)
def _estimator(estimator: Any, build: Building, path: str) -> Part:
    learner = learner_of(estimator.get_booster())
    # Without early stopping the attribute raises; with it, predict stops at the best round.
    best = learner["attributes"].get("best_iteration")
    missing = float("nan") if estimator.missing is None else float(estimator.missing)
    rounds = None if best is None else int(best) + 1
    part = translate_learner(learner, build, path, rounds, missing)
    if part.kind is Kind.CLASSIFIER:
        return Part(part.kind, part.apply, np.asarray(estimator.classes_))
    return part


@translates("Booster", package="xgboost")
def _booster(booster: Any, build: Building, path: str) -> Part:
    return translate_learner(learner_of(booster), build, path)


def learner_of(booster: Any) -> dict[str, Any]:
    return json.loads(bytes(booster.save_raw("json")))["learner"]


def features_of(learner: Mapping[str, Any]) -> int:
    return int(learner["learner_model_param"]["num_feature"])


def translate_learner(
    learner: Mapping[str, Any],
    build: Building,
    path: str,
    rounds: int | None = None,
    missing: float = float("nan"),
) -> Part:
    """``rounds`` are the first rounds of boosting that count; None for all."""
    objective = learner["objective"]["name"]
    if objective not in (*_PLAIN, *_EXPONENTIAL, *_LOGISTIC, *_CLASSES):
        raise RefusedError(_where(path, f"objective '{objective}' is not supported"))
    raw = _raw(learner, build, path, rounds)

    def sums(x: Array, weights: Weights) -> Array:
        x = x.astype(np.float32)
        return raw(x if np.isnan(missing) else jnp.where(x == missing, np.nan, x), weights)

    if objective in _CLASSES:
        return boosted_classifier(sums, np.arange(_outputs(learner)))
    if objective == "binary:logistic":
        return boosted_classifier(sums, np.arange(2))
    if objective == "reg:logistic":
        return regressor(lambda x, w: flat(jax.nn.sigmoid(sums(x, w))))
    if objective in _EXPONENTIAL:
        return regressor(lambda x, w: flat(jnp.exp(sums(x, w))))
    return regressor(lambda x, w: flat(sums(x, w)))


def _outputs(learner: Mapping[str, Any]) -> int:
    parameters = learner["learner_model_param"]
    return max(1, int(parameters["num_class"]), int(parameters.get("num_target", 1)))


def _raw(learner: Mapping[str, Any], build: Building, path: str, rounds: int | None) -> Any:
    booster, outputs = learner["gradient_booster"], _outputs(learner)
    first = build.numbers(path, "base_score", _start(learner, outputs))
    if booster["name"] == "gblinear":
        table = np.asarray(booster["model"]["weights"], np.float64).reshape(-1, outputs)
        coef = build.numbers(path, "weights", table[:-1])
        bias = build.numbers(path, "bias", table[-1])
        return lambda x, w: jnp.nan_to_num(x) @ w[coef] + w[bias] + w[first]
    model = booster["gbtree"]["model"] if booster["name"] == "dart" else booster["model"]
    drawn, groups = model["trees"], np.asarray(model["tree_info"], np.int64)
    if rounds is not None:
        starts = model.get("iteration_indptr")
        parallel = int(model["gbtree_model_param"].get("num_parallel_tree", 1))
        end = starts[rounds] if starts else rounds * outputs * max(1, parallel)
        drawn, groups = drawn[:end], groups[:end]
    factors = booster.get("weight_drop", [1.0] * len(drawn))
    trees = [_tree(each, f, path) for each, f in zip(drawn, factors, strict=False)]
    if not trees:
        return lambda x, w: jnp.zeros((x.shape[0], outputs), build.dtype) + w[first]
    values = tree_values(trees, build, path)
    return lambda x, w: sum_groups(values(x, w), groups, outputs) + w[first]


def _start(learner: Mapping[str, Any], outputs: int) -> np.ndarray:
    """What sums start from; XGBoost keeps it as a prediction, except for several classes."""
    given = json.loads(learner["learner_model_param"]["base_score"])
    start = np.broadcast_to(np.asarray(given, np.float64).ravel(), outputs)
    objective = learner["objective"]["name"]
    if objective in _LOGISTIC:
        return -np.log(1 / start - 1)
    return np.log(start) if objective in _EXPONENTIAL else start


def _tree(tree: Mapping[str, Any], factor: float, path: str) -> Tree:
    if any(tree.get("split_type", ())):
        raise RefusedError(_where(path, f"tree {tree['id']} has categorical splits; not supported"))
    if int(tree["tree_param"]["size_leaf_vector"]) > 1:
        raise RefusedError(_where(path, "multi_output_tree is not supported; use one_output"))
    left, right = (np.asarray(tree[f"{side}_children"], np.int64) for side in ("left", "right"))
    own, leaf = np.arange(len(left)), left < 0
    condition = np.asarray(tree["split_conditions"], np.float32)
    return Tree(
        feature=np.where(leaf, 0, np.asarray(tree["split_indices"], np.int64)),
        threshold=np.where(leaf, 0, below(condition, condition.dtype)),
        left=np.where(leaf, own, left),
        right=np.where(leaf, own, right),
        missing_left=np.asarray(tree["default_left"], bool) & ~leaf,
        value=(condition.astype(np.float64) * factor)[:, None],
    )


def _where(path: str, why: str) -> str:
    return f"{f'step {path!r}' if path else 'the model'}: XGBoost: {why}"
