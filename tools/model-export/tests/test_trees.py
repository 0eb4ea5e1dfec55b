from typing import Any

import jax
import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.tree import DecisionTreeRegressor

from roundhouse_export.estimators.tree_program import (
    Strategy,
    Tree,
    below,
    round_down,
    sum_groups,
    tree_program,
)
from roundhouse_export.model import ImportOptions
from roundhouse_export.refusal import RefusedError
from roundhouse_export.sources import sklearn as source

F32 = np.dtype(np.float32)
RNG = np.random.default_rng(8)


def predict(estimator: Any, rows: np.ndarray) -> np.ndarray:
    model = source.model_of(estimator, "trees", ImportOptions())
    return np.asarray(jax.jit(model.forward)({"x": rows}, dict(model.weights))["prediction"])


def random_tree(depth: int, features: int) -> Tree:
    """Splits with a chance of two thirds, so that leaves lie at many depths."""
    nodes: list[tuple[int, float, int, int, bool]] = []

    def grow(left_over: int) -> int:
        at = len(nodes)
        nodes.append((0, 0.0, at, at, False))
        if left_over and (left_over == depth or RNG.random() < 0.67):
            feature, threshold = int(RNG.integers(features)), float(RNG.normal())
            left, right = grow(left_over - 1), grow(left_over - 1)
            nodes[at] = (feature, threshold, left, right, bool(RNG.random() < 0.5))
        return at

    grow(depth)
    columns = [np.array(column) for column in zip(*nodes, strict=True)]
    return Tree(*columns, value=RNG.normal(size=(len(nodes), 2)))


def walk(tree: Tree, row: np.ndarray) -> np.ndarray:
    node = 0
    while tree.left[node] != node:
        seen = row[tree.feature[node]]
        left = tree.missing_left[node] if np.isnan(seen) else seen <= tree.threshold[node]
        node = int(tree.left[node] if left else tree.right[node])
    return tree.value[node]


@pytest.mark.parametrize("strategy", list(Strategy))
@pytest.mark.parametrize("depth", [1, 4])
def test_should_end_in_the_same_leaf_whichever_strategy_walks(
    strategy: Strategy, depth: int
) -> None:
    trees = [random_tree(depth, 3) for _ in range(6)] + [random_tree(0, 3)]
    rows = RNG.normal(size=(50, 3)).astype(np.float32)
    rows[RNG.random(rows.shape) < 0.2] = np.nan
    program = tree_program(trees, F32, strategy=strategy)
    got = jax.jit(program.values)(rows, dict(program.weights))
    wanted = np.array([[walk(tree, row) for row in rows] for tree in trees])
    np.testing.assert_allclose(got, wanted, 1e-6)


def test_should_choose_by_depth_and_by_what_filling_up_costs() -> None:
    assert tree_program([random_tree(1, 2)], F32).strategy is Strategy.PRODUCT
    assert tree_program([random_tree(6, 2)], F32).strategy is not Strategy.PRODUCT
    chain = np.arange(41)
    deep = Tree(
        feature=np.zeros(41, int),
        threshold=-chain.astype(float),
        left=np.where(chain % 2 == 0, np.minimum(chain + 2, 40), chain),
        right=np.where(chain % 2 == 0, np.minimum(chain + 1, 40), chain),
        missing_left=np.zeros(41, bool),
        value=chain[:, None].astype(float),
    )
    program = tree_program([deep], F32)
    assert program.strategy is Strategy.LINKS
    rows = np.linspace(-50, 5, 60, dtype=np.float32)[:, None]
    got = jax.jit(program.values)(rows, dict(program.weights))[0]
    np.testing.assert_array_equal(got, [walk(deep, row) for row in rows])


def test_should_share_a_node_between_parents_when_trees_are_graphs() -> None:
    shared = Tree(
        feature=np.array([0, 1, 0, 0]),
        threshold=np.array([0.0, 0.0, 0, 0]),
        left=np.array([1, 2, 2, 3]),
        right=np.array([3, 3, 2, 3]),
        missing_left=np.zeros(4, bool),
        value=np.array([[0.0], [0], [5], [7]]),
    )
    rows = np.array([[-1, -1], [-1, 1], [1, -1]], np.float32)
    for strategy in Strategy:
        program = tree_program([shared], F32, strategy=strategy)
        got = jax.jit(program.values)(rows, dict(program.weights))[0, :, 0]
        assert np.asarray(got).tolist() == [5, 7, 7]


def test_should_refuse_to_walk_in_a_ring() -> None:
    zeros = np.zeros(2, int)
    ring = Tree(zeros, zeros, np.array([1, 0]), np.array([1, 0]), zeros > 0, np.zeros((2, 1)))
    with pytest.raises(ValueError, match="ring"):
        tree_program([ring], F32)


def test_should_branch_the_same_for_every_f32_when_a_threshold_is_rounded() -> None:
    thresholds = np.concatenate(
        [
            RNG.normal(size=200),
            RNG.normal(size=50).astype(np.float32).astype(float),
            [0.1, -0.1, 1e308, -1e308, 1e-35, -1e-35, 1e-50, -1e-50, 0.0, 16777217.0],
        ]
    )
    rounded = round_down(thresholds, F32)
    assert (rounded.astype(float) <= thresholds).all()
    for threshold, low in zip(thresholds, rounded, strict=True):
        near = np.float32(low)
        for x in (near, np.nextafter(near, F32.type(np.inf)), F32.type(0), F32.type(1e-30)):
            if x == 0 or abs(x) >= np.finfo(F32).tiny:
                assert (x <= low) == (float(x) <= threshold), (x, threshold)


