"""A module as a function of tensors in order that returns tensors in order."""

import copy
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


class Kept:
    """Buffers of a module, some of which a call may write to."""

    def __init__(self, module: torch.nn.Module) -> None:
        self._module = module
        self._copies = {
            name: (tensor, tensor._version, tensor.detach().clone())
            for name, tensor in module.named_buffers()
        }

    def restore(self) -> None:
        for name, (tensor, version, before) in self._copies.items():
            if tensor._version != version:
                with torch.no_grad():
                    tensor.copy_(before)
                self._copies[name] = (tensor, tensor._version, before)
            if isinstance(self._module, torch.jit.ScriptModule):
                continue  # which has its tensors in C++, where they stay the same ones
            owner, _, own = name.rpartition(".")
            self._module.get_submodule(owner)._buffers[own] = tensor


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
        self.kept = Kept(module)

    def forward(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        ordered, by_name = self.bind(dict(zip(self.inputs, tensors, strict=True)))
        found = _named(self.source, self.module(*ordered, **by_name))
        self.outputs.names = tuple(found)
        return tuple(found.values())

    def apart(self) -> "Flat":
        """The same on a copy of the module with the same tensors, and the same ``outputs``.

        Modules keep tensors for later in attributes, where those of a trace would stay.
        """
        if isinstance(self.module, torch.jit.ScriptModule):
            return self
        shared = [*self.module.parameters(), *self.module.buffers()]
        try:
            module = copy.deepcopy(self.module, {id(each): each for each in shared})
        except Exception:  # what a person's module holds need not be copyable
            return self
        flat = Flat(self.source, module, self.bind, self.inputs)
        flat.outputs = self.outputs
        return flat

    def ask(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """A call that leaves the module as it was."""
        try:
            with torch.no_grad():
                return self.forward(*tensors)
        finally:
            self.kept.restore()


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
