"""Container images without an engine: a root file system of a few files, as ``docker save`` writes them."""

import hashlib
import io
import json
import re
import subprocess
import tarfile
from pathlib import Path


def write(archive: Path, name: str, files: dict[str, Path], entrypoint: list[str]) -> None:
    """An image with one layer: ``files`` by their path in it, all readable and executable by everybody."""
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as tar:
        folders = {str(folder) for inside in files for folder in Path(inside).parents}
        for folder in sorted(folders - {"/"}):
            _add(tar, folder, None)
        for inside, file in sorted(files.items()):
            _add(tar, inside, file.read_bytes())
    content = layer.getvalue()
    settings = {
        "architecture": "amd64",
        "os": "linux",
        "config": {"Entrypoint": entrypoint, "User": "65532:0", "Env": ["PATH=/usr/bin:/bin"]},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(content).hexdigest()}"]},
    }
    manifest = [{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]
    with tarfile.open(archive, "w") as tar:
        _add(tar, "layer.tar", content)
        _add(tar, "config.json", json.dumps(settings).encode())
        _add(tar, "manifest.json", json.dumps(manifest).encode())


def with_libraries(program: Path) -> dict[str, Path]:
    """A program of this machine and what it loads, where it looks for them."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True, timeout=30).stdout
    needed = re.findall(r"(?:=> |^\s*)(/\S+)", listed, re.MULTILINE)
    return {str(program): program} | {library: Path(library) for library in needed}


def _add(tar: tarfile.TarFile, path: str, content: bytes | None) -> None:
    entry = tarfile.TarInfo(path.lstrip("/"))
    entry.mode = 0o755
    if content is None:
        entry.type = tarfile.DIRTYPE
        tar.addfile(entry)
    else:
        entry.size = len(content)
        tar.addfile(entry, io.BytesIO(content))
