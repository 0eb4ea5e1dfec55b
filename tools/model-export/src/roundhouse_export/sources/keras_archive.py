"""Keras archives, looked into before Keras loads them: what code would they run?"""

import json
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from roundhouse_export.refusal import RefusedError

_CONFIG = "config.json"
_LARGEST_CONFIG = 256 << 20
_CODE_CLASSES = ("Lambda", "__lambda__", "TFSMLayer", "TorchModuleWrapper", "JaxLayer")


def require_plain(source: str) -> None:
    """Raises RefusedError when an archive holds code of its author, with the names of the layers.

    Keras refuses some of them too in its safe mode, but names none.
    """
    layers = sorted({f"'{name}' ({kind})" for kind, name in _layers(_config(source))})
    if layers:
        raise RefusedError(
            f"{source}: {'layers' if len(layers) > 1 else 'layer'} {', '.join(layers)} would run "
            "code from the file; give --trust if you know who made it, or write it as layers"
        )


def _config(source: str) -> Any:
    try:
        if source.endswith(".h5"):
            return _h5_config(source)
        with zipfile.ZipFile(source) as archive:
            _require_inside(source, archive)
            size = archive.getinfo(_CONFIG).file_size
            if size > _LARGEST_CONFIG:
                raise ValueError(f"{_CONFIG} has {size} bytes, the limit is {_LARGEST_CONFIG}")
            return json.loads(archive.read(_CONFIG))
    except (zipfile.BadZipFile, KeyError, ValueError, OSError) as broken:
        raise RefusedError(
            f"{source} is no archive of a Keras model ({broken}); save it with model.save(...)"
        ) from broken


def _require_inside(source: str, archive: zipfile.ZipFile) -> None:
    """Raises RefusedError for an entry that would be written elsewhere, or is a link."""
    for entry in archive.infolist():
        parts = entry.filename.replace("\\", "/").split("/")
        is_link = stat.S_ISLNK(entry.external_attr >> 16)
        if is_link or ".." in parts or parts[0] == "" or ":" in parts[0]:
            raise RefusedError(
                f"{source}: its entry '{entry.filename[:100]}' "
                f"{'is a link' if is_link else 'leads out of the archive'}, as nothing does that "
                "model.save(...) writes; save the model again"
            )


def _h5_config(source: str) -> Any:
    import h5py

    with h5py.File(Path(source), "r") as file:
        if "model_config" not in file.attrs:
            raise RefusedError(
                f"{source} has weights but no model; save the model itself, with "
                "model.save('model.keras'), or export it as package.module:attribute"
            )
        return json.loads(file.attrs["model_config"])


def _layers(config: Any) -> Iterator[tuple[str, str]]:
    """Yields the class and the name of everything in a configuration that holds code."""
    if isinstance(config, list):
        for each in config:
            yield from _layers(each)
    elif isinstance(config, dict):
        kind = config.get("class_name")
        inner = config.get("config")
        if kind in _CODE_CLASSES:
            yield kind, inner.get("name", "?") if isinstance(inner, dict) else "?"
        else:
            yield from _layers(list(config.values()))
