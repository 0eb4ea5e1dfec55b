"""What a source is, told from its name and its first bytes, without any framework."""

import ast
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

_ESTIMATORS = (".joblib", ".skops", ".pkl", ".pickle")
_KERAS = (".keras", ".h5")
_TRITONS_FILES = (
    "model.onnx",
    "model.pt",
    "model.plan",
    "model.savedmodel",
    "model.graphdef",
    "model.xml",
)
_BACKEND = re.compile(r"""\b(?:backend|platform|runtime)\s*:\s*["']([^"']*)["']""")
_LIBTORCH = {"pytorch", "pytorch_libtorch"}
_NO_TORCHSCRIPT = {"torch_aoti", "model.py"}
_EXTRAS = {
    "torch": "torch",
    "torchvision": "torch",
    "timm": "torch",
    "transformers": "torch",
    "keras": "keras",
    "sklearn": "sklearn",
    "xgboost": "sklearn",
    "lightgbm": "sklearn",
}
"""Of packages that a Python object may come from; of others it is ``jax``."""
_OBJECT = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


def is_onnx(source: str) -> bool:
    return source.endswith(".onnx") and Path(source).is_file()


def is_triton(source: str) -> bool:
    """A repository, a model of one, or the ``config.pbtxt`` of a model."""
    path = Path(source)
    if path.is_file():
        return path.name == "config.pbtxt"
    return path.is_dir() and (
        is_triton_model(path) or any(is_triton_model(each) for each in path.iterdir())
    )


def is_triton_model(folder: Path) -> bool:
    """Triton serves some models without a configuration; one beside a manifest is only kept."""
    try:
        return (
            folder.is_dir()
            and not (folder / "manifest.yaml").exists()
            and ((folder / "config.pbtxt").is_file() or _has_model_file(folder))
        )
    except PermissionError:  # such as lost+found, where a file system begins
        return False


def foreign_models(folder: Path) -> list[Path]:
    """What a folder of models holds beside bundles: ``.onnx`` files, and models of Triton's."""
    found = [
        each
        for each in folder.iterdir()
        if not each.name.startswith(".") and (is_onnx(str(each)) or is_triton_model(each))
    ]
    return sorted(found)


def is_repository(source: str) -> bool:
    """A folder with models of Triton's or ``.onnx`` files in it."""
    path = Path(source)
    return path.is_dir() and bool(foreign_models(path))


def has_torchscript(source: str) -> bool:
    """Whether a model of Triton's, or one in a repository, is run by its libtorch backend."""
    path = Path(source)
    folder = path.parent if path.is_file() else path
    models = [folder] if is_triton_model(folder) else foreign_models(folder)
    return any(_is_torchscript_model(each) for each in models)


def _is_torchscript_model(folder: Path) -> bool:
    """Told from the configuration's text, as there may be nothing yet that reads protobuf."""
    config = folder / "config.pbtxt"
    if not config.is_file():
        return False  # TorchScript alone does not say what its inputs are
    text = re.sub(r"#.*", "", config.read_text(errors="replace"))
    named = set(_BACKEND.findall(text))
    if named:
        return bool(named & _LIBTORCH) and not named & _NO_TORCHSCRIPT
    return not any(folder.glob("*/model.onnx")) and any(folder.glob("*/model.pt"))


def _has_model_file(folder: Path) -> bool:
    return any(
        each.name in _TRITONS_FILES and each.parent.name.isdigit()
        for each in folder.glob("*/model.*")
    )


def is_format_2(source: str) -> bool:
    manifest = Path(source) / "manifest.yaml"
    if not manifest.is_file():
        return False
    found = re.search(r"^format_version:\s*[\"']?([\d.]+)", manifest.read_text(), re.MULTILINE)
    return bool(found) and found[1].startswith("2") if found else False


def is_torch_export(source: str) -> bool:
    return source.endswith(".pt2") and Path(source).is_file()


def is_torchscript(source: str) -> bool:
    return source.endswith((".pt", ".pth", ".ts")) and zipfile.is_zipfile(source)


def is_keras(source: str) -> bool:
    return source.endswith(_KERAS) and Path(source).is_file()


def is_estimator(source: str) -> bool:
    """Pickles and skops by their names, models of XGBoost and LightGBM by how they begin."""
    path = Path(source)
    if not path.is_file():
        return False
    if source.endswith(_ESTIMATORS):
        return True
    if path.suffix not in (".json", ".ubj", ".txt"):
        return False
    with path.open("rb") as file:
        start = file.read(4096)
    match path.suffix:
        case ".json":
            return b'"learner"' in start
        case ".ubj":
            return start.startswith(b"{") and b"learner" in start
    return start.split(b"\n", 1)[0].strip() == b"tree"


def is_python_object(source: str) -> bool:
    return bool(_OBJECT.fullmatch(source))


def extra_of_object(source: str) -> str:
    """Told from the package's name or from what its file in this folder imports, unexecuted."""
    module = source.partition(":")[0]
    packages = [module.partition(".")[0]]
    path = Path(*module.split("."))
    for file in (path.with_suffix(".py"), path / "__init__.py"):
        if file.is_file():
            packages += _imported(file.read_text(errors="replace"))
    return next((_EXTRAS[each] for each in packages if each in _EXTRAS), "jax")


def _imported(code: str) -> Iterator[str]:
    try:
        nodes = list(ast.walk(ast.parse(code)))
    except (SyntaxError, ValueError):
        return
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (each.name.partition(".")[0] for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
