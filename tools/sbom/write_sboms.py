"""Writes CycloneDX documents of everything that a release has; ./roundhouse sbom calls it.

usage: write_sboms.py FOLDER --version=VERSION [--jar=NAME=FILE...] [--plugin=FOLDER] [--python=SITE-PACKAGES]
                      [--contents=IMAGE=FOLDER...]

--contents is a folder with files out of a built image, any of: status (dpkg's), release (Java's), os-release.
"""

import argparse
import hashlib
import json
import re
import sys
import zipfile
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import boms

ROOT = Path(__file__).resolve().parents[2]
EXPORT = ROOT / "tools" / "model-export"
INSIDE = "META-INF/sbom/application.cdx.json"
IMAGES = {
    "roundhouse-worker": ("worker-service",),
    "roundhouse-gateway": ("gateway-service",),
    "roundhouse-node": ("node-supervisor", "worker-service", "gateway-service"),
}
WITHOUT_PLUGIN = {"roundhouse-gateway"}


def write(folder: Path, name: str, document: dict[str, Any]) -> None:
    file = folder / f"{name}.cdx.json"
    file.write_text(json.dumps(document, indent=1) + "\n")
    parts = document["components"]
    hashed = sum(1 for part in parts if part.get("hashes"))
    licensed = sum(1 for part in parts if part.get("licenses"))
    print(f"{file}  {len(parts)} parts, {hashed} with a hash, {licensed} with a licence")


def of_jar(name: str, jar: Path) -> dict[str, Any]:
    """What Maven wrote into the jar, and what Boot added to it. Ends the program where a jar in it is not named."""
    with zipfile.ZipFile(jar) as packed:
        if INSIDE not in packed.namelist():
            sys.exit(f"{jar} has no {INSIDE}: build it with the profile sbom, and not offline")
        document = json.loads(packed.read(INSIDE))
        jars = {entry.rpartition("/")[2]: packed.read(entry) for entry in packed.namelist() if entry.endswith(".jar")}
    named = {boms.jar_file(part) for part in document["components"]}
    added = [boms.boot_jar(file, data) for file, data in sorted(jars.items()) if file not in named]
    document["components"] += [part for part in added if part]
    wrong = boms.unnamed_jars(document["components"], jars)
    if wrong:
        sys.exit(f"{name}: {len(wrong)} jars are not as its SBOM says: {'; '.join(wrong)}")
    document["metadata"]["component"]["hashes"] = [{"alg": "SHA-256", "content": sha256(jar)}]
    return document


def sha256(file: Path) -> str:
    with file.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()


def of_plugin(folder: Path) -> boms.Component:
    name, version = re.fullmatch(r"(.*)-(\d[\d.]*)", folder.name).groups()
    digest = sha256(folder / "xla_cpu_pjrt.so")
    return boms.component("library", name, version, f"pkg:pypi/{name}@{version}", sha256=digest, licence="Apache-2.0")


def of_python(version: str, installed: str | None) -> dict[str, Any]:
    """The exporter with all that its requirements pin; licences are those that installed packages state."""
    licences = {}
    for each in distributions(path=[installed]) if installed else []:
        stated = each.metadata.get("License-Expression") or each.metadata.get("License") or ""
        if stated and "\n" not in stated:
            licences[boms.normal(each.metadata["Name"])] = stated
    pins = re.findall(r"^([A-Za-z0-9._-]+)==", (EXPORT / "requirements.txt").read_text(), re.MULTILINE)
    lock = (EXPORT / "requirements-dev.lock").read_text()
    about = boms.component(
        "application", "roundhouse-export", version, f"pkg:pypi/roundhouse-export@{version}", licence="Apache-2.0"
    )
    return boms.document(about, boms.locked_packages(lock, {boms.normal(pin) for pin in pins}, licences))


def of_image(
    image: str, version: str, of_jars: dict[str, dict[str, Any]], plugin: boms.Component | None, contents: Path | None
) -> dict[str, Any]:
    parts = [part for name in IMAGES[image] for part in of_jars[name]["components"]]
    parts += [of_jars[name]["metadata"]["component"] for name in IMAGES[image]]
    if plugin and image not in WITHOUT_PLUGIN:
        parts.append(plugin)
    if contents and (contents / "release").exists():
        parts.append(boms.java_runtime((contents / "release").read_text()))
    if contents and (contents / "status").exists():
        system = (contents / "os-release").read_text() if (contents / "os-release").exists() else ""
        distribution = re.search(r"^ID=\"?([a-z]+)", system, re.MULTILINE)
        parts += boms.debian_packages((contents / "status").read_text(), distribution[1] if distribution else "debian")
    about = boms.component("container", image, version, f"pkg:oci/{image}?tag={version}", licence="Apache-2.0")
    return boms.document(about, parts)


def pairs(given: list[str]) -> dict[str, Path]:
    return {name: Path(file) for name, _, file in (each.partition("=") for each in given)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--version", required=True)
    parser.add_argument("--jar", action="append", default=[])
    parser.add_argument("--plugin", type=Path)
    parser.add_argument("--python")
    parser.add_argument("--contents", action="append", default=[])
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    of_jars = {name: of_jar(name, jar) for name, jar in pairs(given.jar).items()}
    for name, document in of_jars.items():
        write(given.folder, name, document)
    about = boms.component("application", "roundhouse", given.version, group="dev.roundhouse", licence="Apache-2.0")
    every = [part for document in of_jars.values() for part in document["components"]]
    every += [document["metadata"]["component"] for document in of_jars.values()]
    write(given.folder, "roundhouse", boms.document(about, every))
    write(given.folder, "roundhouse-export", of_python(given.version, given.python))
    plugin = of_plugin(given.plugin) if given.plugin else None
    contents = pairs(given.contents)
    for image in IMAGES:
        if set(IMAGES[image]) <= set(of_jars):
            document = of_image(image, given.version, of_jars, plugin, contents.get(image))
            write(given.folder, image, document)


if __name__ == "__main__":
    main()
