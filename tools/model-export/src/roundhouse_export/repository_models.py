"""The models of a repository that are to become bundles, and how each becomes one."""

import dataclasses
import importlib
import mmap
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from roundhouse_export.model import ImportOptions
from roundhouse_export.refusal import RefusedError
from roundhouse_export.sources import recognition

if TYPE_CHECKING:
    from roundhouse_export.model import BareBundle, Model
    from roundhouse_export.triton.signature import Signature

Loader = Callable[[ImportOptions], "Model | BareBundle"]


@dataclass(frozen=True)
class FoundModel:
    """``path`` is an ``.onnx`` file, or a model's folder in a repository of Triton's."""

    name: str
    path: Path

    @property
    def kind(self) -> str:
        return "onnx" if self.path.is_file() else "triton"

    @property
    def described(self) -> str:
        return "an ONNX file" if self.kind == "onnx" else "a model of Triton's"

    @property
    def needs_trust(self) -> bool:
        """Whether its file is code, which ``ImportOptions.trust`` is about."""
        return self.kind == "triton" and recognition.has_torchscript(str(self.path))

    def files(self) -> dict[str, Path]:
        """Every file that the model depends on, by a name that stays when all of it is moved."""
        if self.kind == "triton":
            return {str(each.relative_to(self.path)): each for each in _files_below(self.path)}
        return {self.path.name: self.path, **_files_named_in(self.path)}


def find(repository: Path) -> list[FoundModel]:
    """Sorted by name. Bundles of our own are none; hidden entries are passed over."""
    found = [
        FoundModel(each.stem if each.is_file() else each.name, each)
        for each in recognition.foreign_models(repository)
    ]
    return sorted(found, key=lambda model: (model.name, model.kind))


def versions(found: FoundModel) -> dict[int | None, Loader]:
    """What makes the model of each version; RefusedError when none can be told.

    A version that is refused raises RefusedError when its loader is called.
    """
    if found.kind == "onnx":
        return {1: lambda options: _plain_onnx(found, options)}
    from roundhouse_export.triton import ensemble
    from roundhouse_export.triton import versions as triton_versions
    from roundhouse_export.triton.folder import open_folder

    folder = open_folder(found.path)
    config = folder.config
    if config is not None and folder.is_ensemble:
        return {
            version: lambda options: ensemble.bundle_of(config)
            for version in triton_versions.chosen(folder)
        }
    from roundhouse_export.triton import model_config  # which needs onnx

    folder.require_backend()

    def load(version: int) -> Loader:
        def loader(options: ImportOptions) -> "Model":
            own = options_of(found.name, options, model_config.signature_of(folder, version))
            return model_config.load_version(folder, version, own)

        return loader

    return {version: load(version) for version in triton_versions.chosen(folder)}


def options_of(name: str, options: ImportOptions, signature: "Signature") -> ImportOptions:
    """What of the options for a whole repository concerns one model.

    ``MODEL/AXIS``, ``MODEL/INPUT`` and ``MODEL/OUTPUT`` are of that model. Without a model's name
    they are of every model that has such an axis or input; what is padded and cut back so, of
    those that have an axis which is given sizes.
    """
    own = f"{name}/"
    inputs = {}
    known_inputs = {each.name for each in signature.inputs}
    for key, spec in options.inputs.items():
        if key.startswith(own):
            bare = key.removeprefix(own)
            inputs[bare] = dataclasses.replace(spec, name=bare)
        elif key in known_inputs:
            inputs.setdefault(key, spec)
    known_axes = signature.axis_keys | {
        axis for spec in inputs.values() for axis in spec.variable_letters
    }
    axes = {key: sizes for key, sizes in options.axes.items() if key in known_axes}
    axes |= {
        key.removeprefix(own): sizes for key, sizes in options.axes.items() if key.startswith(own)
    }
    known_outputs = {each.name for each in signature.outputs}
    shared_pad = {key: v for key, v in options.pad.items() if axes and key in known_inputs}
    own_pad = {k.removeprefix(own): v for k, v in options.pad.items() if k.startswith(own)}
    shared_trim = [each for each in options.trim if axes and each in known_outputs]
    own_trim = [each.removeprefix(own) for each in options.trim if each.startswith(own)]
    return dataclasses.replace(
        options,
        name=name,
        axes=axes,
        inputs=inputs,
        pad=shared_pad | own_pad,
        trim=tuple(dict.fromkeys(shared_trim + own_trim)),
    )


def _plain_onnx(found: FoundModel, options: ImportOptions) -> "Model":
    from roundhouse_export.triton import onnx_signature

    module = importlib.import_module("roundhouse_export.sources.onnx")
    own = options_of(found.name, options, onnx_signature.read(found.path))
    model: Model = module.load(str(found.path), own)
    return model


def _files_below(folder: Path) -> list[Path]:
    """Files of a folder, those behind links included: versions are often links."""
    found: list[Path] = []
    seen: set[str] = set()
    for place, folders, names in os.walk(folder, followlinks=True):
        real = os.path.realpath(place)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        paths = (Path(place, name) for name in names if not name.startswith("."))
        found += [path for path in paths if path.is_file()]
    return found


def _files_named_in(file: Path) -> dict[str, Path]:
    """Files beside an ONNX file, or one folder deeper, that it names: its weights may be there."""
    folder = file.parent
    beside = [
        each
        for pattern in ("*", "*/*")
        for each in folder.glob(pattern)
        if each.is_file() and each.suffix != ".onnx"
    ]
    if not beside:
        return {}
    with file.open("rb") as opened:
        if os.fstat(opened.fileno()).st_size == 0:
            raise RefusedError(f"{file}: is empty")
        with mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as data:
            names = {each.relative_to(folder).as_posix(): each for each in beside}
            return {name: each for name, each in names.items() if data.find(name.encode()) >= 0}
