"""Rewrites jars without compression, in place: together they then compress to less than half.

usage: store_jars.py JAR...
"""

import sys
import zipfile
from pathlib import Path


def store(jar: Path) -> None:
    part = jar.with_suffix(".part")
    with (
        zipfile.ZipFile(jar) as packed,
        zipfile.ZipFile(part, "w", zipfile.ZIP_STORED) as plain,
    ):
        for entry in packed.infolist():  # in their order: the manifest comes first
            data = packed.read(entry)
            entry.compress_type = zipfile.ZIP_STORED
            plain.writestr(entry, data)
    part.replace(jar)


for name in sys.argv[1:]:
    store(Path(name))
