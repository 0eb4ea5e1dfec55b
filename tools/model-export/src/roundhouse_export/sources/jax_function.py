"""Plain functions of JAX with a tree of parameters: ``function(parameters, inputs...)``.

How inputs are passed is told in ``calling``; how outputs are named, in ``named_outputs``.
"""

from collections.abc import Callable, Mapping
from typing import Any

from roundhouse_export.jax_program import FRAMEWORK
from roundhouse_export.model import ImportOptions, Model
from roundhouse_export.sources.calling import binder, parameter_names
from roundhouse_export.sources.functional import functional_model, given_inputs


def load_object(
    function: Callable[..., Any], parameters: Any, options: ImportOptions, source: str = "function"
) -> Model:
    """Makes a model of a function; its first parameter is the tree. ``source`` is for messages."""
    inputs = given_inputs(source, parameter_names(function, skip=1), options)
    bind = binder(source, function, inputs, skip=1)

    def call(tree: Any, arrays: Mapping[str, Any]) -> Any:
        ordered, by_name = bind(arrays)
        return function(tree, *ordered, **by_name)

    return functional_model(source, call, parameters, FRAMEWORK, options)
