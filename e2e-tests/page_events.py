"""The events that the live page is drawn from, as far as tests look at them."""

import json
import urllib.request
from typing import Any

Row = dict[str, Any]


class PageEvents:
    """What a page knows of models, from the events of one connection."""

    def __init__(self, address: str) -> None:
        self._answer = urllib.request.urlopen(f"http://{address}/ui/events", timeout=30)
        self._fields: list[str] = []
        self.rows: dict[str, Row] = {}
        self.running: str | None = None

    def follow(self) -> dict[str, Row]:
        """Waits for the next event of a moment, about a second, and returns all models by name."""
        event = ""
        while event != "moment":
            event, data = self._next()
            if event == "begin":
                self._fields = data["fields"]
        self.running = data.get("running")
        for name in data["gone"]:
            del self.rows[name]
        for values in data["models"]:
            row = dict(zip(self._fields, values, strict=True))
            self.rows[row["name"]] = row
        return self.rows

    def _next(self) -> tuple[str, Any]:
        lines = iter(self._answer.readline, b"\n")
        (event, data) = (line.decode().split(": ", 1)[1] for line in lines)
        return event.strip(), json.loads(data)

    def close(self) -> None:
        self._answer.close()
