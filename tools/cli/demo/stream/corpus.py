"""What the decoder learns: the Zen of Python, and what Python's own functions say of themselves."""

import codecs
import contextlib
import io
import math
from types import ModuleType

END = ""  # stands before and behind each text
LONGEST = 80  # characters of what a function says
OWNERS: tuple[type | ModuleType, ...] = (str, math)


def texts() -> list[str]:
    """The same for one release of Python."""
    found = [zen()]  # the longest
    for owner in OWNERS:
        for name, member in sorted(vars(owner).items()):
            said = getattr(member, "__doc__", None)
            if name.startswith("_") or isinstance(member, type) or not callable(member) or not said:
                continue
            first = " ".join(said.split("\n\n")[0].split())
            if first.isascii():
                found.append(f"{owner.__name__}.{name}: {first[:LONGEST]}")
    return found


def zen() -> str:
    with contextlib.redirect_stdout(io.StringIO()):  # it prints itself
        import this
    return codecs.decode(this.s, "rot13")


def characters(of: list[str]) -> list[str]:
    """By token; 0 is the end."""
    return [END, *sorted(set("".join(of)))]
