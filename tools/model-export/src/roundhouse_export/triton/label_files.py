"""Files of labels, which lie in a model's folder."""

from roundhouse_export import weights as weights_file
from roundhouse_export.bundle import MANIFEST
from roundhouse_export.refusal import RefusedError
from roundhouse_export.triton.config_file import ConfigFile


def label_file(config: ConfigFile, name: str, field: str) -> tuple[str, bytes]:
    """The asset's name and bytes."""
    folder = config.path.parent.resolve()
    file = (folder / name).resolve()
    if not file.is_relative_to(folder):
        raise RefusedError(f"{config.at(field)}: file '{name}' lies outside the model's folder")
    if not file.is_file():
        raise RefusedError(f"{config.at(field)}: there is no file {file}")
    if file.name in (MANIFEST, weights_file.FILE_NAME) or file.suffix == ".mlir":
        raise RefusedError(f"{config.at(field)}: a bundle has a file '{file.name}' of its own")
    return file.name, file.read_bytes()
