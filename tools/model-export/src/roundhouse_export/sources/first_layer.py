"""What a module of PyTorch's layers takes, as the first layer with a weight for its input has it.

It is a suggestion to a person: layers come in the order in which the module made them, and what
they are is told by the names of their classes, so that nothing here needs PyTorch.
"""

from collections.abc import Iterable, Sequence
from typing import Any

_IMAGES = {"Conv1d": (1000,), "Conv2d": (224, 224), "Conv3d": (16, 112, 112)}
_TYPES = {"float64": "f64", "float16": "f16", "bfloat16": "bf16"}


def options_for(name: str, layers: Iterable[Any]) -> str | None:
    """Returns ``--input`` for the input, and what else it needs; None where no layer says it."""
    for layer in layers:
        kinds = [
            getattr(layer, "original_name", ""),
            *(each.__name__ for each in type(layer).mro()),
        ]
        try:
            found = _options(name, layer, kinds)
        except (AttributeError, RuntimeError):  # a layer that makes its weight at its first call
            return None
        if found:
            return found
    return None


def _options(name: str, layer: Any, kinds: Sequence[str]) -> str:
    if "Embedding" in kinds:
        return f"--input '{name}=i64[n,s]' --axis s=16,64 --wide cast"
    if "Linear" in kinds:
        return f"--input '{name}={_type(layer)}[n,{layer.weight.shape[1]}]'"
    for kind in (each for each in kinds if each in _IMAGES):
        channels = layer.weight.shape[1] * getattr(layer, "groups", 1)
        sizes = ",".join(map(str, _IMAGES[kind]))
        text = f"--input '{name}={_type(layer)}[n,{channels},{sizes}]'"
        return f"{text}, with sizes of your own for {sizes}"
    return ""


def _type(layer: Any) -> str:
    return _TYPES.get(str(layer.weight.dtype).rpartition(".")[2], "f32")
