"""PyTorch, which is read through ONNX: says how to get there."""

from typing import Any, NoReturn

from roundhouse_export.model import ImportOptions
from roundhouse_export.refusal import RefusedError

_ADVICE = (
    "PyTorch is read through ONNX: torch.onnx.export(module.eval(), inputs, 'model.onnx', "
    "dynamic_axes={'x': {0: 'batch'}}), then import model.onnx"
)


def load(source: str, options: ImportOptions) -> NoReturn:
    raise RefusedError(f"{source}: {_ADVICE}")


def load_object(module: Any, options: ImportOptions) -> NoReturn:
    raise RefusedError(f"a torch module of class {type(module).__name__}: {_ADVICE}")
