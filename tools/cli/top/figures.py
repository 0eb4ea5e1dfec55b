"""How figures and texts are shown, as format.js shows them."""

import unicodedata


def _scaled(value: float, unit: str) -> str:
    return f"{round(value, 1):g} {unit}" if value < 9.95 else f"{round(value)} {unit}"


def time(micros: float | None) -> str:
    if micros is None:
        return ""
    if micros < 1000:
        return f"{round(micros)} µs"
    for limit, unit, size in ((1e6, "ms", 1e3), (6e7, "s", 1e6), (3.6e9, "min", 6e7)):
        if micros < limit:
            return _scaled(micros / size, unit)
    return _scaled(micros / 3.6e9, "h")


def until(seconds: float | None) -> str:
    """Until something is expected; workers tell nothing below a millisecond."""
    return "now" if seconds == 0 else time(None if seconds is None else seconds * 1e6)


def size(value: int) -> str:
    if value < 1000:
        return f"{value} B"
    for limit, unit, size in ((1e6, "KB", 1e3), (1e9, "MB", 1e6)):
        if value < limit:
            return _scaled(value / size, unit)
    return _scaled(value / 1e9, "GB")


def percent(part: float | None) -> str:
    if part is None:
        return ""
    if 0 < part < 0.001:
        return "<0.1 %"
    return f"{round(100 * part, 1):g} %" if part < 0.0995 else f"{round(100 * part)} %"


def _cells(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def printable(text: str) -> str:
    """What would steer the terminal becomes '?'."""
    return "".join(each if each.isprintable() else "?" for each in text)


def fit(text: str, width: int, right: bool = False) -> str:
    """Exactly so many cells of a terminal: filled up, or cut; what would steer the terminal is not in it."""
    kept, used = [], 0
    for character in printable(text):
        cells = _cells(character)
        if used + cells > width:
            while kept and used > width - 1:
                used -= _cells(kept.pop())
            kept.append("…" if width > 0 else "")
            used += 1 if width > 0 else 0
            break
        kept.append(character)
        used += cells
    fill = " " * (width - used)
    return fill + "".join(kept) if right else "".join(kept) + fill
