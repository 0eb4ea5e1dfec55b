import importlib
import warnings
from typing import Any

import jax
import lightgbm
import numpy as np
import onnx
import onnxruntime
import pytest
import xgboost
from onnx import TensorProto, helper
from onnxmltools import convert_lightgbm, convert_xgboost
from onnxmltools.convert.common.data_types import FloatTensorType
from skl2onnx import to_onnx
from sklearn import ensemble, linear_model, svm, tree

from roundhouse_export.onnx_graph.registry import ML, Node, find
from roundhouse_export.refusal import RefusedError

for module in ("ml_trees", "ml_linear", "ml_features"):
    importlib.import_module(f"roundhouse_export.onnx_graph.{module}")

RNG = np.random.default_rng(4)
X = RNG.normal(size=(120, 4)).astype(np.float32)
ROWS = RNG.normal(size=(30, 4)).astype(np.float32)
TWO = (X[:, 0] * X[:, 1] > 0).astype(int)
THREE = np.digitize(X[:, 0] + X[:, 2] ** 2, [0.2, 1.4])
NUMBER = X[:, 0] - X[:, 1] * X[:, 3]
TYPES = {
    np.dtype(np.float32): TensorProto.FLOAT,
    np.dtype(np.float64): TensorProto.DOUBLE,
    np.dtype(np.int64): TensorProto.INT64,
}


def attributes_of(proto: onnx.NodeProto) -> dict[str, Any]:
    found = {}
    for attribute in proto.attribute:
        value = helper.get_attribute_value(attribute)
        if isinstance(value, onnx.TensorProto):
            value = onnx.numpy_helper.to_array(value)
        elif isinstance(value, bytes):
            value = value.decode()
        elif not isinstance(value, int | float):
            value = [each.decode() if isinstance(each, bytes) else each for each in value]
        found[attribute.name] = value
    return found


