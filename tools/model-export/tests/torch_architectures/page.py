"""The table that people read."""

import datetime
import os
from collections.abc import Mapping, Sequence
from importlib.metadata import version

from torch_architectures.catalogue import Architecture
from torch_architectures.trial import Outcome

_PACKAGES = ("torch", "torchvision", "torchax", "timm", "transformers", "jax")

_HEAD = (
    "# A hundred architectures of PyTorch\n\n"
    "Written by `./roundhouse test --torch` on {date}, with {versions}. {converted} of {count} are "
    "converted, {through} of them through ONNX.\n"
    "Weights are seeded and random, sizes small, one row; nothing is downloaded. *Error* is the "
    "largest difference from PyTorch over the largest value of that output, for random and uniform "
    "inputs. *Plugin* and *PyTorch* are medians of 5 rounds in ms on the CPU ({processors} "
    "processors, one thread for PyTorch), and others were at work meanwhile: they show sizes and "
    "do not compare. *Export* is in seconds, from the module to the bundle.\n\n"
    "| architecture | way | error | plugin | PyTorch | export |\n|---|---|---|---|---|---|\n"
)


def page(every: Sequence[Architecture], outcomes: Mapping[str, Outcome]) -> str:
    tried = [(each, outcomes[each.key]) for each in every if each.key in outcomes]
    converted = [outcome for _, outcome in tried if not outcome.refusal]
    text = _HEAD.format(
        date=f"{datetime.datetime.now(datetime.UTC):%-d %B %Y}",
        versions=", ".join(f"{name} {version(name)}" for name in _PACKAGES),
        converted=len(converted),
        count=len(tried),
        through=sum(outcome.way == "onnx" for outcome in converted),
        processors=os.cpu_count(),
    )
    rows = [
        f"| {each.key} | {o.way} | {o.error:.1e} | {o.ours_ms:.3g} | {o.torch_ms:.3g} "
        f"| {o.seconds:.0f} |"
        for each, o in tried
        if not o.refusal
    ]
    text += "\n".join(rows) + "\n"
    left = [each.key for each in every if each.key not in outcomes]
    if left:
        text += f"\nNot tried before the run ended: {', '.join(left)}.\n"
    refused = [(each, outcome) for each, outcome in tried if outcome.refusal]
    if refused:
        text += "\n## Refused, and why\n\n| architecture | reason |\n|---|---|\n"
        for each, outcome in refused:
            reason = " ".join(outcome.refusal.replace("|", "\\|").split())
            text += f"| {each.key} | {reason.removeprefix(each.name + ': ')} |\n"
    return text
