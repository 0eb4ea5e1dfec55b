"""Stock clients that are no Python packages: fetched once, by a pinned version, and kept in the cache.

A test that needs one which cannot be had is skipped, and says why.
"""

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

FETCH_SECONDS = 600
REASON = 300  # characters of what a program said that failed
PROMETHEUS = Path("prometheus", "usr", "bin", "prometheus")  # in the cache, also for up --observe
PERF_ANALYZER = "2.51.0"  # the last tritonclient whose wheel has the program


def go_tool(source: str) -> Path:
    """The program that ``go install SOURCE`` makes; ``SOURCE`` ends in ``/NAME@VERSION``."""
    name, version = source.rsplit("/", 1)[1].split("@")

    def fetch(folder: Path) -> None:
        _run("env", f"GOBIN={folder}", need("go"), "install", source)

    return _kept(f"go-{name}-{version}", fetch, name) / name


def go_module(folder: Path, name: str, package: str = ".") -> Path:
    """The program ``name`` of the module in ``folder`` or of one that it requires, by its own ``go.sum``."""
    sources = [path for path in sorted(folder.iterdir()) if path.suffix in {".go", ".mod", ".sum"}]
    key = hashlib.sha256(b"\0".join(path.read_bytes() for path in sources)).hexdigest()[:12]

    def fetch(into: Path) -> None:
        _run(
            "env", "-C", str(folder), "CGO_ENABLED=0", need("go"), "build", "-trimpath", "-o", str(into / name), package
        )

    return _kept(f"go-{name}-{key}", fetch, name) / name


def node_packages(folder: Path) -> Path:
    """The ``node_modules`` that the lock file in ``folder`` asks for."""
    lock = folder / "package-lock.json"
    key = hashlib.sha256(lock.read_bytes()).hexdigest()[:12]

    def fetch(into: Path) -> None:
        for file in (folder / "package.json", lock):
            shutil.copy(file, into)
        quiet = ("--no-audit", "--no-fund", "--loglevel=error")
        _run(need("npm"), "ci", "--ignore-scripts", *quiet, f"--prefix={into}")

    return _kept(f"node-{key}", fetch, "node_modules") / "node_modules"


@dataclass(frozen=True)
class LinkedProgram:
    program: Path
    libraries: list[Path]

    def environment(self) -> dict[str, str]:
        return os.environ | {"LD_LIBRARY_PATH": ":".join(map(str, self.libraries))}


def perf_analyzer() -> LinkedProgram:
    """Triton's load generator, with the libraries that it wants and few machines have."""
    fetch = Path(__file__).parents[1] / "tools" / "peers" / "fetch"
    folder = Path(_run(str(fetch), "perf-analyzer").splitlines()[-1])
    program = folder / f"tritonclient-{PERF_ANALYZER}.data" / "data" / "bin" / "perf_analyzer"
    libraries = [folder / "nvidia" / "cuda_runtime" / "lib", folder / "usr" / "lib" / "x86_64-linux-gnu"]
    return LinkedProgram(program, libraries)


def has_prometheus() -> bool:
    return bool(shutil.which("prometheus")) or (cache() / PROMETHEUS).exists()


def prometheus() -> Path:
    """Beside promtool. The machine's, or Debian's or Ubuntu's out of its package, which is not installed."""
    if found := shutil.which("prometheus"):
        return Path(found)
    need("dpkg-deb")

    def fetch(folder: Path) -> None:
        with tempfile.TemporaryDirectory() as packages:
            _run("env", "-C", packages, need("apt-get"), "-o", "APT::Sandbox::User=root", "download", "prometheus")
            (package,) = Path(packages).glob("*.deb")
            _run("dpkg-deb", "--extract", str(package), str(folder))

    return _kept(PROMETHEUS.parts[0], fetch, "usr/bin/prometheus").parent / PROMETHEUS


def need(program: str) -> str:
    """Where a program is, or a skip that names it."""
    if found := shutil.which(program):
        return found
    pytest.skip(f"there is no '{program}' on this machine")


def _kept(key: str, fetch: Callable[[Path], None], entry: str) -> Path:
    """The folder ``key`` of the cache. It is filled under another name, so that nobody finds half of one."""
    folder = cache() / key
    if not (folder / entry).exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f"{key}.", dir=folder.parent) as scratch:
            made = Path(scratch) / "made"
            made.mkdir()
            fetch(made)
            if not (folder / entry).exists():  # another run may have been faster
                shutil.rmtree(folder, ignore_errors=True)
                made.rename(folder)
    return folder


def _run(*command: str) -> str:
    """What a program says on stdout; a skip when it fails."""
    said = " ".join(command)
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=FETCH_SECONDS)
    except subprocess.TimeoutExpired:
        pytest.skip(f"'{said}' was not done after {FETCH_SECONDS} s")
    if done.returncode != 0:
        why = " ".join((done.stdout + done.stderr).split())
        pytest.skip(f"'{said}' ended with {done.returncode}: {why[:REASON]}")
    return done.stdout


def cache() -> Path:
    if named := os.environ.get("ROUNDHOUSE_CACHE"):
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "roundhouse"
