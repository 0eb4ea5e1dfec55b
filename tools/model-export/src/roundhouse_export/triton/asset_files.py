"""Files that lie in a model's folder and go into the bundle as they are."""

from pathlib import Path

from roundhouse_export import weights as weights_file
from roundhouse_export.bundle import MANIFEST
from roundhouse_export.refusal import RefusedError
from roundhouse_export.triton.config_file import ConfigFile


def label_file(config: ConfigFile, name: str, field: str) -> tuple[str, bytes]:
    """The asset's name and bytes."""
    return _read(config, config.path.parent, "the model's folder", name, field)


def state_file(config: ConfigFile, name: str, field: str) -> tuple[str, bytes]:
    """As ``label_file``, of what the state of sequences begins with."""
    within = config.path.parent / "initial_state"
    return _read(config, within, "the model's folder initial_state", name, field)


def _read(config: ConfigFile, within: Path, what: str, name: str, field: str) -> tuple[str, bytes]:
    folder = within.resolve()
    file = (folder / name).resolve()
    if not file.is_relative_to(folder):
        raise RefusedError(f"{config.at(field)}: file '{name}' lies outside {what}")
    if not file.is_file():
        raise RefusedError(f"{config.at(field)}: there is no file {file}")
    if file.name in (MANIFEST, weights_file.FILE_NAME) or file.suffix == ".mlir":
        raise RefusedError(f"{config.at(field)}: a bundle has a file '{file.name}' of its own")
    return file.name, file.read_bytes()
