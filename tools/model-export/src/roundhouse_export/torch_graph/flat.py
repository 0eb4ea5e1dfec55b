"""A module as a function of tensors in order that returns tensors in order."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from roundhouse_export.refusal import RefusedError
from roundhouse_export.sources.calling import Binder
from roundhouse_export.sources.named_outputs import leaves
from roundhouse_export.torch_graph.tensors import numpy_dtype

PREFIX = "module."
"""Of the names that parameters have here."""


class Outputs:
    """Names of what the last call returned."""

    names: tuple[str, ...] = ()


class Flat(torch.nn.Module):
    """Takes the inputs in the order of ``inputs``; ``outputs`` has the results' names then."""

    def __init__(
        self, source: str, module: torch.nn.Module, bind: Binder, inputs: Sequence[str]
    ) -> None:
        super().__init__()
        self.module = module
        self.source = source
        self.bind = bind
        self.inputs = tuple(inputs)
        self.outputs = Outputs()
        self.training = False

    def forward(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        ordered, by_name = self.bind(dict(zip(self.inputs, tensors, strict=True)))
        found = _named(self.source, self.module(*ordered, **by_name))
        self.outputs.names = tuple(found)
        return tuple(found.values())


def _named(source: str, returned: Any) -> dict[str, torch.Tensor]:
    """As ``named_outputs.named`` does for arrays of JAX."""
    outputs: dict[str, torch.Tensor] = {}
    for name, value in leaves("", returned):
        if isinstance(value, bool | int | float):
            value = torch.tensor(value)
        if not isinstance(value, torch.Tensor):
            what = type(value).__name__ + (f" as '{name}'" if name else "")
            raise RefusedError(
                f"{source}: it returns a {what}; a model returns tensors, or tuples or dicts of "
                "them (of Hugging Face's decoders: use_cache=False in the configuration)"
            )
        name = name or "output"
        if name in outputs:
            raise RefusedError(f"{source}: it returns two outputs with the name '{name}'")
        try:
            numpy_dtype(value.dtype)
        except ValueError as refusal:
            raise RefusedError(f"{source}: output '{name}': {refusal}") from refusal
        outputs[name] = value
    if not outputs:
        raise RefusedError(f"{source}: it returns nothing; a model returns at least one tensor")
    return outputs


def held_tensors(module: torch.nn.Module) -> tuple[dict[str, torch.Tensor], Mapping[str, str]]:
    """Returns parameters and buffers by name, each once, and for every name the one that is kept.

    Layers that share a weight have several names for it.
    """
    held: dict[str, torch.Tensor] = {}
    kept: dict[str, str] = {}
    names: dict[int, str] = {}
    for each in (
        module.named_parameters(remove_duplicate=False),
        module.named_buffers(remove_duplicate=False),
    ):
        for name, tensor in each:
            first = names.setdefault(id(tensor), name)
            kept[name] = first
            held.setdefault(first, tensor)
    return held, kept
