"""Which argument or result of a TorchScript program a name in a configuration stands for.

The conventions are those of Triton's libtorch backend: all inputs are named as arguments of
``forward``; or all are ``NAME__i``, the i-th; or none is either, and they are in order. Where
Triton takes a mixture by its order, it is refused here, as a name would mean another tensor.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from roundhouse_export.refusal import RefusedError
from roundhouse_export.triton.config_file import ConfigFile


def arguments_of(
    config: ConfigFile, file: Path, arguments: Sequence[str], needed: Sequence[str]
) -> dict[str, str]:
    """Returns the argument for each input; RefusedError when one of ``needed`` has none."""
    batching = config.message.sequence_batching
    fed = {
        each.name: config.at(f"sequence_batching[0].control_input[{i}].name")
        for i, each in enumerate(batching.control_input)
    } | {
        each.input_name: config.at(f"sequence_batching[0].state[{i}].input_name")
        for i, each in enumerate(batching.state)
    }
    listed = [each.name for each in config.message.input]
    places = fed | _places(config, "input")
    takes = f"{file} takes {', '.join(arguments) or 'nothing'}"
    if set(places) <= set(arguments):
        found = {name: name for name in places}
    else:
        positions = _positions("input", listed, places, arguments, takes)
        _require_each_once("input", positions, places, len(arguments), takes)
        found = {name: arguments[position] for name, position in positions.items()}
    for argument in needed:
        if argument not in found.values():
            raise RefusedError(f"{config.at('input')}: no input is argument '{argument}'; {takes}")
    return found


def results_of(config: ConfigFile, file: Path, count: int) -> dict[str, int]:
    """Returns the position of the result for each output; results may be left out."""
    kept = {
        each.output_name: config.at(f"sequence_batching[0].state[{i}].output_name")
        for i, each in enumerate(config.message.sequence_batching.state)
    }
    listed = [each.name for each in config.message.output]
    places = kept | _places(config, "output")
    returns = f"{file} returns {count} tensor{'' if count == 1 else 's'}"
    positions = _positions("output", listed, places, (), returns)
    _require_each_once("output", positions, places, count, returns)
    return positions


def _places(config: ConfigFile, section: str) -> dict[str, str]:
    places: dict[str, str] = {}
    for position, each in enumerate(getattr(config.message, section)):
        place = config.at(f"{section}[{position}].name")
        if each.name in places:
            raise RefusedError(f"{place}: two {section}s are named '{each.name}'")
        places[each.name] = place
    return places


def _positions(
    what: str,
    listed: Sequence[str],
    places: Mapping[str, str],
    arguments: Sequence[str],
    has: str,
) -> dict[str, int]:
    indices = {name: index for name in places if (index := _index(name)) is not None}
    if len(indices) == len(places):
        return indices
    known = [name for name in places if name in indices or name in arguments]
    if known:
        usual = indices if len(known) == len(places) else known
        strange = next(name for name in places if name not in usual)
        other = next(iter(usual))
        ways = "NAME__0 and on" + (", or all as arguments of forward" if arguments else "")
        raise RefusedError(
            f"{places[strange]}: {what} '{strange}' is named by another convention than '{other}'; "
            f"name all {what}s {ways}; {has}"
        )
    fed = next((name for name in places if name not in listed), None)
    if fed is not None:
        raise RefusedError(
            f"{places[fed]}: {what} '{fed}' of sequences has no place in the order of {what}s; "
            f"name all {what}s NAME__0 and on; {has}"
        )
    return {name: position for position, name in enumerate(listed)}


def _index(name: str) -> int | None:
    """Triton looks at what follows the first ``__``."""
    _, _, digits = name.partition("__")
    return int(digits) if digits.isascii() and digits.isdigit() else None


def _require_each_once(
    what: str, positions: Mapping[str, int], places: Mapping[str, str], count: int, has: str
) -> None:
    taken: dict[int, str] = {}
    for name, position in positions.items():
        if position >= count:
            raise RefusedError(
                f"{places[name]}: {what} '{name}' is number {position}, counted from 0; {has}"
            )
        if taken.setdefault(position, name) != name:
            raise RefusedError(
                f"{places[name]}: {what}s '{taken[position]}' and '{name}' are both number "
                f"{position}; {has}"
            )
