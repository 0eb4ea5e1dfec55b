"""The lines that a terminal shows: the device, and the models with why they wait."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any

import figures
from feed import Feed, Model

BAR_SECONDS = 5
LEAST_REASON = 24
LEAST_NAME = 12
GAP = "  "

WORDS = {
    "running": "busy",
    "padding": "busy with padding",
    "no-requests": "idle: nobody wants anything",
    "weights": "idle: weights are awaited",
    "held": "idle: held for larger batches",
    "answers": "idle: answers are being read",
    "dispatch": "idle: the host is between batches",
}


Key = Callable[[Model, Feed], Any]
Text = Callable[[Model, Feed], str]


@dataclass(frozen=True)
class Column:
    """``width`` 0 takes what is left; it is shown in terminals that are at least ``least`` wide."""

    name: str
    title: str
    width: int
    least: int
    by: Key  # by what rows are sorted
    text: Text
    down: bool = False  # the largest first
    right: bool = False


def _field(name: str) -> Any:
    return lambda model, feed: model[name]


def _due(model: Model, feed: Feed) -> float:
    return -1 if model["due"] is None else model["due"]


def _had(model: Model, feed: Feed) -> float:
    return feed.had.get(model["name"], -1)


def _next(model: Model, feed: Feed) -> float:
    return math.inf if model["nextUseSeconds"] is None else model["nextUseSeconds"]


def _waited(model: Model, feed: Feed) -> float:
    waited = model["waitedMicros"]
    return waited if waited is not None else 0 if model["words"] else -1


def _part(key: Key) -> Text:
    return lambda model, feed: "" if key(model, feed) < 0 else figures.percent(key(model, feed))


def _queue_text(model: Model, feed: Feed) -> str:
    return f"{model['queued']:,}" if model["queued"] else ""


def _place_text(model: Model, feed: Feed) -> str:
    return f"{model['place']}, pinned" if model["pinned"] else model["place"]


def _next_text(model: Model, feed: Feed) -> str:
    return figures.until(model["nextUseSeconds"])


def _waits_text(model: Model, feed: Feed) -> str:
    return model["words"] or model["reason"]


COLUMNS = (
    Column("model", "Model", 0, 0, _field("name"), _field("name")),
    Column("state", "State", 9, 60, _field("state"), _field("state")),
    Column("queue", "Queue", 6, 0, _field("queued"), _queue_text, down=True, right=True),
    Column("due", "Due", 6, 80, _due, _part(_due), down=True, right=True),
    Column("had", "Had", 6, 70, _had, _part(_had), down=True, right=True),
    Column("place", "Place", 14, 100, _field("place"), _place_text),
    Column("next", "Next use", 8, 110, _next, _next_text, right=True),
    Column("waits", "Why it waits", 0, 0, _waited, _waits_text, down=True),
)


def rows(feed: Feed, sort: str, words: str) -> list[Model]:
    column = next(each for each in COLUMNS if each.name == sort)
    wanted = words.lower().split()

    def fits(model: Model) -> bool:
        text = " ".join(model[each] for each in ("name", "state", "place", "why", "words", "reason")).lower()
        return all(word in text for word in wanted)

    found = sorted((model for model in feed.models.values() if fits(model)), key=lambda model: model["name"])
    return sorted(found, key=lambda model: column.by(model, feed), reverse=column.down)


def device(feed: Feed) -> str:
    """What it did in the last seconds; the part for padding goes by rows."""
    latest = list(feed.seconds)[-BAR_SECONDS:]
    sums = {use: sum(second.device[use] for second in latest) for use in feed.uses}
    total = sum(sums.values())
    if not total:
        return "device: not known yet"
    padding = sum(second.padding_rows for second in latest)
    all_rows = padding + sum(second.rows for second in latest)
    wasted = sums["running"] * padding / all_rows if all_rows else 0
    parts = {"running": sums.pop("running") - wasted, "padding": wasted} | sums
    shown = [(use, micros / total) for use, micros in parts.items() if micros / total > 0.0005]
    return "device: " + ", ".join(f"{figures.percent(part)} {WORDS.get(use, use)}" for use, part in shown)


def facts(feed: Feed, address: str) -> str:
    last = feed.last
    budget = last.get("budgetBytes")
    parts = [address + (f", {last['discipline']}" if "discipline" in last else "")]
    if last.get("running"):
        parts.append(f"runs '{last['running']}'")
    of = "" if budget is None else f" of {figures.size(budget)}"
    parts.append(f"weights on the device: {figures.size(last['residentBytes'])}{of}")
    return "; ".join(parts)


def full_width(models: list[Model], feed: Feed) -> int:
    """In which no text is cut."""
    texts = sum(max((len(each.text(m, feed)) for m in models), default=0) for each in COLUMNS if not each.width)
    return texts + sum(max(each.width, LEAST_REASON) + len(GAP) for each in COLUMNS)


def widths(models: list[Model], width: int) -> list[tuple[Column, int]]:
    """The columns that there is room for. Text that nothing limits gets what it needs."""
    name = max((len(model["name"]) for model in models), default=LEAST_NAME)
    shown = [column for column in COLUMNS if column.least <= width]
    fixed = sum(column.width + len(GAP) for column in shown if column.width) + len(GAP)
    left = max(width - fixed, LEAST_NAME + LEAST_REASON)
    name = min(max(name, len("Model")), max(LEAST_NAME, left - LEAST_REASON, left // 3), left - LEAST_REASON)
    return [(each, each.width or (name if each.name == "model" else left - name)) for each in shown]


def lines(feed: Feed, models: list[Model], width: int, most: int | None) -> list[str]:
    """The table's, with its heading; ``most`` of them, or all."""
    columns = widths(models, width)
    made = [GAP.join(figures.fit(each.title, cells, each.right) for each, cells in columns)]
    for model in islice(models, None if most is None else max(0, most - 1)):
        made.append(GAP.join(figures.fit(each.text(model, feed), cells, each.right) for each, cells in columns))
    return [figures.fit(line, width).rstrip() for line in made]
