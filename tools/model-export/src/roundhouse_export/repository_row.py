"""What became of each model of a repository, for people and for programs."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from roundhouse_export.table import rendered as table


class Status(StrEnum):
    CONVERTED = "converted"
    UNCHANGED = "unchanged"
    """It was converted before, and nothing of it has changed."""
    REFUSED = "refused"
    REMOVED = "removed"
    """Its source is gone, and so is what was made of it."""


@dataclass(frozen=True)
class Row:
    """One version of a model, or a model of which no version can be told.

    ``difference`` is the largest from the framework's own answers to random inputs, where it was
    asked. ``reason`` has file and line; a converted model has one when its numbers are off.
    """

    model: str
    version: int | None
    source: str
    status: Status
    difference: float | None = None
    reason: str = ""
    notes: tuple[str, ...] = ()

    @property
    def is_refused(self) -> bool:
        return self.status is Status.REFUSED

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def row_from_json(entry: dict[str, Any]) -> Row:
    return Row(
        **{**entry, "status": Status(entry["status"]), "notes": tuple(entry.get("notes", ()))}
    )


def rendered(rows: Sequence[Row]) -> str:
    """A table, with notes and the number of refused ones below it."""
    if not rows:
        return "no models"
    heads = ("model", "version", "from", "", "difference", "reason")
    cells = [
        (
            row.model,
            "-" if row.version is None else str(row.version),
            row.source,
            row.status.value,
            "" if row.difference is None else row.difference,
            row.reason,
        )
        for row in rows
    ]
    notes = [f"note: {row.model}: {note}" for row in rows for note in row.notes]
    lines = [table(heads, cells), *dict.fromkeys(notes)]
    refused = sum(row.is_refused for row in rows)
    if refused:
        lines.append(f"{refused} of {len(rows)} refused")
    return "\n".join(lines)


def to_json(rows: Sequence[Row]) -> str:
    return json.dumps([row.to_json() for row in rows])
