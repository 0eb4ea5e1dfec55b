"""Queues, priorities and delays of a model of Triton, as a manifest's ``serving`` has them."""

from typing import Any

from roundhouse_export.refusal import RefusedError
from roundhouse_export.triton.config_file import ConfigFile

_MOST_DELAY_MICROSECONDS = 60_000_000
_MOST_DIGITS = 9
_MOST_INT = 2**31 - 1
_UNITS = (("h", 3_600_000_000), ("m", 60_000_000), ("s", 1_000_000), ("ms", 1000), ("us", 1))


def duration(microseconds: int) -> str:
    """A whole number with the largest unit that says it exactly, or nearly where none fits."""
    if microseconds == 0:
        return "0ms"
    unit, size = next(each for each in _UNITS if microseconds % each[1] == 0)
    if len(str(microseconds // size)) > _MOST_DIGITS:
        unit, size = next(
            each for each in reversed(_UNITS) if len(str(microseconds // each[1])) <= _MOST_DIGITS
        )
    return f"{microseconds // size}{unit}"


def serving(config: ConfigFile) -> tuple[dict[str, Any], list[str]]:
    """Returns the section for ``dynamic_batching``, and notes on what of it has no counterpart."""
    if not config.message.HasField("dynamic_batching"):
        return {}, []
    batching = config.message.dynamic_batching
    section: dict[str, Any] = {}
    notes = []
    if batching.max_queue_delay_microseconds:
        section["max_queue_delay"], note = queue_delay(
            config, batching.max_queue_delay_microseconds, "dynamic_batching[0]"
        )
        notes += note
    if batching.HasField("default_queue_policy"):
        section["queue"] = _queue(config, batching.default_queue_policy)
    if batching.priority_levels:
        section["priorities"] = _priorities(config, batching)
    if batching.priority_queue_policy:
        levels = ", ".join(map(str, sorted(batching.priority_queue_policy)))
        place = config.at("dynamic_batching[0].priority_queue_policy")
        notes.append(
            f"{place}: policies of priority levels {levels} have no counterpart here; "
            "all levels follow default_queue_policy"
        )
    if batching.preserve_ordering:
        place = config.at("dynamic_batching[0].preserve_ordering")
        notes.append(f"{place}: preserve_ordering has no counterpart here")
    return section, notes


def queue_delay(config: ConfigFile, microseconds: int, scope: str) -> tuple[str, list[str]]:
    """A ``max_queue_delay``, and a note when it is longer than the server holds requests for."""
    if microseconds <= _MOST_DELAY_MICROSECONDS:
        return duration(microseconds), []
    place = config.at(f"{scope}.max_queue_delay_microseconds")
    return duration(_MOST_DELAY_MICROSECONDS), [
        f"{place}: a delay of {duration(microseconds)} is cut to 1m, the most there is here"
    ]


def _queue(config: ConfigFile, policy: Any) -> dict[str, Any]:
    section: dict[str, Any] = {}
    if policy.max_queue_size > _MOST_INT:
        place = config.at("dynamic_batching[0].default_queue_policy[0].max_queue_size")
        raise RefusedError(f"{place}: {policy.max_queue_size} is above {_MOST_INT}")
    if policy.max_queue_size:  # 0 is no limit of the author's: the operator's holds
        section["max_size"] = policy.max_queue_size
    if policy.default_timeout_microseconds:
        section["default_timeout"] = duration(policy.default_timeout_microseconds)
    action = policy.DESCRIPTOR.fields_by_name["timeout_action"].enum_type
    section["timeout_action"] = action.values_by_number[policy.timeout_action].name.lower()
    section["allow_timeout_override"] = bool(policy.allow_timeout_override)
    return section


def _priorities(config: ConfigFile, batching: Any) -> dict[str, Any]:
    levels, default = batching.priority_levels, batching.default_priority_level
    if levels > _MOST_INT or not 1 <= default <= levels:
        places = [
            f"dynamic_batching[0].{each}" for each in ("default_priority_level", "priority_levels")
        ]
        place = config.at(*places)
        raise RefusedError(
            f"{place}: priority_levels is {levels} and default_priority_level {default}; it must "
            f"be one of the levels, and those at most {_MOST_INT}"
        )
    return {"levels": levels, "default": default}
