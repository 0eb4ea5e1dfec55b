"""A terminal that shows the models as they change, and what keys do there."""

import os
import queue
import select
import signal
import sys
import termios
import threading
import time
import tty
from http.client import HTTPException
from typing import Any

import figures
import table
from feed import Feed, RefusedError, events

AGAIN_SECONDS = 5
OTHER_SCREEN, OWN_SCREEN = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
HOME, END_OF_LINE, END_OF_SCREEN = "\x1b[H", "\x1b[K", "\x1b[J"
BOLD, PLAIN = "\x1b[1m", "\x1b[m"


class Screen:
    """``show`` ends with the key q or with Ctrl-C, and leaves the terminal as it was."""

    def __init__(self, address: str, worker: str | None, sort: str, words: str) -> None:
        self._address, self._worker, self._sort, self._words = address, worker, sort, words
        self._feed: Feed | None = None
        self._state = "connecting"
        self._paused = False
        self._news: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self._wake, self._ring = os.pipe()

    def show(self) -> None:
        threading.Thread(target=self._listen, daemon=True).start()
        before = termios.tcgetattr(sys.stdin)
        for ending in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(ending, lambda number, frame: sys.exit(128 + number))
        signal.signal(signal.SIGWINCH, lambda number, frame: os.write(self._ring, b"."))
        try:
            tty.setcbreak(sys.stdin)
            sys.stdout.write(OTHER_SCREEN)
            while self._turn():
                self._draw()
        finally:
            sys.stdout.write(OWN_SCREEN)
            sys.stdout.flush()
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)

    def _listen(self) -> None:
        """Asks again when the worker was lost; what the first answer refuses is the end."""
        known = False
        while True:
            try:
                for event in events(self._address, self._worker):
                    known = True
                    self._tell(*event)
                self._tell("lost", "it stops")
            except RefusedError as e:
                self._tell("lost" if known else "refused", e)
            except (OSError, HTTPException, ValueError) as e:
                self._tell("lost" if known else "refused", e if str(e) else type(e).__name__)
            time.sleep(AGAIN_SECONDS)

    def _tell(self, event: str, data: Any) -> None:
        self._news.put((event, data))
        os.write(self._ring, b".")

    def _turn(self) -> bool:
        """Waits for a key or news; false when that is the end."""
        ready, _, _ = select.select([sys.stdin, self._wake], [], [])
        if self._wake in ready:
            os.read(self._wake, 4096)
            while not self._news.empty():
                self._take(*self._news.get())
        return sys.stdin not in ready or all(map(self._key, os.read(sys.stdin.fileno(), 64).decode(errors="replace")))

    def _take(self, event: str, data: Any) -> None:
        if event == "refused":
            raise data if isinstance(data, RefusedError) else OSError(str(data))
        if event == "lost":
            self._state = f"no events: {data}; asking again"
        elif event == "begin":
            self._feed = Feed(data["fields"], data["uses"])
        elif event == "moment" and self._feed:
            self._feed.take(data)
            left = f"; {data['left']:,} models are not up to date yet" if data["left"] else ""
            self._state = (data["unknownBecause"] or _serving(data)) + left

    def _key(self, key: str) -> bool:
        names = [column.name for column in table.COLUMNS]
        if key == "s":
            self._sort = names[(names.index(self._sort) + 1) % len(names)]
        elif key == "p":
            self._paused = not self._paused
        return key not in ("q", "\x04")

    @staticmethod
    def _size() -> tuple[int, int]:
        """As it is now, whatever COLUMNS says; some terminals do not know."""
        now = os.get_terminal_size(sys.stdout.fileno())
        return now.columns or 80, now.lines or 24

    def _draw(self) -> None:
        feed = self._feed
        width, height = self._size()
        if feed is None or not feed.last:
            shown = [self._state]
        elif self._paused:
            self._write([f"paused ({self._state}); p goes on, q ends"], width, height)
            return
        else:
            models = table.rows(feed, self._sort, self._words)
            title = next(column.title for column in table.COLUMNS if column.name == self._sort)
            count = f"{len(models):,} models, by '{title}'; q ends, s sorts, p pauses"
            shown = [table.facts(feed, self._address), table.device(feed), f"{self._state}; {count}", ""]
            shown += table.lines(feed, models, width, height - len(shown))
        self._write(shown, width, height)

    def _write(self, shown: list[str], width: int, height: int) -> None:
        parts = [HOME]
        for number, line in enumerate(shown[:height]):
            fitted = figures.fit(line, width).rstrip()
            last = number == min(len(shown), height) - 1
            parts.append((f"{BOLD}{fitted}{PLAIN}" if number == 4 else fitted) + END_OF_LINE + ("" if last else "\n"))
        if len(shown) > 1:
            parts.append(END_OF_SCREEN)
        sys.stdout.write("".join(parts))
        sys.stdout.flush()


def _serving(moment: dict[str, Any]) -> str:
    """An older worker says neither."""
    if moment.get("draining"):
        return "drained: not ready, and serves what still comes"
    return "live" if moment.get("ready", True) else "not ready"
