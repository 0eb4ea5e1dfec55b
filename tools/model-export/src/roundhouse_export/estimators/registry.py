"""Which function translates which class of estimator."""

import importlib
from collections.abc import Callable
from typing import Any

from roundhouse_export.estimators.part import Building, Part
from roundhouse_export.refusal import RefusedError

Translator = Callable[[Any, Building, str], Part]
"""``translate(estimator, build, path)``; ``path`` names the step, empty for a whole model."""

_FAMILIES = (
    "linear",
    "svm",
    "cluster",
    "neighbours",
    "bayes",
    "mlp",
    "scalers",
    "encoders",
    "features",
    "composition",
    "voting",
    "bagging",
    "calibration",
    "one_versus_rest",
    "trees",
    "forest",
    "boosting",
    "adaptive",
    "xgboost",
    "lightgbm",
)
_TRANSLATORS: dict[tuple[str, str], Translator] = {}


def translates(*names: str, package: str = "sklearn") -> Callable[[Translator], Translator]:
    """Registers a function for classes of a package, by their names."""

    def register(function: Translator) -> Translator:
        for name in names:
            _TRANSLATORS[package, name] = function
        return function

    return register


def translate(estimator: Any, build: Building, path: str = "") -> Part:
    """Returns what a fitted estimator computes; RefusedError names a class nobody translates."""
    cls = type(estimator)
    package = cls.__module__.split(".")[0]
    known = translators()
    found = known.get((package, cls.__name__))
    if found is None:
        where = f"step '{path}'" if path else "the model"
        names = ", ".join(sorted(name for at, name in known if at == package))
        known_here = f"; known of {package}: {names}" if names else _packages()
        raise RefusedError(
            f"{where}: class {cls.__module__}.{cls.__qualname__} is not known{known_here}"
        )
    try:
        return found(estimator, build, path)
    except AttributeError as missing:
        if not str(missing.name or "").endswith("_"):
            raise
        where = f"step '{path}'" if path else "the model"
        raise RefusedError(
            f"{where}: {cls.__name__} has no '{missing.name}'; fit it before it is exported"
        ) from None


def translators() -> dict[tuple[str, str], Translator]:
    for family in _FAMILIES:
        importlib.import_module(f"roundhouse_export.estimators.{family}")
    return _TRANSLATORS


def _packages() -> str:
    packages = sorted({package for package, _ in _TRANSLATORS})
    return f"; classes are known of {', '.join(packages)}, not a person's own"
