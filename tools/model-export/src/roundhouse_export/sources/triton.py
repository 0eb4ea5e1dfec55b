"""One model of a Triton repository, in its newest version."""

from pathlib import Path

from roundhouse_export.model import ImportOptions, Model
from roundhouse_export.refusal import RefusedError
from roundhouse_export.sources import recognition
from roundhouse_export.triton import ensemble, versions
from roundhouse_export.triton.config_file import CONFIG
from roundhouse_export.triton.folder import open_folder
from roundhouse_export.triton.model_config import load_version


def load(source: str, options: ImportOptions) -> Model:
    """``source`` is a model's folder, its ``config.pbtxt``, or a repository of one model."""
    folder = open_folder(_model_folder(Path(source).absolute()))
    if folder.config is not None and folder.is_ensemble:
        raise ensemble.refusal(folder.config)
    return load_version(folder, versions.chosen(folder)[-1], options)


def _model_folder(path: Path) -> Path:
    if path.name == CONFIG:
        return path.parent
    if recognition.is_triton_model(path):
        return path
    models = sorted(each for each in path.iterdir() if recognition.is_triton_model(each))
    if len(models) == 1:
        return models[0]
    names = ", ".join(each.name for each in models)
    raise RefusedError(
        f"{path} is a repository of {len(models)} models ({names}); convert all of them with "
        f"'roundhouse-export repository', or name one: {path / '...'}"
    )
