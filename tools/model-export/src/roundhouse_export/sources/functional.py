"""A model of a function over a tree of parameters, which is what Flax, Equinox and JAX have."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from roundhouse_export.contract import TensorSpec, Variant
from roundhouse_export.model import ImportOptions, Model, Reference
from roundhouse_export.refusal import RefusedError
from roundhouse_export.shapes import SourceTensor, contract_of, input_specs
from roundhouse_export.sources.named_outputs import named
from roundhouse_export.sources.parameter_tree import flattened
from roundhouse_export.sources.user_code import user_code
from roundhouse_export.wide import settle_inputs, settle_weights

Call = Callable[[Any, Mapping[str, Any]], Any]
"""Takes parameters and inputs by name, returns whatever the function returns."""


def given_inputs(
    source: str, names: Sequence[str], options: ImportOptions, example: str | None = None
) -> list[str]:
    """Returns the names of ``--input``; RefusedError suggests some where there are none.

    ``example`` is what to type for the first, where more is known of it than its name.
    """
    if not options.inputs:
        example = example or f"--input '{names[0] if names else 'x'}=f32[n,4]'"
        takes = f", which takes {', '.join(names)}," if names else ""
        raise RefusedError(
            f"{source}: the function{takes} does not say the shapes of its inputs; "
            f"say each: {example}"
        )
    return list(options.inputs)


def specs_of(
    source: str, options: ImportOptions
) -> tuple[tuple[TensorSpec, ...], tuple[Variant, ...]]:
    """Returns inputs and variants where ``--input`` alone says what the inputs are."""
    tensors = [SourceTensor(spec.name, spec.dtype, ()) for spec in options.inputs.values()]
    specs, variants = input_specs(source, tensors, options)
    return settle_inputs(source, specs, options.wide), variants


def functional_model(
    source: str,
    call: Call,
    parameters: Any,
    framework: str,
    options: ImportOptions,
    asked: Callable[[Mapping[str, Any]], Any] | None = None,
    specs: tuple[tuple[TensorSpec, ...], tuple[Variant, ...]] | None = None,
    notes: tuple[str, ...] = (),
) -> Model:
    """Makes the model; ``source`` is how messages call it.

    ``asked`` is the framework's own answer for inputs by name; without it, ``call`` on the
    parameters as they were given, not compiled.
    """
    inputs, variants = specs or specs_of(source, options)
    tree = flattened(source, parameters)
    weights = settle_weights(source, tree.weights, options.wide)
    order: list[str] = []

    def forward(arrays: Mapping[str, Any], held: Mapping[str, Any]) -> dict[str, jax.Array]:
        with user_code(source):
            outputs = named(source, call(tree.rebuild(held), arrays))
        order[:] = outputs  # eval_shape returns dicts with their keys sorted
        return outputs

    contract = contract_of(source, inputs, variants, None, forward, weights, options)
    by_name = {tensor.name: tensor for tensor in contract.outputs}
    contract = replace(contract, outputs=tuple(by_name[name] for name in order))
    wide = contract.needs_64_bit or any(w.dtype.itemsize == 8 for w in weights.values())
    answer = asked or (lambda arrays: call(parameters, arrays))
    return Model(
        name=options.name or "model",
        contract=contract,
        forward=forward,
        weights=weights,
        framework=framework,
        reference=_reference(source, answer, wide),
        notes=notes,
    )


def _reference(source: str, answer: Callable[[Mapping[str, Any]], Any], wide: bool) -> Reference:
    def reference(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        with jax.enable_x64(wide), user_code(source):
            given = {name: jax.numpy.asarray(array) for name, array in arrays.items()}
            outputs = named(source, answer(given))
            return {name: np.asarray(array) for name, array in outputs.items()}

    return reference
