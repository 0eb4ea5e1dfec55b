"""Where models come from: each module here makes a ``Model`` of one kind of source.

Nothing of a framework is imported before its kind has been recognised, so that whoever has one
framework needs no other. This package imports the standard library alone.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from roundhouse_export.refusal import RefusedError
from roundhouse_export.sources import missing, recognition

if TYPE_CHECKING:
    from roundhouse_export.model import ImportOptions, Model


@dataclass(frozen=True)
class Source:
    """``extra`` is what ``pip install roundhouse-export[EXTRA]`` has for it, ``module`` here has
    ``load(source, options)``. ``runs_code``: loading it may run whatever its author put in."""

    kind: str
    extra: str
    module: str
    recognises: Callable[[str], bool]
    runs_code: bool = False


SOURCES = (
    Source("a Triton repository or model", "triton", "triton", recognition.is_triton, True),
    Source("an ONNX file", "onnx", "onnx", recognition.is_onnx),
    Source("a bundle of format 2.0", "jax", "format_2", recognition.is_format_2),
    Source("a torch.export program", "torch", "torch", recognition.is_torch_export, True),
    Source("a TorchScript file", "torch", "torch", recognition.is_torchscript, True),
    Source("a Keras archive", "keras", "keras", recognition.is_keras, True),
    Source("an estimator", "sklearn", "sklearn", recognition.is_estimator, True),
    Source("a Python object", "jax", "python_object", recognition.is_python_object, True),
)


def recognise(source: str) -> Source:
    """Returns the kind of a source; RefusedError lists the kinds when it is none of them."""
    for each in SOURCES:
        if each.recognises(source):
            return each
    kinds = "; ".join(each.kind for each in SOURCES)
    raise RefusedError(f"'{source}' is none of: {kinds}")


def extra_of(source: str, trust: bool = False) -> str:
    """Returns the extra that reads a source; of a Python object, that of what its file imports.

    Of a repository it is one that reads all its models. TorchScript counts where it is trusted, as
    it is refused elsewhere, and PyTorch is large.
    """
    if recognition.is_triton(source) or recognition.is_repository(source):
        return "torch" if trust and recognition.has_torchscript(source) else "triton"
    found = recognise(source)
    return recognition.extra_of_object(source) if found.module == "python_object" else found.extra


def load(source: str, options: "ImportOptions") -> "Model":
    """Returns the model that a source is, or raises RefusedError."""
    kind = recognise(source)
    try:
        module = importlib.import_module(f"{__name__}.{kind.module}")
        model: Model = module.load(source, options)
    except ModuleNotFoundError as error:
        raise missing.refusal(f"{source} is {kind.kind}", kind.extra, error) from error
    return model
