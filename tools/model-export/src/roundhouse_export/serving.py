"""The manifest's ``serving`` section, held to the rules that the server reads it by."""

import re
from collections.abc import Callable, Iterator, Mapping
from math import prod
from typing import Any

from roundhouse_export import dtypes
from roundhouse_export.contract import Contract, TensorSpec

_DURATION = re.compile(r"([0-9]{1,9})(us|ms|s|m|h)")
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_MOST_DELAY_SECONDS = 60
_LEAST_WEIGHT, _MOST_WEIGHT = 0.001, 1_000_000
_MOST_INTEGER = 2**31 - 1
ZERO = "zero"
_CONTROLS = ("start", "end", "ready", "correlation_id")

Rule = Callable[[str, Any], Iterator[str]]


def serving_problems(
    serving: Mapping[str, Any], contract: Contract, assets: Mapping[str, bytes]
) -> list[str]:
    """Returns what is wrong with a section, in words; empty for one that the server takes."""
    rules: dict[str, Rule] = {
        "weight": _number,
        "residency": _one_of("unpinned", "pinned_system", "pinned_device"),
        "max_queue_delay": _delay,
        "queue": _section(
            {
                "max_size": _integer(0),
                "default_timeout": _duration,
                "timeout_action": _one_of("reject", "delay"),
                "allow_timeout_override": _flag,
            }
        ),
        "priorities": _priorities,
        "sequence": _section(
            {
                "idle": _idle,
                "controls": _section({key: _input_name(contract) for key in _CONTROLS}),
                "state": lambda path, value: _states(path, value, contract, assets),
            }
        ),
    }
    problems = list(_section(rules)("serving", serving))
    return problems or list(_fed_twice(serving))


def _section(rules: Mapping[str, Rule], required: tuple[str, ...] = ()) -> Rule:
    def check(path: str, value: Any) -> Iterator[str]:
        if not isinstance(value, Mapping):
            yield f"{path} is {value!r}; it has the keys {', '.join(rules)}"
            return
        for key in required:
            if key not in value:
                yield f"{path}.{key} is missing"
        for key, inner in value.items():
            if key in rules:
                yield from rules[key](f"{path}.{key}", inner)
            else:
                yield f"{path}.{key} is unknown; keys are {', '.join(rules)}"

    return check


def _number(path: str, value: Any) -> Iterator[str]:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not _LEAST_WEIGHT <= value <= _MOST_WEIGHT:
        yield f"{path} is {value!r}; it is a number from {_LEAST_WEIGHT} to {_MOST_WEIGHT}"


def _integer(least: int) -> Rule:
    def check(path: str, value: Any) -> Iterator[str]:
        if type(value) is not int or not least <= value <= _MOST_INTEGER:
            yield f"{path} is {value!r}; it is a whole number from {least} to {_MOST_INTEGER}"

    return check


def _one_of(*texts: str) -> Rule:
    def check(path: str, value: Any) -> Iterator[str]:
        if value not in texts:
            yield f"{path} is {value!r}; it is one of {', '.join(texts)}"

    return check


def _flag(path: str, value: Any) -> Iterator[str]:
    if not isinstance(value, bool):
        yield f"{path} is {value!r}; it is true or false"


def _duration(path: str, value: Any) -> Iterator[str]:
    if not isinstance(value, str) or _seconds(value) is None:
        yield f"{path} is {value!r}; it is a duration such as 20ms (units us, ms, s, m, h)"


def _delay(path: str, value: Any) -> Iterator[str]:
    yield from _duration(path, value)
    if isinstance(value, str) and (_seconds(value) or 0) > _MOST_DELAY_SECONDS:
        yield f"{path} is {value}; at most {_MOST_DELAY_SECONDS} s are held for"


def _idle(path: str, value: Any) -> Iterator[str]:
    yield from _duration(path, value)
    if isinstance(value, str) and _seconds(value) == 0:
        yield f"{path} is zero; every sequence would be forgotten at once"


def _seconds(text: str) -> float | None:
    parts = _DURATION.fullmatch(text)
    return int(parts[1]) * _SECONDS[parts[2]] if parts else None


def _priorities(path: str, value: Any) -> Iterator[str]:
    rules = {"levels": _integer(1), "default": _integer(1)}
    problems = list(_section(rules, required=("levels", "default"))(path, value))
    yield from problems
    if not problems and value["default"] > value["levels"]:
        yield f"{path}.default is {value['default']}, above the {value['levels']} levels"


def _input_name(contract: Contract) -> Rule:
    return _one_of(*(tensor.name for tensor in contract.inputs))


def _states(
    path: str, value: Any, contract: Contract, assets: Mapping[str, bytes]
) -> Iterator[str]:
    if not isinstance(value, list | tuple):
        yield f"{path} is {value!r}; it is a list of input and output"
        return
    rules = {
        "input": _input_name(contract),
        "output": _one_of(*(tensor.name for tensor in contract.outputs)),
        "initial": _one_of(ZERO, *assets),
    }
    inputs = {tensor.name: tensor for tensor in contract.inputs}
    outputs = {tensor.name: tensor for tensor in contract.outputs}
    for position, state in enumerate(value):
        at = f"{path}[{position}]"
        problems = list(_section(rules, required=("input", "output"))(at, state))
        yield from problems
        if problems:
            continue
        given = inputs[state["input"]]
        if not _same_type(given, outputs[state["output"]]):
            yield f"{at}: '{state['output']}' differs in type from '{given.name}'"
        elif state.get("initial", ZERO) != ZERO and not given.variable_letters:
            size, needed = len(assets[state["initial"]]), bytes_of_one_row(given)
            if size != needed:
                yield (
                    f"{at}: '{state['initial']}' has {size} bytes, and '{given.name}' has {needed}"
                )


def bytes_of_one_row(tensor: TensorSpec) -> int:
    """Of a tensor whose axes are fixed, but for the batch."""
    extents = [extent for extent in tensor.shape if isinstance(extent, int)]
    return prod(extents) * dtypes.numpy_dtype(tensor.dtype).itemsize


def _same_type(one: TensorSpec, other: TensorSpec) -> bool:
    return (one.dtype, one.shape) == (other.dtype, other.shape)


def _fed_twice(serving: Mapping[str, Any]) -> Iterator[str]:
    sequence = serving.get("sequence", {})
    states = sequence.get("state", ())
    fed = [*sequence.get("controls", {}).values(), *(state["input"] for state in states)]
    kept = [state["output"] for state in states]
    for names, what in ((fed, "fed twice"), (kept, "kept twice")):
        for name in sorted({name for name in names if names.count(name) > 1}):
            yield f"serving.sequence: '{name}' is {what}"
