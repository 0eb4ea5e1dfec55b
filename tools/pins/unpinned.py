"""Finds commands that download something and are not listed, with what pins it, in downloads.json; locks too.

usage: unpinned.py [--root=FOLDER]

Prints a line for each and exits with 1 where there is one. A download that moves or changes has to be listed anew,
which is when somebody looks at what pins it. docs/supply-chain.md has the same as a table.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import lock_python

DOWNLOADS = re.compile(
    r"pip3?[\"',]* +[\"']?(install|download)\b"
    r"|\"pip\","
    r"|\b(npm[\"')]*,? +[\"']?(ci|i|install|exec)\b|npx )"
    r"|\bgo[\"')]*,? +[\"']?(install|get|run|build|mod[\"',]* +[\"']?download)\b"
    r"|\b(curl|wget)\b.*(https?|ftp)://(?!\{|localhost|127\.0\.0\.1|[a-z.]*example\.com)"
    r"|urlretrieve|urlopen\([\"']https|requests\.get\([\"']https"
    r"|\bgit clone\b"
    r"|\b(docker|podman|buildah|skopeo) (pull|copy|from)\b|^FROM (?!(runtime|device)\b)"
    r"|apt-get[^|;&]*\b(install|download)\b|\bmmdebstrap\b.*--"
    r"|dependency:(get|copy|unpack)\b"
)
# what people are told to run, and tests of that
ADVICE = re.compile(
    r"\b(fail|echo|report_missing) \".*|\bassert .*|pip install '?roundhouse-export\[.*|has pip install"
    r"|.*pytest\.raises.*|``[^`]*``|\(apt-get install .*\)"
)
SOURCES = re.compile(r"^(roundhouse|\.ci/.*|(tools|docker|e2e-tests|examples|helm|\.mvn)/.*)$")
NOT_COMMANDS = re.compile(r"\.(md|md\.txt|lock|sum|mod|json|java|csv|png|yaml)$")
HASHED = re.compile(r"--hash=sha256:[0-9a-f]{64}")
EXACT = re.compile(r"^\d[\w.+-]*$")


def files(root: Path) -> list[str]:
    listed = subprocess.run(
        ["git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        text=True,
        check=True,
    )
    return sorted(listed.stdout.splitlines())


def commands(root: Path, names: list[str]) -> Iterator[tuple[str, str]]:
    """File and line of each command that downloads."""
    here = ("tools/pins/", "e2e-tests/test_supply_chain.py")
    for name in names:
        if not SOURCES.match(name) or NOT_COMMANDS.search(name) or name.startswith(here):
            continue
        try:
            text = (root / name).read_text()
        except UnicodeDecodeError:
            continue
        for line in map(str.strip, text.splitlines()):
            if DOWNLOADS.search(ADVICE.sub("", line)) and not line.startswith("#"):
                yield name, line


def unlisted(root: Path, names: list[str], listed: list[dict[str, str]]) -> Iterator[str]:
    known = {(each["file"], each["line"]) for each in listed}
    found = set(commands(root, names))
    for name, line in sorted(found - known):
        yield f"{name}: '{line}' downloads something, and tools/pins/downloads.json does not say what pins it"
    for name, line in sorted(known - found):
        yield f"tools/pins/downloads.json: '{line}' is not in {name} any more"
    for each in listed:
        hashes = each.get("hashes")
        if hashes and not re.search(r"\b[0-9a-f]{64}\b|sha512-|h1:", "".join(read(root, hashes))):
            yield f"tools/pins/downloads.json: {hashes} has no hash, which '{each['line']}' is said to be pinned by"


def read(root: Path, pattern: str) -> Iterator[str]:
    return (file.read_text() for file in sorted(root.glob(pattern)))


def faulty_locks(environments: dict[Path, list[Path]]) -> Iterator[str]:
    """Locks that are not there, that miss a pin of their requirements, or have a package without a hash."""
    for lock, requirements in environments.items():
        if not lock.exists():
            yield f"{lock}: not there; python3 tools/pins/lock_python.py writes it"
            continue
        pins = {}
        for entry in re.split(r"\n(?=[A-Za-z0-9])", lock.read_text()):
            match = re.match(r"([A-Za-z0-9._-]+)==([^ ;\\]+)", entry)
            if match:
                pins.setdefault(normal(match[1]), set()).add(match[2])
                if not HASHED.search(entry):
                    yield f"{lock}: {match[1]} has no hash"
        for file in requirements:
            for line in lock_python.lines(file, "-r"):
                name, _, version = re.sub(r"\[.*?\]", "", line).partition("==")
                if normal(name) not in pins or (version and version not in pins[normal(name)]):
                    yield f"{lock}: is not of {file.name}, which has {line}; run python3 tools/pins/lock_python.py"


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def faulty_others(root: Path, names: list[str]) -> Iterator[str]:
    """npm's and Go's: exact versions, and a file with the hashes beside them."""
    for name in names:
        file = root / name
        if file.name == "package.json":
            packages = json.loads(file.read_text())
            for package, version in (packages.get("dependencies", {}) | packages.get("devDependencies", {})).items():
                if not EXACT.match(version):
                    yield f"{name}: {package} is no exact version but {version}"
            lock = file.with_name("package-lock.json")
            held = json.loads(lock.read_text())["packages"] if lock.exists() else {}
            if not held:
                yield f"{name}: has no package-lock.json"
            for path, package in held.items():
                if path and "integrity" not in package:
                    yield f"{lock.relative_to(root)}: {path} has no hash"
        elif file.name == "go.mod" and not file.with_name("go.sum").exists():
            yield f"{name}: has no go.sum"


def main() -> None:
    root = Path(sys.argv[1].removeprefix("--root=")) if len(sys.argv) > 1 else lock_python.ROOT
    names = files(root)
    listed = json.loads((root / "tools" / "pins" / "downloads.json").read_text())
    faults = [*unlisted(root, names, listed), *faulty_locks(lock_python.environments()), *faulty_others(root, names)]
    print("\n".join(faults) if faults else f"{len(listed)} places that download, each with what pins it")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
