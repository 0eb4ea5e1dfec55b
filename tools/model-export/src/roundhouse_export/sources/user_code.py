"""Faults of a person's own code, told in one line that names their file."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from roundhouse_export.custom_calls import library_folders
from roundhouse_export.refusal import RefusedError

_LONGEST = 300
_INTERPRETER = "The following operation failed in the TorchScript interpreter"


@contextmanager
def user_code(doing: str) -> Iterator[None]:
    """Turns what is raised inside into a RefusedError of one line that begins with ``doing``."""
    try:
        yield
    except RefusedError:
        raise
    except (Exception, SystemExit) as error:
        raise RefusedError(f"{doing}: {told(error)}") from error


def told(error: BaseException) -> str:
    """Returns the kind of an exception, its first line, and the person's file and line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if isinstance(error, SyntaxError) and error.msg:
        lines = [error.msg]
    message = lines[0] if lines else ""
    if message.startswith(_INTERPRETER):  # the cause comes after a trace of its own
        causes = (line.partition("Error: ")[2] for line in reversed(lines))
        message = next(filter(None, causes), message)
    if len(message) > _LONGEST:
        message = message[:_LONGEST] + "..."
    place = _place(error)
    said = f"{type(error).__name__}: {message}" if message else type(error).__name__
    return f"{said} ({place})" if place else said


def _place(error: BaseException) -> str | None:
    if isinstance(error, SyntaxError) and error.filename:
        return f"{_short(error.filename)}, line {error.lineno}"
    libraries = library_folders()
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        if not frame.filename.startswith("<") and not any(map(path.is_relative_to, libraries)):
            return f"{_short(frame.filename)}, line {frame.lineno}"
    return None


def _short(file: str) -> str:
    path = Path(file)
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else file
