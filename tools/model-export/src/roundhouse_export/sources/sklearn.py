"""Estimators of scikit-learn, XGBoost and LightGBM: their files, and fitted objects in memory."""

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from roundhouse_export.estimators import lightgbm, part, xgboost
from roundhouse_export.estimators.part import Building, Kind, Part
from roundhouse_export.estimators.registry import translate
from roundhouse_export.model import ImportOptions, Model, Reference, Wide
from roundhouse_export.refusal import RefusedError
from roundhouse_export.shapes import SourceTensor, contract_of, input_specs
from roundhouse_export.sources import estimator_files
from roundhouse_export.sources.estimator_reference import estimator_reference

INPUT = "x"
LABELS = "labels.txt"

_OUTPUTS = {
    Kind.TRANSFORMER: (part.TRANSFORMED,),
    Kind.REGRESSOR: (part.PREDICTION,),
    Kind.CLUSTERER: (part.LABEL, part.DISTANCES),
    Kind.OUTLIERS: (part.LABEL, part.SCORES),
}


def load(source: str, options: ImportOptions) -> Model:
    """Returns the model of a ``.joblib``, ``.pkl``, ``.skops``, ``.json``, ``.ubj`` or ``.txt``."""
    path = Path(source)
    name = options.name or path.stem
    build = _building(options)
    match path.suffix:
        case ".json":
            learner = estimator_files.xgboost_json(source)
            whole = xgboost.translate_learner(learner, build, "")
            booster = estimator_files.xgboost_booster(source)
            return _model(
                source, name, whole, xgboost.features_of(learner), build, options, booster
            )
        case ".ubj":
            booster = estimator_files.xgboost_booster(source)
            if booster is None:
                raise RefusedError(
                    f"{source}: a .ubj file is read by XGBoost itself, which is not installed; "
                    "install xgboost, or save the model as .json"
                )
            return model_of(booster, source, options, name)
        case ".txt":
            text = lightgbm.parse(Path(source).read_text(), source)
            whole = lightgbm.translate_text(text, build, "")
            booster = estimator_files.lightgbm_booster(source)
            return _model(source, name, whole, text.features, build, options, booster)
        case ".skops":
            return model_of(estimator_files.from_skops(source, options), source, options, name)
    return model_of(estimator_files.from_pickle(source, options), source, options, name)


def model_of(estimator: Any, source: str, options: ImportOptions, name: str | None = None) -> Model:
    """Returns the model of a fitted estimator in memory; ``source`` is what messages call it."""
    build = _building(options)
    try:
        whole = translate(estimator, build)
    except RefusedError as refusal:
        raise RefusedError(f"{source}: {refusal}") from None
    features = _features(estimator, source, options)
    return _model(
        source, name or options.name or "model", whole, features, build, options, estimator
    )


def _building(options: ImportOptions) -> Building:
    keep = options.wide is Wide.KEEP
    build = Building(np.dtype(np.float64 if keep else np.float32))
    if not keep:
        build.note(
            "computed in f32 from parameters that were learnt in f64; --wide keep computes in f64"
        )
    return build


def _features(estimator: Any, source: str, options: ImportOptions) -> int:
    for attribute in ("n_features_in_", "num_features", "num_feature"):
        try:
            found = getattr(estimator, attribute)
        except (AttributeError, ValueError):
            continue
        return int(found() if callable(found) else found)
    given = options.inputs.get(INPUT)
    if given is not None and len(given.shape) == 2 and isinstance(given.shape[1], int):
        return given.shape[1]
    raise RefusedError(
        f"{source}: {type(estimator).__name__} does not say how many features a row has; "
        f"give the input: --input {INPUT}:f32[n,FEATURES]"
    )


