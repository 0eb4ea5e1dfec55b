"""Flax: NNX modules as they are, Linen modules with their variables.

Both are used as in ``eval``: dropout passes everything on, batch norm uses its running statistics.
An NNX module is copied before it is switched, so that the person's own stays as it was. Shapes
come from ``--input``; how inputs are passed is told in ``calling``.
"""

from collections.abc import Mapping
from typing import Any

import flax
import jax
from flax import linen, nnx

from roundhouse_export.model import ImportOptions, Model
from roundhouse_export.sources.calling import binder, parameter_names
from roundhouse_export.sources.functional import functional_model, given_inputs
from roundhouse_export.sources.user_code import user_code

FRAMEWORK = f"flax {flax.__version__}"


def load_nnx(module: nnx.Module, options: ImportOptions, source: str = "module") -> Model:
    """Makes a model of an NNX module; weights are named by their path, such as ``conv/kernel``."""
    with user_code(source):
        in_use = nnx.merge(*nnx.split(module))
        in_use.eval()
        # Streams of random numbers are no weights: nothing in use draws from them.
        graph, *states = nnx.split(in_use, nnx.RngState, ...)
    random, state = states
    inputs = given_inputs(source, parameter_names(module), options)
    bind = binder(source, module, inputs)

    def call(held: Any, arrays: Mapping[str, Any]) -> Any:
        ordered, by_name = bind(arrays)
        # A layer may still draw a number it does not use, which counts in a stream made here.
        streams = jax.tree.map(lambda leaf: leaf, random)
        return nnx.merge(graph, streams, held)(*ordered, **by_name)

    def asked(arrays: Mapping[str, Any]) -> Any:
        ordered, by_name = bind(arrays)
        return in_use(*ordered, **by_name)

    return functional_model(source, call, state, FRAMEWORK, options, asked)


def load_linen(
    module: linen.Module, variables: Any, options: ImportOptions, source: str = "module"
) -> Model:
    """Makes a model of a Linen module and what its ``init`` or its training returned.

    Weights are named by collection and path, such as ``params/Dense_0/kernel``.
    """
    inputs = given_inputs(source, parameter_names(module.__call__), options)
    bind = binder(source, module.__call__, inputs)

    def call(held: Any, arrays: Mapping[str, Any]) -> Any:
        ordered, by_name = bind(arrays)
        return module.apply(held, *ordered, **by_name)

    plain = linen.meta.unbox(variables)
    return functional_model(source, call, plain, FRAMEWORK, options)
