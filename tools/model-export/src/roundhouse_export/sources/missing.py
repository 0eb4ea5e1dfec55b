"""A module that is not there: one of a source's extra is to be installed, any other is named.

Imports the standard library alone, as anything else may be what is missing.
"""

import traceback
from pathlib import Path

from roundhouse_export.refusal import RefusedError

_EVERYWHERE = frozenset({"jax", "jaxlib", "ml_dtypes", "numpy", "safetensors", "yaml"})
EXTRA_MODULES = {
    "jax": frozenset({"equinox", "flax"}),
    "keras": frozenset({"h5py", "keras"}),
    "onnx": frozenset({"onnx", "onnxruntime"}),
    "sklearn": frozenset({"joblib", "scipy", "skops", "sklearn"}),
    "torch": frozenset({"torch"}),
    "triton": frozenset({"google", "onnx", "onnxruntime"}),
}
"""What ``import`` calls the packages that an extra installs."""

EXTRAS_OF_READERS = {
    "equinox": "jax",
    "flax": "jax",
    "jax_function": "jax",
    "keras": "keras",
    "sklearn": "sklearn",
    "torch": "torch",
}
"""The extra of each module here that reads Python objects."""


def refusal(what: str, extra: str, missing: ModuleNotFoundError) -> RefusedError:
    """``what`` says what the source is: "net.onnx is an ONNX file"."""
    root = (missing.name or "").partition(".")[0]
    if root in _EVERYWHERE | EXTRA_MODULES.get(extra, frozenset()):
        return RefusedError(
            f"{what}, which needs the package '{root}': pip install 'roundhouse-export[{extra}]'"
        )
    name = f"module '{missing.name}'" if missing.name else str(missing)
    return RefusedError(f"{what}, and {name}, which {_importer(missing)} imports, is not there")


def _importer(missing: ModuleNotFoundError) -> str:
    """File and line of the import; the import system's own frames are passed over."""
    frames = traceback.extract_tb(missing.__traceback__)
    for frame in reversed(frames):
        if not frame.filename.startswith("<") and Path(frame.filename).parent.name != "importlib":
            return f"{frame.filename}, line {frame.lineno},"
    return "its code"
