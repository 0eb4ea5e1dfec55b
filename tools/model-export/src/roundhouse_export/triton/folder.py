"""What lies in a model's folder of a Triton repository."""

import re
from dataclasses import dataclass
from pathlib import Path

from roundhouse_export.refusal import RefusedError
from roundhouse_export.triton import config_file
from roundhouse_export.triton.config_file import ConfigFile

_VERSION = re.compile(r"[1-9][0-9]{0,17}")
ONNX = "onnxruntime"
PYTORCH = "pytorch"
_INDUCTOR = "torch_aoti"
_BACKENDS = {"onnxruntime_onnx": ONNX, "pytorch_libtorch": PYTORCH, "ensemble": "ensemble"}
_FILES = {ONNX: "model.onnx", PYTORCH: "model.pt"}
"""Of the backends whose models are read."""
_DEFAULT_FILES = {
    "model.onnx": ONNX,
    "model.pt": PYTORCH,
    "model.plan": "tensorrt",
    "model.savedmodel": "tensorflow",
    "model.graphdef": "tensorflow",
    "model.xml": "openvino",
    "model.py": "python",
    "model.dali": "dali",
}
"""Whose they are where no configuration says so; those of ONNX are what Triton completes."""


@dataclass(frozen=True)
class TritonFolder:
    """A model. ``config`` is None where there is no file: Triton then asks the model itself."""

    path: Path
    config: ConfigFile | None

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def place(self) -> str:
        """Where a person looks for what the model says of itself."""
        return str(self.path / config_file.CONFIG if self.config else self.path)

    @property
    def is_ensemble(self) -> bool:
        return self.config is not None and self.backend == "ensemble"

    @property
    def backend(self) -> str:
        """What runs it, by Triton's name for the backend; empty when nothing says so."""
        if self.config is not None:
            message = self.config.message
            if message.HasField("ensemble_scheduling"):
                return "ensemble"
            if message.backend or message.platform:
                platform = str(message.platform)
                return str(message.backend) or _BACKENDS.get(platform, platform)
        for version in self.versions():
            for file, backend in _DEFAULT_FILES.items():
                if (self.path / str(version) / file).exists():
                    return backend
        return ""

    def versions(self) -> list[int]:
        """Ascending; Triton takes no notice of other folders, nor of numbers that begin with 0."""
        found = [
            int(each.name)
            for each in self.path.iterdir()
            if each.is_dir() and _VERSION.fullmatch(each.name)
        ]
        return sorted(found)

    def require_backend(self) -> None:
        """RefusedError, with the place and the backend, for a model that something else runs."""
        backend = self.backend
        if backend == PYTORCH and self.config is not None:
            _require_script(self.config)
        if backend in _FILES:
            return
        if not backend:
            raise RefusedError(
                f"{self.place}: nothing says what runs it, and no version has a model.onnx; add "
                "backend: 'onnxruntime' or the file"
            )
        place = self.config.at("backend", "platform") if self.config else self.place
        raise RefusedError(
            f"{place}: backend '{backend}' has no counterpart here; only onnxruntime's and "
            "pytorch's models are read"
        )

    def model_file(self, version: int) -> Path:
        """The model's file in a version's folder; ONNX with weights beside it may be a folder."""
        usual = _FILES[self.backend]
        name = self.config.message.default_model_filename if self.config else ""
        file = self.path / str(version) / (name or usual)
        if file.is_dir() and self.backend == ONNX:
            file = file / usual
        if not file.is_file():
            place = self.config.at("default_model_filename") if self.config else self.place
            raise RefusedError(f"{place}: version {version} has no file {file}")
        return file


def _require_script(config: ConfigFile) -> None:
    """RefusedError for what Triton's backend pytorch runs beside TorchScript."""
    if config.message.platform == _INDUCTOR:
        raise RefusedError(
            f"{config.at('platform')}: platform '{_INDUCTOR}' is machine code that nothing reads "
            "back; import what it was compiled of, saved by torch.export.save(..., 'model.pt2')"
        )
    if config.message.runtime.endswith(".py"):
        raise RefusedError(
            f"{config.at('runtime')}: runtime '{config.message.runtime}' runs a class in Python; "
            "import that: ./roundhouse import package.module:function, which builds the module"
        )


def open_folder(path: Path) -> TritonFolder:
    """Reads the configuration, if there is one; RefusedError when it cannot be read."""
    config = path / config_file.CONFIG
    folder = TritonFolder(path, config_file.read(config) if config.is_file() else None)
    if folder.config is not None:
        named = folder.config.message.name
        if named and named != path.name:
            raise RefusedError(
                f"{folder.config.at('name')}: the model is named '{named}', and its folder "
                f"'{path.name}'; Triton refuses that, give them one name"
            )
    return folder
