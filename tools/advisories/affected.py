"""Compares the versions in SBOMs with the advisories that the repository keeps. Exit code 1: one is affected.

usage: affected.py ADVISORIES SBOM...
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

ECOSYSTEMS = {"maven": "Maven", "pypi": "PyPI"}
EARLIER = {
    **dict.fromkeys(("dev",), -6),
    **dict.fromkeys(("alpha", "a"), -5),
    **dict.fromkeys(("beta", "b"), -4),
    **dict.fromkeys(("milestone", "m"), -3),
    **dict.fromkeys(("rc", "cr", "c"), -2),
    **dict.fromkeys(("snapshot",), -1),
}
END = (0, 0)


def version_key(version: str) -> list[tuple[int, int]]:
    """Orders versions of Maven and PyPI: what comes before a release is below it, other words count for nothing."""
    key: list[tuple[int, int]] = []
    for number, word in re.findall(r"(\d+)|([a-z]+)", version.lower().split("+")[0]):
        if number:
            key.append((1, int(number)))
        elif word in EARLIER:
            drop_zeros(key)
            key.append((-1, EARLIER[word]))
    drop_zeros(key)
    return [*key, END]


def drop_zeros(key: list[tuple[int, int]]) -> None:
    """2 is 2.0."""
    while key and key[-1] == (1, 0):
        key.pop()


def is_affected(version: str, ranges: list[dict[str, str]]) -> bool:
    """A range without ``fixed`` has no end."""
    key = version_key(version)
    return any(
        version_key(each["introduced"]) <= key and ("fixed" not in each or key < version_key(each["fixed"]))
        for each in ranges
    )


def packages(sbom: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Ecosystem, name and version of each part whose package URL is of an ecosystem that we know."""
    for part in sbom["components"]:
        match = re.match(r"pkg:([a-z]+)/(?:([^@]+)/)?([^@/]+)@([^?#]+)", part.get("purl", ""))
        if match and match[1] in ECOSYSTEMS:
            name = f"{match[2]}:{match[3]}" if match[2] else match[3]
            yield ECOSYSTEMS[match[1]], unquote(name), unquote(match[4])


def findings(advisories: list[dict[str, Any]], sboms: list[dict[str, Any]]) -> tuple[list[str], int]:
    """A line for each advisory that a package is affected by, and how many packages were compared."""
    listed: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for advisory in advisories:
        for name in advisory["packages"]:
            listed.setdefault((advisory["ecosystem"], name), []).append(advisory)
    found = sorted({each for sbom in sboms for each in packages(sbom)})
    told = [
        f"{name} {version}: {advisory['id']}, {advisory['summary']}; fixed in {fixes(advisory)}"
        for ecosystem, name, version in found
        for advisory in listed.get((ecosystem, name), [])
        if is_affected(version, advisory["ranges"])
    ]
    return told, len(found)


def fixes(advisory: dict[str, Any]) -> str:
    return ", ".join(each["fixed"] for each in advisory["ranges"] if "fixed" in each) or "no version"


def main() -> None:
    kept = json.loads(Path(sys.argv[1]).read_text())
    told, compared = findings(kept["advisories"], [json.loads(Path(file).read_text()) for file in sys.argv[2:]])
    against = f"{len(kept['advisories'])} advisories, reviewed on {kept['reviewed']}"
    print("\n".join([*told, f"{compared} packages, {against}: {len(told)} affected"]))
    sys.exit(1 if told else 0)


if __name__ == "__main__":
    main()
