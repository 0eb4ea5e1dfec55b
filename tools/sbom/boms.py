"""CycloneDX documents of what an image and the Python package hold, and of what Boot's repackaging puts into a jar.

Pure: dictionaries and texts in, dictionaries out. A document has no date, and its serial number follows from what it
says: the same parts make the same bytes.
"""

import hashlib
import json
import re
import uuid
from collections.abc import Iterable
from typing import Any

SPEC = "1.6"
LOCKED = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)")
HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")

Component = dict[str, Any]


def component(kind: str, name: str, version: str, purl: str = "", **more: Any) -> Component:
    """``more`` may have ``sha256``, ``licence``, ``group`` and ``properties``, each left out where it is empty."""
    made: Component = {"type": kind, "bom-ref": purl or f"{name}@{version}", "name": name, "version": version}
    if purl:
        made["purl"] = purl
    if more.get("group"):
        made["group"] = more["group"]
    if more.get("sha256"):
        made["hashes"] = [{"alg": "SHA-256", "content": more["sha256"]}]
    if more.get("licence"):
        made["licenses"] = [{"license": {"name": more["licence"]}}]
    if more.get("properties"):
        made["properties"] = [{"name": key, "value": value} for key, value in more["properties"]]
    return made


def document(about: Component, parts: Iterable[Component]) -> dict[str, Any]:
    """Of equal parts one is kept; all are ordered by their reference."""
    ordered = [part for _, part in sorted({part["bom-ref"]: part for part in parts}.items())]
    said = json.dumps([about, ordered], sort_keys=True)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": SPEC,
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, said)}",
        "version": 1,
        "metadata": {"component": about},
        "components": ordered,
    }


def jar_file(part: Component) -> str:
    """The name that a Maven artifact has in a folder of libraries."""
    classifier = re.search(r"[?&]classifier=([^&]+)", part.get("purl", ""))
    return f"{part['name']}-{part['version']}{'-' + classifier[1] if classifier else ''}.jar"


def sha256_of(part: Component) -> str:
    return next((each["content"] for each in part.get("hashes", []) if each["alg"] == "SHA-256"), "")


def unnamed_jars(parts: list[Component], jars: dict[str, bytes]) -> list[str]:
    """What is wrong of jars by name and content: those that no part names, and those of another hash."""
    known = {jar_file(part): part for part in parts}
    wrong = []
    for name, data in sorted(jars.items()):
        if name not in known:
            wrong.append(f"{name}: not named")
        elif not sha256_of(known[name]):
            wrong.append(f"{name}: named without a SHA-256")
        elif sha256_of(known[name]) != hashlib.sha256(data).hexdigest():
            wrong.append(f"{name}: of another SHA-256 than the one that is said")
    return wrong


def boot_jar(name: str, data: bytes) -> Component | None:
    """A library that Boot adds when it makes the jar, which Maven does not know of."""
    match = re.fullmatch(r"(spring-boot-[a-z-]+)-(\d[^/]*)\.jar", name)
    if not match:
        return None
    group = "org.springframework.boot"
    purl = f"pkg:maven/{group}/{match[1]}@{match[2]}?type=jar"
    digest = hashlib.sha256(data).hexdigest()
    return component("library", match[1], match[2], purl, group=group, sha256=digest, licence="Apache-2.0")


def locked_packages(lock: str, wanted: set[str], licences: dict[str, str]) -> list[Component]:
    """Packages of a Python lock whose names are wanted, with the hashes of every file that may be installed."""
    found = []
    for entry in re.split(r"\n(?=[A-Za-z0-9])", lock):
        match = LOCKED.match(entry)
        if not match or normal(match[1]) not in wanted:
            continue
        name = normal(match[1])
        part = component("library", name, match[2], f"pkg:pypi/{name}@{match[2]}", licence=licences.get(name))
        part["hashes"] = [{"alg": "SHA-256", "content": digest} for digest in HASH.findall(entry)]
        found.append(part)
    return found


def normal(name: str) -> str:
    """A Python package's name as an index compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def debian_packages(status: str, distribution: str) -> list[Component]:
    """Those of dpkg's status file that are installed."""
    found = []
    for paragraph in status.split("\n\n"):
        fields = dict(re.findall(r"^([A-Za-z-]+): (.*)$", paragraph, re.MULTILINE))
        if fields.get("Status", "").endswith(" installed"):
            name, version, machine = fields["Package"], fields["Version"], fields["Architecture"]
            purl = f"pkg:deb/{distribution}/{name}@{version.replace('+', '%2B')}?arch={machine}"
            found.append(component("library", name, version, purl))
    return found


def java_runtime(release: str) -> Component:
    """By the file ``release`` of a JDK, or of what jlink made of one."""
    fields = dict(re.findall(r'^([A-Z_]+)="(.*)"$', release, re.MULTILINE))
    modules = [("roundhouse:java.modules", fields["MODULES"])] if fields.get("MODULES") else []
    version = fields.get("JAVA_RUNTIME_VERSION") or fields["JAVA_VERSION"]
    implementor = [("roundhouse:java.implementor", fields["IMPLEMENTOR"])] if fields.get("IMPLEMENTOR") else []
    licence = "GPL-2.0-with-classpath-exception"
    return component("platform", "openjdk", version, licence=licence, properties=[*implementor, *modules])
