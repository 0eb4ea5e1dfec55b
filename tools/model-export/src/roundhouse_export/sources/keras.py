"""Keras 3 models, from archives and from memory, on Keras's JAX backend.

Models are used as in inference: dropout passes everything on, batch norm uses what it learnt.
Inputs and outputs have the names of their layers, or the keys of a dict; weights those of Keras's
``variable.path``. A subclassed model does not say its inputs: ``--input`` does.
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from roundhouse_export import dtypes
from roundhouse_export.contract import TensorSpec, Variant
from roundhouse_export.model import ImportOptions, Model
from roundhouse_export.refusal import RefusedError
from roundhouse_export.shapes import SourceTensor, input_specs
from roundhouse_export.sources.calling import Binder, binder, parameter_names
from roundhouse_export.sources.functional import functional_model, given_inputs, specs_of
from roundhouse_export.sources.keras_archive import require_plain
from roundhouse_export.sources.named_outputs import named
from roundhouse_export.sources.user_code import user_code
from roundhouse_export.wide import settle_inputs

Specs = tuple[tuple[TensorSpec, ...], tuple[Variant, ...]]


def load(source: str, options: ImportOptions) -> Model:
    """Reads a ``.keras`` or ``.h5`` file; RefusedError when that would run code unasked."""
    if not options.trust:
        require_plain(source)
    keras = _keras(source)
    with user_code(f"{source}: Keras cannot load it"):
        model = keras.saving.load_model(source, compile=False, safe_mode=not options.trust)
    return load_object(model, replace(options, name=options.name or Path(source).stem), source)


def load_object(model: Any, options: ImportOptions, source: str = "model") -> Model:
    """Makes a model of a Keras model that has been built or says its inputs."""
    keras = _keras(source)
    bind, specs = _arguments(keras, source, model, options)
    if not model.built:
        ordered, by_name = bind(_zeros(*specs))
        with user_code(f"{source}: building it"):
            model(*ordered, **by_name)
    names, held, constants = _variables(model)

    def call(weights: Mapping[str, Any], arrays: Mapping[str, Any]) -> Any:
        values = [
            [weights[names[id(v)]] if id(v) in names else constants[id(v)] for v in variables]
            for variables in (model.trainable_variables, model.non_trainable_variables)
        ]
        ordered, by_name = bind(arrays)
        returned, _ = model.stateless_call(*values, *ordered, **by_name)
        return _by_name(keras, source, model, returned)

    def asked(arrays: Mapping[str, Any]) -> Any:
        ordered, by_name = bind(arrays)
        return _by_name(keras, source, model, model(*ordered, **by_name))

    options = replace(options, name=options.name or model.name)
    framework = f"keras {keras.__version__}"
    return functional_model(source, call, held, framework, options, asked, specs)


def _keras(source: str) -> Any:
    """Imports Keras with its JAX backend, which it chooses once and for all when imported."""
    if "keras" not in sys.modules:
        os.environ["KERAS_BACKEND"] = "jax"
    with user_code(f"{source}: cannot import Keras"):
        import keras
    backend = keras.config.backend()
    if backend != "jax":
        raise RefusedError(
            f"{source}: Keras runs on {backend} here, and programs are made by JAX; "
            "set KERAS_BACKEND=jax before it is imported"
        )
    return keras


def _arguments(keras: Any, source: str, model: Any, options: ImportOptions) -> tuple[Binder, Specs]:
    functional = _functional(model)
    if functional is None:
        names = [name for name in parameter_names(model.call) if name != "mask"]
        given = given_inputs(source, names, options)
        bind = binder(source, model.call, given)
        return _not_training(bind), specs_of(source, options)
    tensors = _declared(source, functional)
    found, variants = input_specs(source, tensors, options)
    declared = [tensor.name for tensor in tensors]
    structure = functional._inputs_struct

    def pack(arrays: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        packed = keras.tree.pack_sequence_as(structure, [arrays[name] for name in declared])
        return (packed,), {}

    return _not_training(pack), (settle_inputs(source, found, options.wide), variants)


def _not_training(bind: Binder) -> Binder:
    def bound(arrays: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        ordered, by_name = bind(arrays)
        return ordered, {**by_name, "training": False}

    return bound


def _functional(model: Any) -> Any:
    """Returns what knows its inputs and outputs: the model, a Sequential's inner one, or None."""
    inner = getattr(model, "_functional", None) or model
    return inner if hasattr(inner, "_inputs_struct") else None


def _declared(source: str, functional: Any) -> list[SourceTensor]:
    tensors = []
    for tensor in functional.inputs:
        name = tensor._keras_history.operation.name
        try:
            token = dtypes.token_of(np.dtype(tensor.dtype))
        except (TypeError, ValueError):
            raise RefusedError(
                f"{source}: input '{name}' is of {tensor.dtype}, which programs cannot take; "
                "cut the model after the layers that read it"
            ) from None
        tensors.append(SourceTensor(name, token, tuple(tensor.shape)))
    return tensors


def _zeros(specs: tuple[TensorSpec, ...], variants: tuple[Variant, ...]) -> dict[str, np.ndarray]:
    variant = variants[0] if variants else {}
    return {
        spec.name: np.zeros(spec.resolve(1, variant), dtypes.numpy_dtype(spec.dtype))
        for spec in specs
    }


def _variables(model: Any) -> tuple[dict[int, str], dict[str, np.ndarray], dict[int, np.ndarray]]:
    """Returns weights' names by identity, weights, and other state by identity: seeds, metrics."""
    names: dict[int, str] = {}
    held: dict[str, np.ndarray] = {}
    for variable in model.weights:
        name = variable.path
        repeats = sum(other == name or other.startswith(f"{name}#") for other in held)
        names[id(variable)] = f"{name}#{repeats}" if repeats else name
        held[names[id(variable)]] = np.asarray(variable.value)
    every = [*model.trainable_variables, *model.non_trainable_variables]
    constants = {id(v): np.asarray(v.value) for v in every if id(v) not in names}
    return names, held, constants


def _by_name(keras: Any, source: str, model: Any, returned: Any) -> Any:
    """Names outputs by their layers; those of a dict, or of a subclassed model, name themselves."""
    functional = _functional(model)
    if functional is None or isinstance(returned, Mapping):
        return named(source, returned)
    names: list[str] = functional.output_names
    flat = keras.tree.flatten(returned)
    twice = len(set(names)) != len(names)
    return {
        f"{name}_{position}" if twice else name: array
        for position, (name, array) in enumerate(zip(names, flat, strict=True))
    }
