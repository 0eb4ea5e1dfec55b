import warnings
from pathlib import Path
from typing import Any

import jax
import joblib
import lightgbm
import numpy as np
import pandas
import pytest
import skops.io
import xgboost
import yaml
from sklearn import (
    calibration,
    cluster,
    compose,
    decomposition,
    discriminant_analysis,
    ensemble,
    feature_selection,
    impute,
    linear_model,
    multiclass,
    naive_bayes,
    neighbors,
    neural_network,
    pipeline,
    preprocessing,
    svm,
    tree,
)
from thinning import thinned
from threadpoolctl import threadpool_limits

from roundhouse_export import sources
from roundhouse_export import weights as weight_files
from roundhouse_export.contract import TensorSpec
from roundhouse_export.estimators.registry import translators
from roundhouse_export.jax_program import run_forward
from roundhouse_export.model import ImportOptions, Model, Wide
from roundhouse_export.pipeline import export_model
from roundhouse_export.program_runner import run_program
from roundhouse_export.refusal import RefusedError
from roundhouse_export.sources import sklearn as source

RNG = np.random.default_rng(20)
X = RNG.normal(size=(160, 5)).astype(np.float32)
BINARY = (X[:, 0] + X[:, 1] * X[:, 2] > 0.1).astype(int)
THREE = np.digitize(X[:, 0] + 0.5 * X[:, 3], [-0.5, 0.5])
NAMES = np.array(["ant", "bee", "cow"])[THREE]
NUMBER = (2 * X[:, 0] - X[:, 1] + 0.3 * X[:, 2] ** 2).astype(float)
POSITIVE = np.exp(0.3 * NUMBER)
TWO = np.stack([NUMBER, X[:, 4]], axis=1)
TEST = RNG.normal(size=(40, 5)).astype(np.float32)

