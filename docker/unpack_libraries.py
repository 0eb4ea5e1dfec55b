"""Copies this machine's native libraries out of jars.

usage: unpack_libraries.py FOLDER JAR...
"""

import platform
import sys
import zipfile
from pathlib import Path

MACHINES = {"x86_64": "x86_64", "aarch64": "aarch64"}


def is_ours(entry: str) -> bool:
    """Netty's are called by the machine, ours lie in a folder that is."""
    machine = MACHINES[platform.machine()]
    folder, _, name = entry.rpartition("/")
    names = {machine, machine.replace("aarch64", "aarch_64")}
    return name.endswith(".so") and any(
        name.endswith(f"_{m}.so") or folder.endswith(f"-{m}") for m in names
    )


folder = Path(sys.argv[1])
folder.mkdir(parents=True)
for jar in map(Path, sys.argv[2:]):
    with zipfile.ZipFile(jar) as packed:
        for entry in filter(is_ours, packed.namelist()):
            (folder / entry.rpartition("/")[2]).write_bytes(packed.read(entry))
if not any(folder.iterdir()):
    sys.exit(f"no native library for {platform.machine()} in {', '.join(sys.argv[2:])}")
