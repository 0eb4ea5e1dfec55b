"""Each test that docs/security.md names for a published fault is there; none is run here."""

import os
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "security.md"
NAMED = re.compile(r"`([A-Za-z_0-9]+(?:\.py)?)::([A-Za-z_0-9]+)`")
LEAST_KINDS = 30
BUILT = {"target", "node_modules", "build"}


def rows() -> list[str]:
    """The rows of the tables of kinds, without their heads."""
    section = PAGE.read_text().partition("\n## Published faults\n")[2].partition("\n## ")[0]
    return [line for line in section.splitlines() if line.startswith("|") and not line.startswith(("| kind |", "|---"))]


def sources() -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [each for each in folders if each not in BUILT and not each.startswith(".")]
        for file in files:
            if file.endswith((".java", ".py")):
                found.setdefault(file, []).append(Path(folder, file))
    return found


def test_should_name_tests_that_there_are_for_every_kind() -> None:
    known = sources()
    kinds = rows()
    assert len(kinds) >= LEAST_KINDS
    wrong = [f"no test in: {row}" for row in kinds if not NAMED.search(row)]
    for file, name in sorted(set(NAMED.findall("\n".join(kinds)))):
        paths = known.get(file if file.endswith(".py") else f"{file}.java", [])
        declared = re.compile(rf"^\s*(?:def|void) {name}\(", re.MULTILINE)
        if not any(declared.search(path.read_text()) for path in paths):
            wrong.append(f"{file}::{name}: {'there is no such test in it' if paths else 'there is no such file'}")
    assert not wrong, "\n".join(wrong)
