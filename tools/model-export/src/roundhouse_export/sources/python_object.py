"""``package.module:attribute``: whatever of a known kind Python finds there.

The module is imported with the current directory first on the path; the attribute may have dots.
What is found there is, in this order:

1. a Flax NNX module, an Equinox module, a Keras model, a PyTorch module, or a fitted estimator;
2. a tuple of a Linen module and its variables, of an Equinox module and its state, or of a
   function and its parameters: ``function(parameters, inputs...)``;
3. a class or a function that can be called without arguments and returns one of the above. A
   function that needs arguments is refused: it says neither its inputs nor its parameters.

Shapes of inputs come from ``--input``, but for Keras models and estimators, which know theirs.
Importing the module runs its code, as Python does; faults of that code are told in one line with
the person's file.
"""

import difflib
import importlib
import inspect
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from roundhouse_export.model import ImportOptions, Model
from roundhouse_export.refusal import RefusedError
from roundhouse_export.sources import missing
from roundhouse_export.sources.user_code import user_code

ACCEPTED = (
    "a Flax NNX, Equinox, Keras or PyTorch module, a fitted estimator, (Linen module, variables), "
    "(Equinox module, state), (function, parameters), or a function without arguments that "
    "returns one of these"
)

Loader = Callable[[Any, ImportOptions, str], Model]


def load(source: str, options: ImportOptions) -> Model:
    """Imports, calls what is to be called, and hands what was found to its own source."""
    module_name, _, attribute = source.partition(":")
    found = _find(source, module_name, attribute)
    loader = _loader(found)
    # A Linen module can be called too, but never without inputs.
    if loader is None and callable(found) and not _is_a(found, "flax.linen", "Module"):
        found = _made(source, found)
        loader = _loader(found)
        if loader is None:
            raise RefusedError(f"{source} returns {_shown(found)}; accepted are: {ACCEPTED}")
    if loader is None:
        raise RefusedError(f"{source} is {_shown(found)}; accepted are: {ACCEPTED}")
    last = attribute.rpartition(".")[2]
    # Models are often called `model`; the module then says more.
    name = module_name.rpartition(".")[2] if last == "model" else last
    return loader(found, replace(options, name=options.name or name), source)


def _find(source: str, module_name: str, attribute: str) -> Any:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    # Keras asks for its backend once, when it is first imported, which the module may do.
    os.environ.setdefault("KERAS_BACKEND", "jax")
    with user_code(f"{source}: cannot import '{module_name}'"):
        importlib.invalidate_caches()  # the file may be younger than the last look at its folder
        found: Any = importlib.import_module(module_name)
    for part in attribute.split("."):
        if not hasattr(found, part):
            near = difflib.get_close_matches(part, dir(found), 1)
            public = [name for name in vars(found) if not name.startswith("_")]
            has = f"did you mean '{near[0]}'?" if near else f"it has {', '.join(public[:20])}"
            what = getattr(found, "__name__", type(found).__name__)
            raise RefusedError(f"{source}: '{what}' has no attribute '{part}'; {has}")
        found = getattr(found, part)
    return found


def _made(source: str, factory: Callable[..., Any]) -> Any:
    kind = "class" if isinstance(factory, type) else "function"
    try:
        parameters = list(inspect.signature(factory).parameters.values())
    except (TypeError, ValueError):
        parameters = []  # of a class of C; calling it will tell
    needed = [
        p.name
        for p in parameters
        if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]
    if needed:
        raise RefusedError(
            f"{source} is a {kind} that needs {', '.join(needed)}; give one that needs nothing "
            "and returns the model, or a tuple (function, parameters)"
        )
    with user_code(f"{source}: calling it"):
        return factory()


def _loader(found: Any) -> Loader | None:
    if isinstance(found, type):
        return None
    if isinstance(found, tuple):
        return _pair_loader(found)
    if _is_a(found, "flax.nnx", "Module"):
        return _by("flax", "load_nnx")
    if _is_a(found, "equinox", "Module"):
        return _by("equinox", "load_object")
    if _is_a(found, "keras", "Model"):
        return _by("keras", "load_object")
    if _is_a(found, "torch.nn", "Module"):
        return _torch
    if _is_estimator(found):
        return _estimator
    return None


def _pair_loader(found: tuple[Any, ...]) -> Loader | None:
    if len(found) != 2:
        return None
    first, second = found
    if _is_a(first, "flax.linen", "Module"):
        return _pair("flax", "load_linen")
    if _is_a(first, "equinox", "Module") and _is_a(second, "equinox.nn", "State"):
        return _with_state
    is_function = callable(first) and not isinstance(first, type)
    if is_function and not _is_a(first, "equinox", "Module") and _loader(first) is None:
        return _pair("jax_function", "load_object")
    return None


def _is_a(found: Any, module: str, name: str) -> bool:
    """An object of a framework's class is there only once the framework has been imported."""
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(found, kind)


def _is_estimator(found: Any) -> bool:
    if _is_a(found, "sklearn.base", "BaseEstimator"):
        return True
    root = type(found).__module__.partition(".")[0]
    return root in ("xgboost", "lightgbm") and hasattr(found, "predict")


def _by(module: str, function: str) -> Loader:
    def load_it(found: Any, options: ImportOptions, source: str) -> Model:
        model: Model = getattr(_source_module(module), function)(found, options, source)
        return model

    return load_it


def _pair(module: str, function: str) -> Loader:
    def load_it(found: Any, options: ImportOptions, source: str) -> Model:
        model: Model = getattr(_source_module(module), function)(*found, options, source)
        return model

    return load_it


def _with_state(found: Any, options: ImportOptions, source: str) -> Model:
    module, state = found
    model: Model = _source_module("equinox").load_object(module, options, source, state)
    return model


def _torch(found: Any, options: ImportOptions, source: str) -> Model:
    model: Model = _reader(found, "torch", source).load_object(found, options, source)
    return model


def _estimator(found: Any, options: ImportOptions, source: str) -> Model:
    model: Model = _reader(found, "sklearn", source).model_of(found, source, options)
    return model


def _reader(found: Any, module: str, source: str) -> Any:
    try:
        return _source_module(module)
    except ModuleNotFoundError as error:
        extra = missing.EXTRAS_OF_READERS[module]
        raise missing.refusal(f"{source} is {_shown(found)}", extra, error) from error


def _source_module(name: str) -> Any:
    return importlib.import_module(f"roundhouse_export.sources.{name}")


def _shown(found: Any) -> str:
    if isinstance(found, tuple):
        return f"a tuple of {', '.join(type(each).__name__ for each in found) or 'nothing'}"
    if _is_a(found, "flax.linen", "Module"):
        return f"the Linen module {type(found).__name__} without variables"
    kind = type(found)
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    return f"an object of type {name}"
