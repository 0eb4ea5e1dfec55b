"""Copies this machine's native libraries out of jars.

usage: unpack_libraries.py FOLDER JAR...
"""

import platform
import sys
import zipfile
from pathlib import Path

MACHINES = {"x86_64": "x86_64", "aarch64": "aarch64"}


def is_ours(entry: str) -> bool:
    """Netty's are called by the machine; ours and JNA's lie in a folder that is."""
    machine = MACHINES[platform.machine()]
    folder, _, name = entry.rpartition("/")
    return name.endswith(".so") and (
        name.endswith(
            (f"_{machine}.so", f"_{machine.replace('aarch64', 'aarch_64')}.so")
        )
        or folder.rpartition("/")[2]
        in (f"linux-{machine}", f"linux-{machine.replace('_', '-')}")
    )


folder = Path(sys.argv[1])
folder.mkdir(parents=True)
for jar in map(Path, sys.argv[2:]):
    with zipfile.ZipFile(jar) as packed:
        for entry in filter(is_ours, packed.namelist()):
            (folder / entry.rpartition("/")[2]).write_bytes(packed.read(entry))
if not any(folder.iterdir()):
    sys.exit(f"no native library for {platform.machine()} in {', '.join(sys.argv[2:])}")
