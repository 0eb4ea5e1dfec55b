"""How a function takes the inputs of a model: by name, as one mapping, or in order.

* Where every input is named like one of the function's parameters, each is passed by its name.
* Where the function has one parameter for several inputs, or its parameter is annotated as a
  mapping, it is passed ``{name: array}``.
* Else inputs are passed in the order of ``--input``.

Switches between training and use (``train``, ``training``, ``deterministic`` and the like) are
set to use, unless an input has that name.
"""

import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from roundhouse_export.refusal import RefusedError

IN_USE: Mapping[str, Any] = {
    "train": False,
    "training": False,
    "is_training": False,
    "deterministic": True,
    "inference": True,
    "use_running_average": True,
}

Binder = Callable[[Mapping[str, Any]], tuple[tuple[Any, ...], dict[str, Any]]]
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def binder(
    source: str,
    function: Callable[..., Any],
    inputs: Sequence[str],
    skip: int = 0,
    switches: Mapping[str, Any] = IN_USE,
) -> Binder:
    """Returns what makes positional and named arguments of arrays by name.

    ``skip`` first parameters are somebody else's. RefusedError when the function cannot take the
    inputs.
    """
    signature = _signature(function)
    if signature is None:
        return lambda arrays: (tuple(arrays[name] for name in inputs), {})
    every = list(signature.parameters.values())[skip:]
    set_here = {
        p.name: switches[p.name]
        for p in every
        if p.name in switches and p.name not in inputs and p.kind in _NAMED
    }
    left = [p for p in every if p.name not in set_here]
    named = [p.name for p in left if p.kind in _NAMED]
    ordered = [p for p in left if p.kind in _POSITIONAL]
    needed = [p.name for p in left if p.default is p.empty and p.kind in (*_POSITIONAL, *_NAMED)]
    any_number = any(p.kind is p.VAR_POSITIONAL for p in left)
    if inputs and set(inputs) <= set(named) and set(needed) <= set(inputs):
        return lambda arrays: ((), {**{name: arrays[name] for name in inputs}, **set_here})
    one = ordered[0] if len(ordered) == 1 and not any_number else None
    if one is not None and (len(inputs) > 1 or _is_mapping(one.annotation)):
        return lambda arrays: (({name: arrays[name] for name in inputs},), set_here)
    fits = len(inputs) <= len(ordered) or any_number
    if not fits or set(needed) - {p.name for p in ordered[: len(inputs)]}:
        raise RefusedError(
            f"{source}: the function takes {_listed(p.name for p in left)}, and the inputs are "
            f"{_listed(inputs)}; name one --input for each, such as --input x=f32[n,4]"
        )
    return lambda arrays: (tuple(arrays[name] for name in inputs), set_here)


def parameter_names(function: Callable[..., Any], skip: int = 0, needed: bool = False) -> list[str]:
    """Returns the names a person would give to a function's inputs; empty where it has no such.

    ``needed`` leaves out those that have a default.
    """
    signature = _signature(function)
    parameters = list(signature.parameters.values())[skip:] if signature else []
    return [
        p.name
        for p in parameters
        if p.kind in _POSITIONAL
        and p.name not in IN_USE
        and not (needed and p.default is not p.empty)
    ]


def takes(function: Callable[..., Any], name: str) -> bool:
    signature = _signature(function)
    return signature is not None and name in signature.parameters


def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(function, eval_str=True)
    except (TypeError, ValueError):
        return None
    except Exception:  # an annotation as text can name what is not there
        return inspect.signature(function)


def _is_mapping(annotation: Any) -> bool:
    if isinstance(annotation, str):
        return annotation.lower().startswith(("dict", "mapping", "collections.abc.mapping"))
    kind = typing.get_origin(annotation) or annotation
    return isinstance(kind, type) and kind is not Any and issubclass(kind, Mapping)


def _listed(names: typing.Iterable[str]) -> str:
    return ", ".join(names) or "nothing"