REGRESSORS = {
    "linear": linear_model.LinearRegression(),
    "ridge": linear_model.Ridge(),
    "lasso": linear_model.Lasso(0.05),
    "elastic net": linear_model.ElasticNet(0.05),
    "no intercept": linear_model.Ridge(fit_intercept=False),
    "sgd": linear_model.SGDRegressor(random_state=0),
    "huber": linear_model.HuberRegressor(),
    "linear svr": svm.LinearSVR(random_state=0),
    "svr": svm.SVR(),
    "svr poly": svm.SVR(kernel="poly", degree=2, coef0=1.0),
    "nu svr": svm.NuSVR(),
    "mlp": neural_network.MLPRegressor(hidden_layer_sizes=(8, 6), max_iter=30, random_state=0),
    "neighbours": neighbors.KNeighborsRegressor(weights="distance"),
    "tree": tree.DecisionTreeRegressor(max_depth=5, random_state=0),
    "extra tree": tree.ExtraTreeRegressor(random_state=0),
    "forest": ensemble.RandomForestRegressor(9, random_state=0),
    "extra trees": ensemble.ExtraTreesRegressor(9, random_state=0),
    "gradient": ensemble.GradientBoostingRegressor(n_estimators=12, random_state=0),
    "gradient zero": ensemble.GradientBoostingRegressor(n_estimators=5, init="zero"),
    "gradient quantile": ensemble.GradientBoostingRegressor(n_estimators=5, loss="quantile"),
    "histogram": ensemble.HistGradientBoostingRegressor(max_iter=8, min_samples_leaf=5),
    "adaptive": ensemble.AdaBoostRegressor(n_estimators=7, random_state=0),
    "bagging": ensemble.BaggingRegressor(n_estimators=4, max_features=0.6, random_state=0),
    "bagging ridge": ensemble.BaggingRegressor(
        linear_model.Ridge(), n_estimators=3, max_features=0.6, random_state=0
    ),
    "voting": ensemble.VotingRegressor(
        [("a", linear_model.Ridge()), ("b", tree.DecisionTreeRegressor(max_depth=3))],
        weights=[1, 3],
    ),
    "stacking": ensemble.StackingRegressor(
        [("a", linear_model.Ridge()), ("b", tree.DecisionTreeRegressor(max_depth=3))]
    ),
    "target": compose.TransformedTargetRegressor(
        linear_model.Ridge(), transformer=preprocessing.StandardScaler()
    ),
    "xgboost": xgboost.XGBRegressor(n_estimators=8, max_depth=4, n_jobs=1),
    "xgboost forest": xgboost.XGBRFRegressor(n_estimators=8, max_depth=4, n_jobs=1),
    "xgboost dart": xgboost.XGBRegressor(
        n_estimators=6, booster="dart", rate_drop=0.5, n_jobs=1, seed=0
    ),
    "xgboost linear": xgboost.XGBRegressor(n_estimators=6, booster="gblinear", n_jobs=1),
    "lightgbm": lightgbm.LGBMRegressor(n_estimators=8, n_jobs=1, verbose=-1),
    "lightgbm forest": lightgbm.LGBMRegressor(
        n_estimators=5,
        boosting_type="rf",
        bagging_freq=1,
        bagging_fraction=0.6,
        n_jobs=1,
        verbose=-1,
    ),
    "lightgbm sqrt": lightgbm.LGBMRegressor(n_estimators=5, reg_sqrt=True, n_jobs=1, verbose=-1),
}
POSITIVE_REGRESSORS = {
    "poisson": linear_model.PoissonRegressor(),
    "gamma": linear_model.GammaRegressor(),
    "tweedie": linear_model.TweedieRegressor(power=1.5),
    "histogram poisson": ensemble.HistGradientBoostingRegressor(loss="poisson", max_iter=5),
    "xgboost poisson": xgboost.XGBRegressor(n_estimators=5, objective="count:poisson", n_jobs=1),
    "xgboost tweedie": xgboost.XGBRegressor(n_estimators=5, objective="reg:tweedie", n_jobs=1),
    "lightgbm poisson": lightgbm.LGBMRegressor(
        n_estimators=5, objective="poisson", n_jobs=1, verbose=-1
    ),
}
TWO_TARGETS = {
    "linear": linear_model.LinearRegression(),
    "mlp": neural_network.MLPRegressor(hidden_layer_sizes=(6,), max_iter=20, random_state=0),
    "tree": tree.DecisionTreeRegressor(max_depth=4),
    "forest": ensemble.RandomForestRegressor(4, max_depth=5, random_state=0),
    "neighbours": neighbors.KNeighborsRegressor(3),
    "xgboost": xgboost.XGBRegressor(n_estimators=4, max_depth=3, n_jobs=1),
}
CLASSIFIERS = {
    "logistic": linear_model.LogisticRegression(),
    "discriminant": discriminant_analysis.LinearDiscriminantAnalysis(),
    "ridge": linear_model.RidgeClassifier(),
    "sgd hinge": linear_model.SGDClassifier(random_state=0),
    "sgd log": linear_model.SGDClassifier(loss="log_loss", random_state=0),
    "sgd huber": linear_model.SGDClassifier(loss="modified_huber", random_state=0),
    "perceptron": linear_model.Perceptron(random_state=0),
    "linear svc": svm.LinearSVC(random_state=0),
    "svc": svm.SVC(),
    "svc probability": svm.SVC(probability=True, random_state=0),
    "svc sigmoid": svm.SVC(kernel="sigmoid"),
    "nu svc": svm.NuSVC(nu=0.3, kernel="linear", probability=True, random_state=0),
    "gaussian": naive_bayes.GaussianNB(),
    "bernoulli": naive_bayes.BernoulliNB(),
    "mlp": neural_network.MLPClassifier((8,), max_iter=30, random_state=0),
    "mlp tanh": neural_network.MLPClassifier(
        (5, 4), activation="tanh", max_iter=30, random_state=0
    ),
    "neighbours": neighbors.KNeighborsClassifier(),
    "neighbours distance": neighbors.KNeighborsClassifier(4, weights="distance", p=1),
    "tree": tree.DecisionTreeClassifier(max_depth=5, random_state=0),
    "forest": ensemble.RandomForestClassifier(9, random_state=0),
    "extra trees": ensemble.ExtraTreesClassifier(9, random_state=0),
    "gradient": ensemble.GradientBoostingClassifier(n_estimators=6, random_state=0),
    "histogram": ensemble.HistGradientBoostingClassifier(max_iter=6, min_samples_leaf=5),
    "adaptive": ensemble.AdaBoostClassifier(n_estimators=7, random_state=0),
    "adaptive logistic": ensemble.AdaBoostClassifier(
        linear_model.LogisticRegression(), n_estimators=3, random_state=0
    ),
    "bagging": ensemble.BaggingClassifier(n_estimators=4, max_features=0.6, random_state=0),
    "bagging svm": ensemble.BaggingClassifier(
        svm.LinearSVC(), n_estimators=3, max_features=0.6, random_state=0
    ),
    "voting soft": ensemble.VotingClassifier(
        [("a", linear_model.LogisticRegression()), ("b", naive_bayes.GaussianNB())],
        voting="soft",
        weights=[2, 1],
    ),
    "voting hard": ensemble.VotingClassifier(
        [
            ("a", linear_model.LogisticRegression()),
            ("b", naive_bayes.GaussianNB()),
            ("c", tree.DecisionTreeClassifier(max_depth=3)),
        ]
    ),
    "stacking": ensemble.StackingClassifier(
        [("a", linear_model.LogisticRegression()), ("b", svm.LinearSVC())], cv=3
    ),
    "calibrated": calibration.CalibratedClassifierCV(svm.LinearSVC(), cv=3),
    "calibrated isotonic": calibration.CalibratedClassifierCV(
        naive_bayes.GaussianNB(), cv=3, method="isotonic"
    ),
    "one versus rest": multiclass.OneVsRestClassifier(linear_model.LogisticRegression()),
    "one versus rest bayes": multiclass.OneVsRestClassifier(naive_bayes.GaussianNB()),
    "lightgbm": lightgbm.LGBMClassifier(n_estimators=6, n_jobs=1, verbose=-1),
}
BINARY_CLASSIFIERS = {
    "gradient exponential": ensemble.GradientBoostingClassifier(n_estimators=5, loss="exponential"),
}
INTEGER_CLASSIFIERS = {
    "xgboost": xgboost.XGBClassifier(n_estimators=6, max_depth=4, n_jobs=1),
    "xgboost forest": xgboost.XGBRFClassifier(n_estimators=6, max_depth=4, n_jobs=1),
    "lightgbm ova": lightgbm.LGBMClassifier(
        n_estimators=5, objective="multiclassova", n_jobs=1, verbose=-1
    ),
}
COUNT_CLASSIFIERS = {
    "multinomial": naive_bayes.MultinomialNB(),
    "complement": naive_bayes.ComplementNB(),
}
TRANSFORMERS = {
    "standard": preprocessing.StandardScaler(),
    "no mean": preprocessing.StandardScaler(with_mean=False),
    "min max": preprocessing.MinMaxScaler((-1, 2), clip=True),
    "max abs": preprocessing.MaxAbsScaler(),
    "robust": preprocessing.RobustScaler(),
    "normalizer l1": preprocessing.Normalizer("l1"),
    "normalizer l2": preprocessing.Normalizer("l2"),
    "normalizer max": preprocessing.Normalizer("max"),
    "binarizer": preprocessing.Binarizer(threshold=0.2),
    "yeo-johnson": preprocessing.PowerTransformer(),
    "quantile": preprocessing.QuantileTransformer(n_quantiles=50),
    "quantile normal": preprocessing.QuantileTransformer(
        n_quantiles=50, output_distribution="normal"
    ),
    "polynomial": preprocessing.PolynomialFeatures(3),
    "interactions": preprocessing.PolynomialFeatures(2, interaction_only=True, include_bias=False),
    "bins": preprocessing.KBinsDiscretizer(4, encode="ordinal"),
    "bins one-hot": preprocessing.KBinsDiscretizer(4),
    "function": preprocessing.FunctionTransformer(np.tanh),
    "pca": decomposition.PCA(3),
    "pca white": decomposition.PCA(3, whiten=True),
    "svd": decomposition.TruncatedSVD(2, random_state=0),
    "ica": decomposition.FastICA(3, random_state=0),
    "best": feature_selection.SelectKBest(k=2),
    "variance": feature_selection.VarianceThreshold(0.9),
    "from model": feature_selection.SelectFromModel(linear_model.Lasso(0.2)),
    "rfe": feature_selection.RFE(linear_model.Ridge(), n_features_to_select=2),
    "union": pipeline.FeatureUnion(
        [("a", decomposition.PCA(2)), ("b", preprocessing.StandardScaler())],
        transformer_weights={"a": 2.0},
    ),
    "columns": compose.ColumnTransformer(
        [
            ("a", preprocessing.StandardScaler(), [0, 3]),
            ("b", "drop", [1]),
            ("c", preprocessing.MinMaxScaler(), slice(2, 3)),
        ],
        remainder="passthrough",
    ),
}