def test_should_be_strict_when_a_source_compares_with_less() -> None:
    thresholds = np.array([0.0, 1.5, -2.25, 1e-37], np.float32)
    least = below(thresholds, F32).astype(np.float32)
    assert (least < thresholds).all()
    up = np.nextafter(least, np.float32(np.inf))
    np.testing.assert_array_equal(up[1:3], thresholds[1:3])
    assert abs(least[0]) >= np.finfo(np.float32).tiny


def threshold_rows(thresholds: np.ndarray, features: np.ndarray, count: int) -> np.ndarray:
    """Rows that hold thresholds themselves, and what lies next to them on both sides."""
    rows = []
    for threshold, feature in zip(thresholds, features, strict=True):
        near = np.float32(threshold)
        for x in (near, np.nextafter(near, np.float32(9e9)), np.nextafter(near, np.float32(-9e9))):
            row = RNG.integers(0, 6, count).astype(np.float32) / 2
            row[feature] = x
            rows.append(row)
    return np.array(rows, np.float32)


X = (RNG.integers(0, 12, size=(300, 4)) / 3).astype(np.float32)
Y = X[:, 0] * X[:, 1] - (X[:, 2] > 1.7) + 0.1 * RNG.normal(size=300)


def test_should_branch_as_scikit_learn_when_a_row_holds_a_threshold() -> None:
    tree = DecisionTreeRegressor(max_depth=7, random_state=0).fit(X, Y)
    inner = tree.tree_.feature >= 0
    rows = threshold_rows(tree.tree_.threshold[inner], tree.tree_.feature[inner], 4)
    np.testing.assert_allclose(predict(tree, rows), tree.predict(rows), 1e-6)


def test_should_branch_as_xgboost_when_a_row_holds_a_threshold() -> None:
    boosted = xgboost.XGBRegressor(n_estimators=3, max_depth=5, n_jobs=1).fit(X, Y)
    table = boosted.get_booster().trees_to_dataframe()
    inner = table[table.Feature != "Leaf"]
    features = inner.Feature.str[1:].astype(int).to_numpy()
    rows = threshold_rows(inner.Split.to_numpy(), features, 4)
    rows = np.concatenate([rows, np.zeros((1, 4), np.float32), -np.zeros((1, 4), np.float32)])
    np.testing.assert_allclose(predict(boosted, rows), boosted.predict(rows), 1e-5)


def test_should_branch_as_lightgbm_when_a_row_holds_a_threshold() -> None:
    boosted = lightgbm.LGBMRegressor(n_estimators=4, n_jobs=1, verbose=-1).fit(X, Y)
    table = boosted.booster_.trees_to_dataframe()
    inner = table[table.split_feature.notna()]
    features = inner.split_feature.str.split("_").str[1].astype(int).to_numpy()
    rows = threshold_rows(inner.threshold.astype(float).to_numpy(), features, 4)
    np.testing.assert_allclose(predict(boosted, rows), boosted.predict(rows), 1e-5)


@pytest.mark.parametrize(
    "estimator",
    [
        DecisionTreeRegressor(max_depth=6, random_state=0),
        HistGradientBoostingRegressor(max_iter=5, max_leaf_nodes=8),
        xgboost.XGBRegressor(n_estimators=5, max_depth=4, n_jobs=1),
        xgboost.XGBRegressor(n_estimators=5, max_depth=4, n_jobs=1, missing=1.0),
        lightgbm.LGBMRegressor(n_estimators=5, n_jobs=1, verbose=-1),
    ],
)
def test_should_go_the_same_way_when_numbers_are_missing(estimator: Any) -> None:
    holes = X.copy()
    holes[RNG.random(X.shape) < 0.2] = np.nan
    estimator.fit(holes, Y)
    rows = holes[:80].copy()
    rows[::4] = np.nan
    rows[1::7, 2] = np.nan
    np.testing.assert_allclose(predict(estimator, rows), estimator.predict(rows), 1e-5, 1e-6)


def test_should_take_missing_for_zero_when_lightgbm_learnt_none() -> None:
    boosted = lightgbm.LGBMRegressor(n_estimators=5, n_jobs=1, verbose=-1).fit(X - 2, Y)
    rows = X[:40] - 2
    rows[::3, 0] = np.nan
    np.testing.assert_allclose(predict(boosted, rows), boosted.predict(rows), 1e-5)


def test_should_refuse_by_name_when_zeros_count_as_missing() -> None:
    boosted = lightgbm.LGBMRegressor(n_estimators=9, zero_as_missing=True, n_jobs=1, verbose=-1)
    with pytest.raises(RefusedError, match="zero_as_missing"):
        predict(boosted.fit(X - 2, Y), X)


def test_should_add_up_each_output_when_trees_are_in_any_order() -> None:
    values = RNG.normal(size=(7, 3, 1)).astype(np.float32)
    for groups in (np.array([0, 1, 0, 1, 1, 1, 0]), np.arange(7) % 7):
        count = int(groups.max()) + 1
        got = jax.jit(lambda each, to=groups, of=count: sum_groups(each, to, of))(values)
        wanted = np.stack([values[groups == g, :, 0].sum(0) for g in range(groups.max() + 1)], 1)
        np.testing.assert_allclose(got, wanted, 1e-5)
