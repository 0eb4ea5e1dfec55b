"""What a converted model was made from: a hidden file in its folder, which servers pass over.

It appears and goes with the folder, and is how a later run knows what it may replace or remove.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import roundhouse_export
from roundhouse_export.folder import write_durably
from roundhouse_export.model import ImportOptions
from roundhouse_export.repository_row import Row, row_from_json

RECORD = ".imported.json"


@dataclass(frozen=True)
class ImportRecord:
    """``key`` is of all that the conversion depends on; empty when it is to be tried again."""

    repository: str
    key: str
    rows: Sequence[Row]


def read(folder: Path) -> ImportRecord | None:
    """Returns the record of a folder that was made from a repository; None for any other."""
    try:
        entry = json.loads((folder / RECORD).read_text())
        rows = [row_from_json(each) for each in entry["rows"]]
        return ImportRecord(str(entry["repository"]), str(entry["key"]), rows)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write(folder: Path, record: ImportRecord) -> None:
    entry = {
        "repository": record.repository,
        "key": record.key,
        "rows": [row.to_json() for row in record.rows],
    }
    write_durably(folder / RECORD, json.dumps(entry, indent=1).encode())


def key(files: Mapping[str, Path], options: ImportOptions) -> str:
    """Returns a digest of a model's files, of what was asked for, and of this exporter itself."""
    package = Path(roundhouse_export.__file__).parent
    own = {str(file.relative_to(package)): file for file in package.rglob("*.py")}
    return _digest([repr(options), _digest_of_files(own), _digest_of_files(files)])


def _digest_of_files(files: Mapping[str, Path]) -> str:
    parts = []
    for name, path in sorted(files.items()):
        with path.open("rb") as file:
            parts += [name, hashlib.file_digest(file, "sha256").hexdigest()]
    return _digest(parts)


def _digest(parts: Iterable[str]) -> str:
    return hashlib.sha256(json.dumps(list(parts)).encode()).hexdigest()
