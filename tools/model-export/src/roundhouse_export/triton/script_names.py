"""Which argument and which result of ``forward`` the names of a configuration stand for.

The rules are those of Triton's libtorch backend: inputs that the configuration lists are arguments
of ``forward`` where all are named so; else ``NAME__i``, the i-th, where all are; else in order.
Outputs are ``NAME__i`` or in order. What sequences feed and keep is ``NAME__i``, and with state so
is everything else. Two inputs for one argument and numbers that are not there are refused, where
Triton fails at a request or passes something else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from roundhouse_export.refusal import RefusedError
from roundhouse_export.triton.config_file import ConfigFile


@dataclass(frozen=True)
class Positions:
    """``notes`` tell of names that seem to say something else."""

    of: Mapping[str, int]
    notes: tuple[str, ...]


def arguments_of(
    config: ConfigFile, file: Path, arguments: Sequence[str], needed: Sequence[str]
) -> Positions:
    """Returns the argument for each input; RefusedError when one of ``needed`` has none."""
    has = f"{file} takes {', '.join(arguments) or 'nothing'}"
    fed = _fed(config, has)
    positions = _positions(config, "input", fed, arguments, len(arguments), has)
    places = fed | _listed(config, "input")
    taken: dict[int, str] = {}
    for name, position in positions.of.items():
        if taken.setdefault(position, name) != name:
            raise RefusedError(
                f"{places[name]}: inputs '{taken[position]}' and '{name}' are both number "
                f"{position}; {has}"
            )
    for argument in needed:
        if arguments.index(argument) not in taken:
            raise RefusedError(f"{config.at('input')}: no input is argument '{argument}'; {has}")
    return positions


def results_of(config: ConfigFile, file: Path, count: int) -> Positions:
    """Returns the result for each output; one may be left out, or be several outputs."""
    has = f"{file} returns {count} tensor{'' if count == 1 else 's'}"
    kept = _numbered("output", _states(config, "output"), has)
    return _positions(config, "output", kept, (), count, has)


def _fed(config: ConfigFile, has: str) -> dict[str, str]:
    """Where each input is named that the server feeds; RefusedError for one without a number."""
    controls = {
        each.name: config.at(f"sequence_batching[0].control_input[{i}].name")
        for i, each in enumerate(config.message.sequence_batching.control_input)
    }
    return _numbered("input", controls | _states(config, "input"), has)


def _states(config: ConfigFile, section: str) -> dict[str, str]:
    field = f"{section}_name"
    return {
        getattr(each, field): config.at(f"sequence_batching[0].state[{i}].{field}")
        for i, each in enumerate(config.message.sequence_batching.state)
    }


def _numbered(section: str, places: Mapping[str, str], has: str) -> dict[str, str]:
    for name, place in places.items():
        if _index(name) is None:
            raise RefusedError(
                f"{place}: {section} '{name}' of sequences must be NAME__i, as in Triton, where i "
                f"counts {section}s from 0; {has}"
            )
    return dict(places)


def _listed(config: ConfigFile, section: str) -> dict[str, str]:
    places: dict[str, str] = {}
    for position, each in enumerate(getattr(config.message, section)):
        place = config.at(f"{section}[{position}].name")
        if each.name in places:
            raise RefusedError(f"{place}: two {section}s are named '{each.name}'")
        places[each.name] = place
    return places


def _positions(
    config: ConfigFile,
    section: str,
    fed: Mapping[str, str],
    arguments: Sequence[str],
    count: int,
    has: str,
) -> Positions:
    listed = _listed(config, section)
    numbers = {name: index for name in (*fed, *listed) if (index := _index(name)) is not None}
    unnumbered = [name for name in listed if name not in numbers]
    if unnumbered and config.message.sequence_batching.state:
        raise RefusedError(
            f"{listed[unnumbered[0]]}: {section} '{unnumbered[0]}' must be NAME__i, as in Triton "
            f"where sequences have state, where i counts {section}s from 0; {has}"
        )
    by_order = False
    if arguments and set(listed) <= set(arguments):
        found = {name: arguments.index(name) for name in listed}
    elif not unnumbered:
        found = {name: numbers[name] for name in listed}
    else:
        by_order = True
        found = {name: position for position, name in enumerate(listed)}
    found = {name: numbers[name] for name in fed} | found
    for name, position in found.items():
        if position >= count:
            place = listed.get(name) or fed[name]
            raise RefusedError(
                f"{place}: {section} '{name}' is number {position}, counted from 0; {has}"
            )
    notes = _overruled(section, listed, found, numbers, arguments) if by_order else []
    return Positions(found, tuple(notes))


def _overruled(
    section: str,
    listed: Mapping[str, str],
    found: Mapping[str, int],
    numbers: Mapping[str, int],
    arguments: Sequence[str],
) -> list[str]:
    """What is told of names that say another position than their order."""
    said = {**numbers, **{name: arguments.index(name) for name in listed if name in arguments}}
    if arguments:
        held, why = "argument {}", "neither all arguments of forward nor all NAME__i"
    else:
        held, why = "result {}", "not all NAME__i"
    return [
        f"{place}: {section} '{name}' is {held.format(found[name])} and not {said[name]}, counted "
        f"from 0: {section}s go by their order, as in Triton, where they are {why}"
        for name, place in listed.items()
        if said.get(name, found[name]) != found[name]
    ]


def _index(name: str) -> int | None:
    """What follows the first ``__``, as Triton has it; nothing is 0."""
    _, separator, digits = name.partition("__")
    if not separator or (digits and not (digits.isascii() and digits.isdigit())):
        return None
    return int(digits or 0)
