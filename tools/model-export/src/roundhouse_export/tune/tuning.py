"""Chooses how each convolution of a model is computed, by measuring on the plugin that serves."""

import hashlib
import json
import math
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from roundhouse_export.contract import ProgramKey
from roundhouse_export.passes import layers
from roundhouse_export.passes.convolution import LOWERINGS, Convolution, candidates
from roundhouse_export.refusal import RefusedError
from roundhouse_export.tune.cache import Cache, Times, default_folder
from roundhouse_export.tune.child import run_lines
from roundhouse_export.tune.processor import processor

# Less than this is as likely the machine's mood, and not worth a program of another form.
_LEAST_GAIN = 0.05
# A kernel that takes 2 to 4 times the memory must be worth it: memory is what many models share.
_LEAST_GAIN_OF_LARGER = 0.15
# A convolution takes a second to time, and some to compile in all forms.
_MOST_SILENT_SECONDS = 180.0
_COMMAND = (sys.executable, "-m", "roundhouse_export.tune.timing")


@dataclass(frozen=True)
class Tuned:
    """Choices for ``optimise``, times by convolution as a person reads it, and facts to record.

    ``stopped`` says why some convolutions have no times; they are computed as without tuning.
    """

    choices: dict[Convolution, str]
    milliseconds: dict[str, Times]
    facts: dict[str, str]
    stopped: str = ""


def tune(
    programs: Mapping[ProgramKey, str],
    plugin: Path | None,
    folder: Path | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Tuned:
    """Measures the convolutions of lowered programs that were not measured here before.

    ``plugin`` is a PJRT plugin's library; None is jaxlib's own CPU. A layer is computed in one way
    for all batch sizes, as they share its kernel. ``folder`` is where measurements are kept.
    """
    found = layers(programs)
    wanted = [each for sizes in found.values() for each in sizes if len(candidates(each)) > 1]
    cache = Cache(folder or default_folder(), processor(), _identity(plugin))
    times: dict[str, Times] = dict(cache.read())
    missing = [each for each in wanted if each.describe() not in times]
    stopped = ""
    if missing:
        progress(f"timing {len(missing)} convolutions on {processor()}")
        measured, stopped = _measure(missing, plugin)
        cache.add(measured)
        times |= measured
    choices = {
        layer: _fastest(layer, [times[each.describe()] for each in sizes])
        for layer, sizes in found.items()
        if all(times.get(each.describe()) for each in sizes)
    }
    used = {each.describe(): times[each.describe()] for each in wanted if each.describe() in times}
    return Tuned(choices, used, _facts(choices, cache), stopped)


def _fastest(layer: Convolution, by_size: Sequence[Times]) -> str:
    """Returns the lowering with the best mean over batch sizes, of those right for all of them."""
    common = [each for each in candidates(layer) if all(each.name in t for t in by_size)]
    cost = {each.name: _geometric_mean([t[each.name] for t in by_size]) for each in common}
    best = common[0].name
    for each in common[1:]:
        larger = each.growth > LOWERINGS[best].growth
        gain = _LEAST_GAIN_OF_LARGER if larger else _LEAST_GAIN
        if cost[each.name] < cost[best] * (1 - gain):
            best = each.name
    return best


def _geometric_mean(values: Sequence[float]) -> float:
    return math.exp(sum(math.log(max(value, 1e-6)) for value in values) / len(values))


def _facts(choices: Mapping[Convolution, str], cache: Cache) -> dict[str, str]:
    counted = sorted(Counter(choices.values()).items())
    return {
        "tuned_on": f"{cache.processor}; plugin {cache.plugin[:16]}",
        "convolutions": ", ".join(f"{count} {name}" for name, count in counted) or "none",
    }


def _measure(
    convolutions: Sequence[Convolution], plugin: Path | None
) -> tuple[dict[str, Times], str]:
    """Returns times, and what stopped the timing before all had some, or nothing."""
    asked = {
        "plugin": None if plugin is None else str(plugin),
        "convolutions": [each.to_json() for each in convolutions],
    }
    ended = run_lines(_COMMAND, json.dumps(asked), _MOST_SILENT_SECONDS)
    lines = [json.loads(line) for line in ended.lines if line.startswith("{")]
    measured = {line["convolution"]: line["milliseconds"] for line in lines}
    if ended.code == 0:
        return measured, ""
    stopped = convolutions[min(len(measured), len(convolutions) - 1)].describe()
    if ended.was_silent:
        left = len(convolutions) - len(measured)
        return measured, (
            f"timing the convolution {stopped} was ended after {_MOST_SILENT_SECONDS:g} s without "
            f"a result; {left} of {len(convolutions)} are computed as without tuning"
        )
    raise RefusedError(
        f"{plugin or 'jaxlib'}: timing ended at the convolution {stopped}: {ended.last_words}; "
        "export without tuning, or with another plugin"
    )


def _identity(plugin: Path | None) -> str:
    if plugin is None:
        return f"jaxlib {version('jaxlib')}"
    try:
        with plugin.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise RefusedError(
            f"{plugin}: the plugin cannot be read ({error.strerror}); name its library"
        ) from None
