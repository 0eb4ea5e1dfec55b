"""Reading files of estimators, as far as they may be trusted."""

import importlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from roundhouse_export import dtypes
from roundhouse_export.contract import TensorSpec
from roundhouse_export.model import ImportOptions
from roundhouse_export.refusal import RefusedError

_HARMLESS = {
    "collections.OrderedDict",
    "collections.defaultdict",
    "lightgbm.basic.Booster",
    "lightgbm.sklearn.LGBMClassifier",
    "lightgbm.sklearn.LGBMRanker",
    "lightgbm.sklearn.LGBMRegressor",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.metrics._dist_metrics.EuclideanDistance64",
    "sklearn.metrics._dist_metrics.ManhattanDistance64",
    "sklearn.neighbors._ball_tree.BallTree",
    "sklearn.neighbors._kd_tree.KDTree",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
    "sklearn.tree._tree.Tree",
    "xgboost.core.Booster",
    "xgboost.sklearn.XGBClassifier",
    "xgboost.sklearn.XGBRFClassifier",
    "xgboost.sklearn.XGBRFRegressor",
    "xgboost.sklearn.XGBRanker",
    "xgboost.sklearn.XGBRegressor",
}
"""What estimators are made of beside what skops trusts by itself. Names, and not whole packages:
modules of scikit-learn also hold functions that start programs."""


def from_pickle(source: str, options: ImportOptions) -> Any:
    if not options.trust:
        raise RefusedError(
            f"{source}: a pickle runs whatever code its author put in when it is loaded; save the "
            "estimator with skops (skops.io.dump), or pass --trust if you made this file"
        )
    joblib = _module("joblib", source)
    try:
        return joblib.load(source)
    except Exception as failure:
        raise RefusedError(f"{source}: cannot be unpickled: {_one_line(failure)}") from None


def from_skops(source: str, options: ImportOptions) -> Any:
    skops = _module("skops.io", source)
    try:
        wanted = skops.get_untrusted_types(file=source)
        foreign = sorted(set(wanted) - _HARMLESS)
        if foreign and not options.trust:
            raise RefusedError(
                f"{source}: it holds {', '.join(foreign[:5])}, which could run code when loaded; "
                "pass --trust if you made this file"
            )
        return skops.load(source, trusted=wanted)
    except RefusedError:
        raise
    except Exception as failure:
        raise RefusedError(f"{source}: skops cannot load it: {_one_line(failure)}") from None


def xgboost_json(source: str) -> dict[str, Any]:
    """The ``learner`` of a model that XGBoost saved as JSON."""
    try:
        learner = json.loads(Path(source).read_bytes())["learner"]
        for key in ("learner_model_param", "gradient_booster", "objective"):
            learner[key]
        learner.setdefault("attributes", {})
    except (ValueError, KeyError, TypeError) as failure:
        raise RefusedError(f"{source}: not a whole XGBoost model: {_one_line(failure)}") from None
    return learner


def xgboost_booster(source: str) -> Any:
    """XGBoost's own reading of a file, to compare with; None where it is not installed."""
    try:
        xgboost = importlib.import_module("xgboost")
    except ImportError:
        return None
    try:
        return xgboost.Booster(model_file=source)
    except xgboost.core.XGBoostError as failure:
        raise RefusedError(f"{source}: XGBoost cannot load it: {_one_line(failure)}") from None


def lightgbm_booster(source: str) -> Any:
    """LightGBM's own reading of a file, to compare with; None where it is not installed."""
    try:
        lightgbm = importlib.import_module("lightgbm")
    except ImportError:
        return None
    try:
        return lightgbm.Booster(model_file=source)
    except lightgbm.basic.LightGBMError as failure:
        raise RefusedError(f"{source}: LightGBM cannot load it: {_one_line(failure)}") from None


def shapes_of(
    specs: Sequence[TensorSpec], forward: Any, weights: Mapping[str, np.ndarray]
) -> Mapping[str, Any]:
    """What a function returns for two rows, as shapes."""
    given = {
        spec.name: jax.ShapeDtypeStruct(spec.resolve(2, {}), dtypes.numpy_dtype(spec.dtype))
        for spec in specs
    }
    wide = any(each.dtype.itemsize == 8 for each in weights.values())
    with jax.enable_x64(wide):
        held = {n: jax.ShapeDtypeStruct(a.shape, a.dtype) for n, a in weights.items()}
        return jax.eval_shape(forward, given, held)


def _module(name: str, source: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        package = name.split(".")[0]
        raise RefusedError(
            f"{source}: '{package}' is not installed; pip install 'roundhouse-export[sklearn]'"
        ) from None


def _one_line(failure: BaseException) -> str:
    text = str(failure).strip().splitlines()
    return f"{type(failure).__name__}: {text[0] if text else ''}"[:300]
