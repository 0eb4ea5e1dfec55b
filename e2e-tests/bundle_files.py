"""Bundles that a test makes up: a manifest, modules as text and other files, no weights unless it has some."""

import hashlib
import struct
from collections.abc import Mapping
from pathlib import Path

EMPTY_WEIGHTS = struct.pack("<Q", 8) + b"{}      "


def write(folder: Path, manifest: str, modules: Mapping[str, str | bytes], weights: bytes = EMPTY_WEIGHTS) -> Path:
    """Writes the files and appends their digests to the manifest, which ends in ``files:``."""
    folder.mkdir(parents=True)
    contents = {name: data.encode() if isinstance(data, str) else data for name, data in modules.items()}
    contents["weights.safetensors"] = weights
    for name, content in contents.items():
        (folder / name).write_bytes(content)
        manifest += f"  {name}: {hashlib.sha256(content).hexdigest()}\n"
    (folder / "manifest.yaml").write_text(manifest)
    return folder