def model_of(estimator: Any, wide: Wide = Wide.REFUSE) -> Model:
    return source.model_of(estimator, "estimator", ImportOptions(wide=wide), "estimator")


def check(estimator: Any, rows: np.ndarray = TEST, tolerance: float = 2e-5) -> dict[str, Any]:
    """Compares a model with its estimator and returns what the model says."""
    model = model_of(estimator)
    got = run_forward(model.forward, model.contract, {"x": rows}, model.weights)
    assert model.reference is not None
    wanted = model.reference({"x": rows})
    assert set(got) == set(wanted)
    for name, values in got.items():
        assert values.shape == wanted[name].shape, name
        if name == "label":
            np.testing.assert_array_equal(values, wanted[name], name)
        else:
            np.testing.assert_allclose(values, wanted[name], tolerance, tolerance, err_msg=name)
    return got


def fit(estimator: Any, x: Any, y: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(x, y)


@pytest.fixture(autouse=True)
def _quiet_and_alone() -> Any:
    """Threads that wait for each other cost more than these small fits."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("name", REGRESSORS)
def test_should_predict_the_same_when_a_regressor_is_exported(name: str) -> None:
    got = check(fit(REGRESSORS[name], X, NUMBER))
    assert got["prediction"].shape == (40,)


@pytest.mark.parametrize("name", POSITIVE_REGRESSORS)
def test_should_predict_the_same_when_a_link_is_exponential(name: str) -> None:
    check(fit(POSITIVE_REGRESSORS[name], X, POSITIVE))


@pytest.mark.parametrize("name", TWO_TARGETS)
def test_should_predict_the_same_when_there_are_two_targets(name: str) -> None:
    got = check(fit(TWO_TARGETS[name], X, TWO))
    assert got["prediction"].shape == (40, 2)


# Every run has each classifier with three classes or with two.
@pytest.mark.parametrize("name", thinned(CLASSIFIERS, 2))
def test_should_classify_the_same_when_classes_have_names(name: str) -> None:
    check(fit(CLASSIFIERS[name], X, NAMES))


@pytest.mark.parametrize("name", [*thinned(CLASSIFIERS, 2, first=1), *BINARY_CLASSIFIERS])
def test_should_classify_the_same_when_there_are_two_classes(name: str) -> None:
    got = check(fit({**CLASSIFIERS, **BINARY_CLASSIFIERS}[name], X, BINARY * 7 - 3))
    assert set(got["label"].tolist()) == {-3, 4}


@pytest.mark.parametrize("name", INTEGER_CLASSIFIERS)
@pytest.mark.parametrize("classes", [BINARY, THREE], ids=["two", "three"])
def test_should_classify_the_same_when_classes_are_positions(
    name: str, classes: np.ndarray
) -> None:
    if name == "lightgbm ova" and classes is BINARY:
        pytest.skip("LightGBM asks for several classes")
    check(fit(INTEGER_CLASSIFIERS[name], X, classes))


@pytest.mark.parametrize("name", COUNT_CLASSIFIERS)
def test_should_classify_the_same_when_features_are_counts(name: str) -> None:
    counts = np.floor(np.abs(X) * 3).astype(np.float32)
    check(fit(COUNT_CLASSIFIERS[name], counts, THREE), np.floor(np.abs(TEST) * 3))


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_should_transform_the_same_when_a_transformer_is_exported(name: str) -> None:
    check(fit(TRANSFORMERS[name], X, NUMBER), tolerance=2e-4)


@pytest.mark.parametrize("kind", [cluster.KMeans, cluster.MiniBatchKMeans])
def test_should_find_the_same_cluster_when_k_means_is_exported(kind: Any) -> None:
    got = check(kind(4, random_state=0, n_init=1).fit(X))
    assert got["distances"].shape == (40, 4)


@pytest.mark.parametrize(
    "kind", [svm.OneClassSVM(), ensemble.IsolationForest(n_estimators=7, random_state=0)]
)
def test_should_find_the_same_outliers_when_exported(kind: Any) -> None:
    assert set(check(kind.fit(X))["label"].tolist()) == {-1, 1}


def test_should_hide_little_in_f32_when_distances_are_small_beside_numbers() -> None:
    far = X + 1000
    rows = TEST + np.float32(1000)
    estimator = cluster.KMeans(3, random_state=0, n_init=1).fit(far)
    model = model_of(estimator)
    got = run_forward(model.forward, model.contract, {"x": rows}, model.weights)
    # scikit-learn itself loses them in f32, so f64 is asked.
    apart = rows[:, None].astype(np.float64) - estimator.cluster_centers_
    wanted = np.sqrt((apart**2).sum(axis=2))
    np.testing.assert_allclose(got["distances"], wanted, 1e-3)
    np.testing.assert_array_equal(got["label"], wanted.argmin(axis=1))


def test_should_fill_in_what_is_missing_when_imputed() -> None:
    holes = X.copy()
    holes[::3, 1] = np.nan
    rows = TEST.copy()
    rows[::2, 1] = np.nan
    check(impute.SimpleImputer(strategy="median", add_indicator=True).fit(holes), rows)
    zeros = np.where(np.isnan(rows), 0, rows)
    check(impute.SimpleImputer(missing_values=0).fit(np.nan_to_num(holes)), zeros)


@pytest.mark.parametrize(
    "encoder",
    [
        preprocessing.OneHotEncoder(handle_unknown="ignore"),
        preprocessing.OneHotEncoder(drop="first"),
        preprocessing.OneHotEncoder(min_frequency=20, handle_unknown="infrequent_if_exist"),
        preprocessing.OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-5),
    ],
)
def test_should_encode_the_same_when_categories_are_numbers(encoder: Any) -> None:
    rows = np.stack([THREE * 10, np.arange(160) % 4 + 0.5, np.arange(160) % 11 // 5], 1)
    rows[::9, 1] = np.nan
    given = rows[:40].astype(np.float32).copy()
    if encoder.handle_unknown != "error":
        given[3, 0] = 99
    check(encoder.fit(rows), given)


def test_should_refuse_by_column_when_categories_are_texts() -> None:
    table = pandas.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "x"]})
    steps = compose.ColumnTransformer([("hot", preprocessing.OneHotEncoder(), ["b"])])
    with pytest.raises(RefusedError, match=r"step 'hot': OneHotEncoder: column 0 has .* texts"):
        model_of(steps.fit(table))


def table_pipeline() -> tuple[Any, pandas.DataFrame]:
    table = pandas.DataFrame(X, columns=["age", "size", "rank", "kind", "extra"])
    table["kind"] = THREE
    columns = compose.ColumnTransformer(
        [
            ("numbers", preprocessing.StandardScaler(), ["size", "age"]),
            ("kinds", preprocessing.OneHotEncoder(), ["kind"]),
        ],
        remainder="passthrough",
    )
    steps = pipeline.Pipeline(
        [("columns", columns), ("logistic", linear_model.LogisticRegression())]
    )
    return steps.fit(table, NAMES), table


def test_should_take_all_columns_in_order_when_fitted_on_a_table() -> None:
    steps, table = table_pipeline()
    check(steps, table.to_numpy(np.float32)[:30])
    model = model_of(steps)
    assert model.facts["columns"] == "age, size, rank, kind, extra"
    assert "columns.numbers.mean_" in model.weights
    assert "logistic.coef_" in model.weights


def test_should_write_a_bundle_that_runs_when_a_pipeline_is_exported(tmp_path: Path) -> None:
    steps, table = table_pipeline()
    model = model_of(steps)
    bundle = export_model(model, tmp_path / "kinds")
    manifest = yaml.safe_load((tmp_path / "kinds" / "manifest.yaml").read_text())
    assert manifest["inputs"] == [{"name": "x", "dtype": "f32", "shape": ["n", 5]}]
    label, shares = manifest["outputs"]
    assert label == {"name": "label", "dtype": "i32", "shape": ["n"]}
    assert shares["labels"] == "labels.txt"
    assert (tmp_path / "kinds" / "labels.txt").read_text() == "ant\nbee\ncow\n"
    held = weight_files.decode((tmp_path / "kinds" / "weights.safetensors").read_bytes())
    rows = table.to_numpy(np.float32)[:8]
    program = (tmp_path / "kinds" / "model.b8.mlir").read_bytes()
    _, got = run_program(program, [rows, *held.values()])
    np.testing.assert_allclose(got, steps.predict_proba(table[:8]), 1e-5, 1e-5)
    assert bundle.provenance["framework"].startswith("scikit-learn ")


def test_should_export_trees_for_all_platforms_when_boosted(tmp_path: Path) -> None:
    boosted = fit(xgboost.XGBClassifier(n_estimators=4, n_jobs=1), X, THREE)
    export_model(model_of(boosted), tmp_path / "boosted")
    assert (tmp_path / "boosted" / "model.b8.mlir").is_file()


def test_should_compute_in_64_bits_when_wide_is_kept() -> None:
    steps = pipeline.make_pipeline(
        preprocessing.StandardScaler(), ensemble.GradientBoostingClassifier(n_estimators=5)
    ).fit(X, THREE)
    model = model_of(steps, Wide.KEEP)
    rows = RNG.normal(size=(20, 5))
    got = run_forward(model.forward, model.contract, {"x": rows}, model.weights)
    assert got["probabilities"].dtype == np.float64
    assert got["label"].dtype == np.int64
    np.testing.assert_allclose(got["probabilities"], steps.predict_proba(rows), 1e-12)
    assert not any("f32" in note for note in model.notes)


def test_should_note_that_it_computes_in_f32_when_parameters_were_wider() -> None:
    notes = model_of(linear_model.Ridge().fit(X, NUMBER)).notes
    assert any("computed in f32" in note for note in notes)


def test_should_name_step_and_class_when_it_is_not_known() -> None:
    class OwnStep(preprocessing.StandardScaler):
        pass

    steps = pipeline.Pipeline([("own", OwnStep()), ("last", linear_model.Ridge())])
    with pytest.raises(RefusedError, match=r"estimator: step 'own': class .*OwnStep is not known"):
        model_of(steps.fit(X, NUMBER))
    spectral = decomposition.NMF(2).fit(np.abs(X))
    with pytest.raises(RefusedError, match=r"NMF is not known; known of sklearn: .*PCA"):
        model_of(spectral)


def test_should_refuse_by_function_when_a_step_is_a_persons_code() -> None:
    steps = pipeline.Pipeline([("f", preprocessing.FunctionTransformer(lambda x: x + 1))])
    with pytest.raises(RefusedError, match=r"step 'f': FunctionTransformer: function '<lambda>'"):
        model_of(steps.fit(X))


def test_should_say_so_when_an_estimator_is_not_fitted() -> None:
    with pytest.raises(RefusedError, match=r"Ridge has no 'coef_'; fit it before"):
        model_of(linear_model.Ridge())


def test_should_refuse_a_pickle_when_it_is_not_trusted(tmp_path: Path) -> None:
    file = tmp_path / "ridge.joblib"
    joblib.dump(linear_model.Ridge().fit(X, NUMBER), file)
    with pytest.raises(RefusedError, match=r"runs whatever code.*skops.*--trust") as refusal:
        sources.load(str(file), ImportOptions())
    assert "\n" not in str(refusal.value)
    model = sources.load(str(file), ImportOptions(trust=True))
    assert model.name == "ridge"
    file.write_bytes(b"not a pickle")
    with pytest.raises(RefusedError, match="cannot be unpickled"):
        sources.load(str(file), ImportOptions(trust=True))


SKOPS = ["logistic", "forest", "gradient", "histogram", "mlp", "calibrated", "adaptive", "lightgbm"]


@pytest.mark.parametrize("name", SKOPS)
def test_should_load_skops_without_trust_when_all_is_known(name: str, tmp_path: Path) -> None:
    estimator = fit(CLASSIFIERS[name], X, THREE)
    skops.io.dump(estimator, tmp_path / "m.skops")
    model = sources.load(str(tmp_path / "m.skops"), ImportOptions())
    got = jax.jit(model.forward)({"x": TEST}, dict(model.weights))
    np.testing.assert_array_equal(got["label"], estimator.predict(TEST))


def test_should_refuse_skops_by_name_when_it_holds_foreign_code(tmp_path: Path) -> None:
    import subprocess

    step = preprocessing.FunctionTransformer(subprocess.check_output)
    skops.io.dump(step, tmp_path / "m.skops")
    with pytest.raises(RefusedError, match=r"holds subprocess.check_output.*--trust"):
        sources.load(str(tmp_path / "m.skops"), ImportOptions())
    (tmp_path / "m.skops").write_bytes(b"no zip")
    with pytest.raises(RefusedError, match="skops cannot load it"):
        sources.load(str(tmp_path / "m.skops"), ImportOptions())


@pytest.mark.parametrize("suffix", ["json", "ubj"])
@pytest.mark.parametrize("classes", [BINARY, THREE], ids=["two", "three"])
def test_should_load_what_xgboost_saved(suffix: str, classes: np.ndarray, tmp_path: Path) -> None:
    boosted = fit(xgboost.XGBClassifier(n_estimators=4, n_jobs=1), X, classes)
    file = tmp_path / f"boosted.{suffix}"
    boosted.save_model(file)
    check_file(file, boosted.predict_proba(TEST))


@pytest.mark.parametrize("classes", [BINARY, THREE], ids=["two", "three"])
def test_should_load_what_lightgbm_saved(classes: np.ndarray, tmp_path: Path) -> None:
    boosted = fit(lightgbm.LGBMClassifier(n_estimators=4, n_jobs=1, verbose=-1), X, classes)
    boosted.booster_.save_model(tmp_path / "boosted.txt")
    check_file(tmp_path / "boosted.txt", boosted.predict_proba(TEST))


def check_file(file: Path, wanted: np.ndarray) -> None:
    model = sources.load(str(file), ImportOptions())
    got = run_forward(model.forward, model.contract, {"x": TEST}, model.weights)
    np.testing.assert_allclose(got["probabilities"], wanted, 1e-5, 1e-5)
    assert model.reference is not None
    answer = model.reference({"x": TEST})
    np.testing.assert_allclose(got["probabilities"], answer["probabilities"], 1e-5, 1e-5)
    np.testing.assert_array_equal(got["label"], answer["label"])


def test_should_stop_at_the_best_round_when_boosting_stopped_early() -> None:
    boosted = xgboost.XGBRegressor(n_estimators=60, early_stopping_rounds=3, n_jobs=1)
    boosted.fit(X[:100], NUMBER[:100], eval_set=[(X[100:], NUMBER[100:])], verbose=False)
    assert boosted.best_iteration + 1 < boosted.get_booster().num_boosted_rounds()
    check(boosted)


def test_should_recognise_by_its_beginning_when_a_file_is_json_or_text(tmp_path: Path) -> None:
    for name, text in (("a.json", '{"other": 1}'), ("b.txt", "treeish\n"), ("c.txt", "")):
        (tmp_path / name).write_text(text)
        with pytest.raises(RefusedError, match="is none of"):
            sources.recognise(str(tmp_path / name))
    (tmp_path / "d.json").write_text('{"learner": {}}')
    with pytest.raises(RefusedError, match=r"d.json: not a whole XGBoost model"):
        sources.load(str(tmp_path / "d.json"), ImportOptions())
    (tmp_path / "e.txt").write_text("tree\nversion=v4\n")
    with pytest.raises(RefusedError, match=r"e.txt: not a whole LightGBM model: no max_feature"):
        sources.load(str(tmp_path / "e.txt"), ImportOptions())


def test_should_refuse_by_name_when_splits_are_categorical() -> None:
    table = pandas.DataFrame({"a": pandas.Categorical(THREE), "b": X[:, 0]})
    boosted = [
        lightgbm.LGBMRegressor(n_estimators=3, n_jobs=1, verbose=-1),
        xgboost.XGBRegressor(n_estimators=3, n_jobs=1, enable_categorical=True),
        ensemble.HistGradientBoostingRegressor(max_iter=3, categorical_features=["a"]),
    ]
    for each in boosted:
        with pytest.raises(RefusedError, match="categorical"):
            model_of(each.fit(table, THREE * 2 % 3))


def test_should_cast_rows_when_a_person_declares_another_type() -> None:
    ridge = linear_model.Ridge().fit(X, NUMBER)
    options = ImportOptions(inputs={"x": TensorSpec("x", "i32", ("n", 5))})
    model = source.model_of(ridge, "ridge", options)
    assert model.contract.inputs[0].dtype == "i32"
    rows = np.arange(10, dtype=np.int32).reshape(2, 5)
    got = jax.jit(model.forward)({"x": rows}, dict(model.weights))
    np.testing.assert_allclose(got["prediction"], ridge.predict(rows), 1e-5)


def test_should_know_the_families_that_are_promised() -> None:
    known = {name for _, name in translators()}
    assert {"Pipeline", "SVC", "XGBRanker", "LGBMRanker", "IsolationForest"} <= known
