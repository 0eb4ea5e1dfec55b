"""Every operator there is: importing this registers what the ``ops_`` and ``ml_`` modules have."""

import importlib
import pkgutil

from roundhouse_export import onnx_graph

_PREFIXES = ("ops_", "ml_")

for _module in pkgutil.iter_modules(onnx_graph.__path__):
    if _module.name.startswith(_PREFIXES):
        importlib.import_module(f"{onnx_graph.__name__}.{_module.name}")