def _model(
    source: str,
    name: str,
    whole: Part,
    features: int,
    build: Building,
    options: ImportOptions,
    estimator: Any,
) -> Model:
    wide = build.dtype == np.float64
    specs, variants = input_specs(
        source, [SourceTensor(INPUT, "f64" if wide else "f32", (None, features))], options
    )
    label = np.dtype(np.int64 if wide else np.int32)
    values = _label_values(whole, label)
    if values is not None:
        build.keep("", "classes_", values)
    weights = dict(build.weights)

    def forward(inputs: Mapping[str, Any], held: Mapping[str, Any]) -> dict[str, Any]:
        found = whole.apply(inputs[INPUT].astype(build.dtype), held)
        if part.INDEX in found:
            index = found.pop(part.INDEX)
            found[part.LABEL] = index if values is None else held["classes_"][index]
        if part.LABEL in found:
            found[part.LABEL] = found[part.LABEL].astype(label)
        return {
            key: each if key == part.LABEL else jnp.asarray(each).astype(build.dtype)
            for key, each in found.items()
        }

    shown, facts, assets, labels = _said_of_outputs(whole, specs, forward, weights)
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None:
        facts["columns"] = ", ".join(str(each) for each in names)
    contract = contract_of(source, specs, variants, shown, forward, weights, options, labels)
    return Model(
        name=name,
        contract=contract,
        forward=forward,
        weights=weights,
        framework=_framework(estimator, source),
        description=_description(estimator, source),
        reference=_reference(estimator, whole, shown, values),
        assets=assets,
        facts=facts,
        notes=tuple(build.notes),
    )


def _label_values(whole: Part, dtype: np.dtype[Any]) -> np.ndarray | None:
    """What ``label`` says for each class where that is a whole number other than its position."""
    classes = whole.classes
    if classes is None or not _are_integers(classes, dtype):
        return None
    values = classes.astype(dtype)
    return None if np.array_equal(values, np.arange(len(values))) else values


def _are_integers(classes: np.ndarray, dtype: np.dtype[Any]) -> bool:
    if classes.dtype.kind not in "iubf":
        return False
    limits = np.iinfo(dtype)
    return bool((classes == np.floor(classes)).all()) and bool(
        limits.min <= classes.min() and classes.max() <= limits.max
    )


def _said_of_outputs(
    whole: Part, specs: Any, forward: Any, weights: Mapping[str, np.ndarray]
) -> tuple[tuple[str, ...], dict[str, str], dict[str, bytes], dict[str, str]]:
    """Names of outputs, facts of the bundle, its assets, and which output has labels."""
    if whole.kind is not Kind.CLASSIFIER:
        return _OUTPUTS[whole.kind], {}, {}, {}
    assert whole.classes is not None
    probe = estimator_files.shapes_of(specs, forward, weights)
    shares = part.PROBABILITIES if part.PROBABILITIES in probe else part.SCORES
    names = [str(each).replace("\n", " ") for each in whole.classes]
    facts = {"classes": ", ".join(names)} if len(names) <= 100 else {}
    if probe[shares].ndim == 2:
        assets = {LABELS: "".join(f"{each}\n" for each in names).encode()}
        return (part.LABEL, shares), facts, assets, {shares: LABELS}
    return (part.LABEL, shares), facts, {}, {}


def _framework(estimator: Any, source: str) -> str:
    package = type(estimator).__module__.split(".")[0]
    if estimator is None:
        package = "xgboost" if source.endswith(".json") else "lightgbm"
    names = {"sklearn": "scikit-learn"}
    try:
        version = importlib.import_module(package).__version__
    except ImportError:
        return f"{package} (not installed)"
    return f"{names.get(package, package)} {version}"


def _description(estimator: Any, source: str) -> str:
    if estimator is None:
        return "XGBoost booster" if source.endswith(".json") else "LightGBM booster"
    cls = type(estimator)
    if cls.__name__ != "Pipeline":
        return cls.__name__
    return " > ".join(type(step).__name__ for _, step in estimator.steps)


def _reference(
    estimator: Any, whole: Part, shown: tuple[str, ...], values: np.ndarray | None
) -> Reference | None:
    if estimator is None:
        return None
    return estimator_reference(estimator, INPUT, shown, whole, values)
