"""``config.pbtxt`` as protobuf reads it, and the line of each of its fields."""

from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from google.protobuf import text_format

from roundhouse_export.refusal import RefusedError
from roundhouse_export.triton.proto_file import message_class

CONFIG = "config.pbtxt"
_PROTO = "model_config.proto"
_OPEN = {"{": "}", "<": ">"}

ModelConfig = message_class(
    resources.files(__package__).joinpath(_PROTO).read_text(), _PROTO, "inference.ModelConfig"
)


@dataclass(frozen=True)
class ConfigFile:
    """A configuration that could be read. ``message`` is an ``inference.ModelConfig``."""

    path: Path
    message: Any
    lines: dict[str, int]

    def at(self, *fields: str) -> str:
        """``FILE:LINE`` of the first of these that the file has, such as ``input[0].dims``, else
        of what the first stands in; ``FILE`` when nothing of it is there."""
        outer = [fields[0].rsplit(".", cut)[0] for cut in range(1, 1 + fields[0].count("."))]
        found = (self.lines[field] for field in (*fields, *outer) if field in self.lines)
        line = next(found, None)
        return str(self.path) if line is None else f"{self.path}:{line}"


def read(path: Path) -> ConfigFile:
    """Reads a configuration; RefusedError has file, line and column of what is wrong."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as wrong:
        raise RefusedError(f"{path}: byte {wrong.start} is no UTF-8 text") from wrong
    except OSError as wrong:
        raise RefusedError(f"{path}: cannot be read: {wrong.strerror}") from wrong
    try:
        message = text_format.Parse(text, ModelConfig())
    except text_format.ParseError as wrong:
        said = " ".join(str(wrong).split())
        place = [str(part) for part in (wrong.GetLine(), wrong.GetColumn()) if part]
        raise RefusedError(
            f"{':'.join([str(path), *place])}: {said.removeprefix(':'.join(place) + ' : ')}"
        ) from wrong
    return ConfigFile(path, message, field_lines(text))


def field_lines(text: str) -> dict[str, int]:
    """Lines of fields by their path; a message's place among those of its name is in brackets.

    The text is one that protobuf has read without complaint: only names and nesting are looked at.
    """
    tokenizer = text_format.Tokenizer(text.splitlines())
    lines: dict[str, int] = {}
    _fields(tokenizer, "", lines, "")
    return lines


def _fields(tokenizer: Any, prefix: str, lines: dict[str, int], end: str) -> None:
    counts: dict[str, int] = {}
    while not tokenizer.AtEnd() and tokenizer.token != end:
        name, line = tokenizer.token, tokenizer.ParseError("").GetLine()
        tokenizer.NextToken()
        lines.setdefault(prefix + name, line)
        colon = tokenizer.TryConsume(":")
        many = tokenizer.TryConsume("[")
        while True:
            line = tokenizer.ParseError("").GetLine()
            closing = _OPEN.get(tokenizer.token)
            if closing:
                path = f"{prefix}{name}[{counts.setdefault(name, 0)}]"
                counts[name] += 1
                lines[path] = line
                tokenizer.NextToken()
                _fields(tokenizer, f"{path}.", lines, closing)
                tokenizer.NextToken()
            elif colon and tokenizer.token != "]":
                tokenizer.NextToken()
                while tokenizer.token[:1] in ('"', "'"):  # parts of one text
                    tokenizer.NextToken()
            if not (many and tokenizer.TryConsume(",")):
                break
        if many:
            tokenizer.TryConsume("]")
        if not tokenizer.TryConsume(","):
            tokenizer.TryConsume(";")