def check(proto: onnx.NodeProto, *inputs: np.ndarray, version: int = 3, labels: int = 0) -> None:
    """Compares one node with onnxruntime; ``labels`` counts outputs that must be equal."""
    names = [f"i{at}" for at in range(len(inputs))]
    alone = onnx.NodeProto()
    alone.CopyFrom(proto)
    del alone.input[:], alone.output[:]
    alone.input.extend(names)
    count = 2 if "Classifier" in proto.op_type else 1
    alone.output.extend([f"o{at}" for at in range(count)])
    graph = helper.make_graph(
        [alone],
        "one",
        [
            helper.make_tensor_value_info(n, TYPES[i.dtype], [None] * i.ndim)
            for n, i in zip(names, inputs, strict=True)
        ],
        [onnx.ValueInfoProto(name=name) for name in alone.output],
    )
    sets = [helper.make_opsetid("", 18), helper.make_opsetid(ML, version)]
    model = helper.make_model(graph, opset_imports=sets, ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    wanted = session.run(None, dict(zip(names, inputs, strict=True)))
    got = run(alone, *inputs, version=version)
    for at, (ours, theirs) in enumerate(zip(got, wanted, strict=True)):
        assert ours.shape == theirs.shape, (ours.shape, theirs.shape)
        if at < labels:
            np.testing.assert_array_equal(ours, theirs)
        else:
            np.testing.assert_allclose(ours, theirs, 2e-5, 2e-5)


def run(proto: onnx.NodeProto, *inputs: np.ndarray, version: int = 3) -> list[np.ndarray]:
    node = Node(proto.op_type, proto.name, ML, version, attributes_of(proto), list(proto.output))
    with jax.enable_x64(True):
        found = jax.jit(lambda *given: find(node)(node, *given))(*inputs)
        return [np.asarray(each) for each in (found if isinstance(found, tuple) else (found,))]


def make(op: str, **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(op, ["x"], ["y"], name="under_test", domain=ML, **attributes)


def node_of(model: Any, op: str) -> onnx.NodeProto:
    return next(node for node in model.graph.node if node.op_type == op)


def converted(estimator: Any, op: str, **options: Any) -> onnx.NodeProto:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = to_onnx(estimator, X[:1], options={id(estimator): options} if options else None)
    return node_of(model, op)


@pytest.mark.parametrize(
    ("estimator", "target"),
    [
        (tree.DecisionTreeClassifier(max_depth=4, random_state=0), TWO),
        (ensemble.RandomForestClassifier(5, random_state=0), THREE),
        (ensemble.GradientBoostingClassifier(n_estimators=4, random_state=0), TWO),
        (ensemble.GradientBoostingClassifier(n_estimators=4, random_state=0), THREE),
    ],
)
def test_should_classify_as_onnxruntime_when_trees_vote(estimator: Any, target: Any) -> None:
    estimator.fit(X, target)
    check(converted(estimator, "TreeEnsembleClassifier"), ROWS, labels=1)


@pytest.mark.parametrize("target", [TWO, THREE], ids=["two", "three"])
def test_should_classify_as_onnxruntime_when_boosted(target: Any) -> None:
    kinds = [("x", FloatTensorType([None, 4]))]
    boosted = xgboost.XGBClassifier(n_estimators=4, max_depth=3, n_jobs=1).fit(X, target)
    model = convert_xgboost(boosted, initial_types=kinds, target_opset=15)
    rows = ROWS.copy()
    rows[::5, 1] = np.nan
    check(node_of(model, "TreeEnsembleClassifier"), rows, labels=1)
    light = lightgbm.LGBMClassifier(n_estimators=4, n_jobs=1, verbose=-1).fit(X, target)
    model = convert_lightgbm(light, initial_types=kinds, target_opset=15, zipmap=False)
    check(node_of(model, "TreeEnsembleClassifier"), ROWS, labels=1)


@pytest.mark.parametrize(
    "estimator",
    [
        tree.DecisionTreeRegressor(max_depth=4, random_state=0),
        ensemble.RandomForestRegressor(5, random_state=0),
        ensemble.GradientBoostingRegressor(n_estimators=4, random_state=0),
    ],
)
def test_should_predict_as_onnxruntime_when_trees_are_added(estimator: Any) -> None:
    check(converted(estimator.fit(X, NUMBER), "TreeEnsembleRegressor"), ROWS)


def stump(mode: str, missing: int, **more: Any) -> onnx.NodeProto:
    """Two trees of one and two decisions, with leaves for two targets."""
    return make(
        "TreeEnsembleRegressor",
        n_targets=2,
        nodes_treeids=[0, 0, 0, 1, 1, 1, 1, 1],
        nodes_nodeids=[0, 1, 2, 0, 1, 2, 3, 4],
        nodes_featureids=[0, 0, 0, 1, 0, 0, 0, 0],
        nodes_modes=[mode, "LEAF", "LEAF", mode, mode, "LEAF", "LEAF", "LEAF"],
        nodes_values=[0.5, 0, 0, 0.0, -0.5, 0, 0, 0],
        nodes_truenodeids=[1, 0, 0, 1, 3, 0, 0, 0],
        nodes_falsenodeids=[2, 0, 0, 2, 4, 0, 0, 0],
        nodes_missing_value_tracks_true=[missing] * 8,
        target_treeids=[0, 0, 0, 0, 1, 1, 1, 1, 1, 1],
        target_nodeids=[1, 2, 1, 2, 2, 3, 4, 2, 3, 4],
        target_ids=[0, 0, 1, 1, 0, 0, 0, 1, 1, 1],
        target_weights=[1.0, 2, 3, 4, 5, 6, 7, 8, 9, 10],
        **more,
    )


HALVES = np.array(
    [[a, b] for a in (-0.5, 0, 0.5, 1, np.nan) for b in (-1, 0, 1, np.nan)], np.float32
)


@pytest.mark.parametrize("missing", [0, 1])
@pytest.mark.parametrize("mode", ["LEQ", "LT", "GTE", "GT", "EQ", "NEQ"])
def test_should_branch_as_onnxruntime_when_rows_hold_thresholds(mode: str, missing: int) -> None:
    check(stump(f"BRANCH_{mode}", missing), HALVES)


@pytest.mark.parametrize("how", ["SUM", "AVERAGE", "MIN", "MAX"])
def test_should_aggregate_as_onnxruntime(how: str) -> None:
    check(stump("BRANCH_LEQ", 0, aggregate_function=how, base_values=[0.5, -1.0]), HALVES)


@pytest.mark.parametrize("mode", range(6))
def test_should_walk_as_onnxruntime_when_leaves_are_listed_apart(mode: int) -> None:
    proto = make(
        "TreeEnsemble",
        n_targets=2,
        aggregate_function=1,
        nodes_splits=helper.make_tensor("s", TensorProto.FLOAT, [3], [0.5, 0.0, -0.5]),
        nodes_modes=helper.make_tensor("m", TensorProto.UINT8, [3], [mode] * 3),
        nodes_featureids=[0, 1, 0],
        nodes_truenodeids=[0, 2, 2],
        nodes_falsenodeids=[1, 4, 3],
        nodes_trueleafs=[1, 0, 1],
        nodes_falseleafs=[1, 1, 1],
        leaf_targetids=[0, 1, 0, 1, 0],
        leaf_weights=helper.make_tensor("w", TensorProto.FLOAT, [5], [1.0, 2, 3, 4, 5]),
        tree_roots=[0, 1],
    )
    check(proto, HALVES, version=5)


def test_should_refuse_by_node_when_branches_test_for_members() -> None:
    with pytest.raises(RefusedError, match=r"node 'under_test': .*BRANCH_MEMBER"):
        run(stump("BRANCH_MEMBER", 0), HALVES)


@pytest.mark.parametrize("target", [TWO, THREE], ids=["two", "three"])
def test_should_classify_as_onnxruntime_when_linear(target: Any) -> None:
    estimator = linear_model.LogisticRegression().fit(X, target)
    check(converted(estimator, "LinearClassifier"), ROWS, labels=1)


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"])
@pytest.mark.parametrize("classes", [2, 3])
def test_should_transform_scores_as_onnxruntime(transform: str, classes: int) -> None:
    coefficients = RNG.normal(size=classes * 4).tolist()
    proto = make(
        "LinearClassifier",
        coefficients=coefficients,
        intercepts=[0.1] * classes,
        classlabels_ints=[3, 8, 5][:classes],
        post_transform=transform,
    )
    check(proto, ROWS, labels=1)


def test_should_predict_as_onnxruntime_when_linear() -> None:
    proto = make(
        "LinearRegressor",
        coefficients=RNG.normal(size=8).tolist(),
        intercepts=[1.0, -2.0],
        targets=2,
    )
    check(proto, ROWS)
    check(make("LinearRegressor", coefficients=[1.0, 2, 3, 4]), ROWS)


@pytest.mark.parametrize("kind", ["rbf", "poly", "sigmoid", "linear"])
def test_should_predict_as_onnxruntime_when_kernels_are_used(kind: str) -> None:
    check(converted(svm.SVR(kernel=kind, coef0=0.5).fit(X, NUMBER), "SVMRegressor"), ROWS)


@pytest.mark.parametrize("probability", [False, True])
@pytest.mark.parametrize("target", [TWO, THREE], ids=["two", "three"])
def test_should_classify_as_onnxruntime_when_kernels_are_used(
    target: Any, probability: bool
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator = svm.SVC(probability=probability, random_state=0).fit(X, target)
    check(converted(estimator, "SVMClassifier"), ROWS, labels=1)


@pytest.mark.parametrize("norm", ["MAX", "L1", "L2"])
def test_should_normalise_as_onnxruntime(norm: str) -> None:
    check(make("Normalizer", norm=norm), np.concatenate([ROWS, np.zeros((1, 4), np.float32)]))


def test_should_prepare_features_as_onnxruntime() -> None:
    check(make("Scaler", offset=[1.0, 2, 3, 4], scale=[0.5, 1, 2, 3]), ROWS)
    check(make("Scaler", offset=[1.0], scale=[0.5]), ROWS)
    check(make("Binarizer", threshold=0.3), ROWS)
    holes = ROWS.copy()
    holes[::3, 2] = np.nan
    fill = make("Imputer", imputed_value_floats=[1.0, 2, 3, 4], replaced_value_float=float("nan"))
    check(fill, holes)
    whole = RNG.integers(0, 4, (6, 3))
    check(make("Imputer", imputed_value_int64s=[9], replaced_value_int64=2), whole)
    check(make("OneHotEncoder", cats_int64s=[0, 2, 3], zeros=1), whole)
    check(make("ArrayFeatureExtractor"), ROWS, np.array([2, 0, 2]))
    check(make("FeatureVectorizer", inputdimensions=[4, 2]), ROWS, ROWS[:, :2].copy())


def test_should_encode_labels_as_onnxruntime() -> None:
    whole = RNG.integers(0, 5, 12)
    pairs = {"keys_int64s": [0, 2, 3], "values_int64s": [7, 8, 9], "default_int64": -4}
    check(make("LabelEncoder", **pairs), whole, labels=1)
    pairs = {"keys_int64s": [0, 2], "values_floats": [0.5, 1.5], "default_float": 2.0}
    check(make("LabelEncoder", **pairs), whole)
    pairs = {"keys_floats": [0.5, float("nan")], "values_floats": [1.0, 2.0]}
    for version in (2, 4):  # a key that is no number finds its like from version 4 on
        check(
            make("LabelEncoder", **pairs), np.array([0.5, np.nan, 1], np.float32), version=version
        )


@pytest.mark.parametrize(
    ("proto", "why"),
    [
        (make("LabelEncoder", keys_strings=["a"], values_int64s=[1]), "keys that are texts"),
        (make("OneHotEncoder", cats_strings=["a"]), "categories that are texts"),
        (make("DictVectorizer", string_vocabulary=["a"]), "maps and texts"),
        (make("CastMap"), "maps and texts"),
    ],
)
def test_should_refuse_by_node_when_texts_are_asked(proto: Any, why: str) -> None:
    with pytest.raises(RefusedError, match=rf"node 'under_test': operator \w+: {why}"):
        run(proto, ROWS)


def test_should_return_positions_when_labels_are_texts() -> None:
    estimator = linear_model.LogisticRegression().fit(X, np.array(["a", "b", "c"])[THREE])
    label, _ = run(converted(estimator, "LinearClassifier"), ROWS)
    np.testing.assert_array_equal(estimator.classes_[label], estimator.predict(ROWS))


def test_should_pass_probabilities_on_when_they_would_become_maps() -> None:
    (got,) = run(make("ZipMap", classlabels_int64s=[0, 1, 2, 3]), ROWS)
    np.testing.assert_array_equal(got, ROWS)
