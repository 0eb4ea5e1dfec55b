"""Reads the events of the live page, and keeps what they told: as feed.js does, under the same names."""

import http.client
import json
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

SILENT_SECONDS = 15  # an event comes each second
SHARE_SECONDS = 10

Model = dict[str, Any]


class RefusedError(Exception):
    """Says what to tell the person."""


@dataclass
class Second:
    """What happened between two events."""

    device: dict[str, int]  # microseconds by use
    compute: dict[str, int] = field(default_factory=dict)  # microseconds by model
    rows: int = 0
    padding_rows: int = 0


class Feed:
    """What is known of one worker."""

    def __init__(self, fields: list[str], uses: list[str]) -> None:
        self.uses = uses
        self.models: dict[str, Model] = {}
        self.seconds: deque[Second] = deque(maxlen=SHARE_SECONDS)
        self.last: dict[str, Any] = {}
        self.had: dict[str, float] = {}  # of the device time of the last seconds, by model
        self._fields = fields

    def take(self, moment: dict[str, Any]) -> None:
        before = self.last.get("device", moment["device"])
        second = Second({use: moment["device"][use] - before[use] for use in self.uses})
        for name in moment["gone"]:
            self.models.pop(name, None)
        for row in moment["models"]:
            self._take_model(dict(zip(self._fields, row, strict=True)), second)
        self.last = moment
        self.seconds.append(second)
        self._share()

    def _take_model(self, model: Model, second: Second) -> None:
        old = self.models.get(model["name"])
        if old:
            ran = model["computeMicros"] - old["computeMicros"]
            if ran > 0:
                second.compute[model["name"]] = ran
            second.rows += model["rows"] - old["rows"]
            second.padding_rows += model["paddingRows"] - old["paddingRows"]
        self.models[model["name"]] = model

    def _share(self) -> None:
        sums: dict[str, int] = {}
        for second in self.seconds:
            for name, micros in second.compute.items():
                sums[name] = sums.get(name, 0) + micros
        total = sum(sums.values())
        self.had = {name: micros / total for name, micros in sums.items()}


def events(address: str, worker: str | None) -> Iterator[tuple[str, Any]]:
    """Names and data of events until the worker stops; chooses the worker where there is only one.

    Raises RefusedError with the server's own words, and OSError or HTTPException when there is none.
    """
    for event, data in _events(address, worker):
        if event != "workers":
            yield event, data
        elif len(data) == 1:
            yield from _events(address, data[0])
        else:
            names = ", ".join(data) if data else "none is there"
            raise RefusedError(f"{address} has several workers: choose one with --worker NAME, of {names}")


def _events(address: str, worker: str | None) -> Iterator[tuple[str, Any]]:
    connection = http.client.HTTPConnection(address, timeout=SILENT_SECONDS)
    try:
        connection.request("GET", "/ui/events" + (f"?worker={quote(worker, safe='')}" if worker else ""))
        answer = connection.getresponse()
        if answer.status != 200:
            raise RefusedError(f"{address} answered {answer.status}: {_reason(answer)}")
        event = ""
        for line in iter(answer.readline, b""):
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name == "event":
                event = value
            elif name == "data":
                yield event, json.loads(value)
    finally:
        connection.close()


def _reason(answer: http.client.HTTPResponse) -> str:
    text = answer.read(4096).decode(errors="replace")
    try:
        return str(json.loads(text)["error"])
    except (ValueError, KeyError, TypeError):
        return "there is no live page; is it the management port of a worker, a node or a gateway?"
