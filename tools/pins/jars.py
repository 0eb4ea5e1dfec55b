"""Holds the third-party jars of applications against the sha256 that the repository has of each.

usage: jars.py [--write] APPLICATION-JAR...

Exit code 1 where one is not in jars.sha256 or has another hash. --write makes the file anew, from the jars of all three
applications; look at what it changed.
"""

import hashlib
import re
import sys
import zipfile
from pathlib import Path

PINS = Path(__file__).with_name("jars.sha256")
MODULES = {pom.parent.name for pom in Path(__file__).resolve().parents[2].glob("*/pom.xml")}


def third_party(jar: Path) -> dict[str, str]:
    """The sha256 of each library in an application's jar that is no module of ours."""
    with zipfile.ZipFile(jar) as packed:
        entries = [entry for entry in packed.namelist() if re.fullmatch(r"BOOT-INF/lib/.*\.jar", entry)]
        named = {entry.rpartition("/")[2]: entry for entry in entries}
        return {
            name: hashlib.sha256(packed.read(entry)).hexdigest()
            for name, entry in named.items()
            if re.sub(r"-\d.*", "", name) not in MODULES
        }


def pinned(text: str) -> dict[str, str]:
    return dict(reversed(line.split("  ")) for line in text.splitlines())


def faults(found: dict[str, str], pins: dict[str, str]) -> list[str]:
    return [
        f"{name} has the sha256 {digest}, "
        + (
            f"not {pins[name]} as tools/pins/jars.sha256 says"
            if name in pins
            else "and is not in tools/pins/jars.sha256"
        )
        for name, digest in sorted(found.items())
        if pins.get(name) != digest
    ]


def main() -> None:
    writes = sys.argv[1] == "--write"
    found: dict[str, str] = {}
    for jar in sys.argv[2 if writes else 1 :]:
        found |= third_party(Path(jar))
    if writes:
        PINS.write_text("".join(f"{digest}  {name}\n" for name, digest in sorted(found.items())))
    wrong = faults(found, pinned(PINS.read_text()))
    print("\n".join([*wrong, f"{len(found)} third-party jars, {len(wrong)} of them not as pinned"]))
    if wrong:
        sys.exit("after a change of dependencies: python3 tools/pins/jars.py --write and the three applications' jars")


if __name__ == "__main__":
    main()
