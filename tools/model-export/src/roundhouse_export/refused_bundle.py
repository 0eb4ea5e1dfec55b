"""A folder that a server lists as a model that failed, with the reason it was not made."""

from pathlib import Path

from roundhouse_export.folder import replace_folder

FILE_NAME = "refused.txt"
_MOST_CHARACTERS = 1000
"""That a server reads."""


def write_refused(target: Path, reason: str) -> None:
    line = " ".join(reason.split())
    if len(line) > _MOST_CHARACTERS:
        line = line[: _MOST_CHARACTERS - 3] + "..."
    replace_folder(target, {FILE_NAME: f"{line}\n".encode()})
