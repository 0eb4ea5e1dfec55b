"""Jars of applications taken apart, each with an AOT cache from one run of it: a start takes half the CPU time.

An application that cannot use its cache starts without it. ``ROUNDHOUSE_E2E_TRAINED`` names a folder for test processes
that share them, and compiled programs; else each process has its own, which goes when it ends.
``ROUNDHOUSE_E2E_JVM`` has further options for what is started while it is set.
"""

import atexit
import fcntl
import functools
import os
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

FURTHER = "ROUNDHOUSE_E2E_JVM"


@dataclass(frozen=True)
class Trained:
    jar: Path
    options: tuple[str, ...]

    @property
    def jvm(self) -> tuple[str, ...]:
        return (*self.options, *os.environ.get(FURTHER, "").split())


def java() -> str:
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if not program:
        raise FileNotFoundError("no java; set JAVA_HOME to a JDK 25")
    return program


@functools.cache
def shared_folder() -> Path:
    """For files that all tests of a run may use; it goes when the run ends."""
    if shared := os.environ.get("ROUNDHOUSE_E2E_TRAINED"):
        return Path(shared)
    own = tempfile.TemporaryDirectory(prefix="roundhouse-e2e-", ignore_cleanup_errors=True)
    atexit.register(own.cleanup)
    return Path(own.name)


def trained(jar: Path, run: Callable[[Path, str, Path], str]) -> Trained:
    """``run`` starts the unpacked jar with an option for the JVM, uses it and ends it, with a folder for its files.

    It returns what to say when no cache was left.
    """
    home = shared_folder() / jar.stem
    with (shared_folder() / f"{jar.stem}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        cache = home / "aot"
        unpacked = home / "app" / jar.name
        if not home.exists():
            extract = [java(), "-Djarmode=tools", "-jar", str(jar), "extract", "--destination", str(home / "app")]
            subprocess.run(extract, check=True, stdout=subprocess.DEVNULL)
            log = run(unpacked, f"-XX:AOTCacheOutput={cache}", home)
            if not cache.exists():
                warnings.warn(
                    f"{jar.name} starts without an AOT cache, for its training run left none: {log}", stacklevel=2
                )
    return Trained(unpacked, (f"-XX:AOTCache={cache}",) if cache.exists() else ())
