"""Equinox modules, in inference mode; with their state where they have one.

Equinox writes modules for one sample and leaves batches to ``jax.vmap``. So where inputs have a
batch axis, the module is called for one row at a time under ``vmap``; only a module that cannot
be traced so is given the whole batch. One that takes both ways, such as a sum over the last axis,
is taken as written for one sample. Without a batch axis it is called once with what there is.
A stateful module is ``(module, state)`` as ``eqx.nn.make_with_state`` returns them; the state that
a call returns is dropped. Shapes come from ``--input``.
"""

from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax

from roundhouse_export import dtypes
from roundhouse_export.contract import TensorSpec, Variant
from roundhouse_export.model import ImportOptions, Model
from roundhouse_export.sources.calling import IN_USE, binder, parameter_names, takes
from roundhouse_export.sources.functional import functional_model, given_inputs, specs_of
from roundhouse_export.sources.user_code import told, user_code

FRAMEWORK = f"equinox {eqx.__version__}"
_ROWS = 5

Call = Callable[[Any, Mapping[str, Any]], Any]


def load_object(
    module: eqx.Module,
    options: ImportOptions,
    source: str = "module",
    state: eqx.nn.State | None = None,
) -> Model:
    """Makes a model; weights are named by path, such as ``layers/0/weight`` or ``state/0/1``."""
    with user_code(source):
        in_use = eqx.nn.inference_mode(module)
        if state is None and _has_state(module):
            state = eqx.nn.State(in_use)
            in_use = eqx.nn.delete_init_state(in_use)
    tree = {"module": in_use} if state is None else {"module": in_use, "state": state}
    arrays, rest = eqx.partition(tree, eqx.is_array)
    held = arrays["module"] if state is None else {"": arrays["module"], "state": arrays["state"]}
    ordinary = _call(source, module, rest, state is not None, options)
    specs = specs_of(source, options)
    batched = any(spec.batched for spec in specs[0])
    call, notes = _batched(source, ordinary, held, *specs) if batched else (ordinary, ())
    return functional_model(source, call, held, FRAMEWORK, options, specs=specs, notes=notes)


def _has_state(module: eqx.Module) -> bool:
    leaves = jax.tree.leaves(module, is_leaf=lambda leaf: isinstance(leaf, eqx.nn.StateIndex))
    return any(isinstance(leaf, eqx.nn.StateIndex) for leaf in leaves)


def _call(source: str, module: Any, rest: Any, stateful: bool, options: ImportOptions) -> Call:
    """Returns the call of the module put together from its arrays and the rest of it."""
    switches = {**IN_USE, "key": None, **({"state": None} if stateful else {})}
    names = [name for name in parameter_names(module) if name not in ("key", "state")]
    inputs = given_inputs(source, names, options)
    bind = binder(source, module, inputs, switches=switches)
    if stateful and not takes(module, "state"):
        # The state is the last argument, whatever its name.
        bind = binder(source, module, [*inputs, "state"], switches=switches)

    def call(held: Any, arrays: Mapping[str, Any]) -> Any:
        if not stateful:
            ordered, by_name = bind(arrays)
            return eqx.combine(held, rest["module"])(*ordered, **by_name)
        whole = eqx.combine({"module": held[""], "state": held["state"]}, rest)
        given = {**arrays, "state": whole["state"]}
        ordered, by_name = bind(given)
        if "state" in by_name:
            by_name = {**by_name, "state": whole["state"]}
        returned, _ = whole["module"](*ordered, **by_name)
        return returned

    return call


def _batched(
    source: str,
    ordinary: Call,
    held: Any,
    specs: tuple[TensorSpec, ...],
    variants: tuple[Variant, ...],
) -> tuple[Call, tuple[str, ...]]:
    """Returns the call for a batch, by ``vmap`` where the module can be traced so, with a note."""

    def by_row(tree: Any, arrays: Mapping[str, Any]) -> Any:
        return jax.vmap(lambda row: ordinary(tree, row))(dict(arrays))

    given = {
        spec.name: jax.ShapeDtypeStruct(
            spec.resolve(_ROWS, variants[0] if variants else {}), dtypes.numpy_dtype(spec.dtype)
        )
        for spec in specs
    }
    try:
        eqx.filter_eval_shape(by_row, held, given)
    except Exception as refusal:
        with user_code(f"{source}: not for one row ({told(refusal)}), and for the whole batch"):
            eqx.filter_eval_shape(ordinary, held, given)
        return ordinary, ("the module takes the whole batch in one call",)
    return by_row, ("the module is called for one row at a time, under vmap",)
