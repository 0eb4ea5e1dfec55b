"""Operators of PyTorch as functions of JAX: torchax's, and ours where those fail."""

from collections.abc import Callable
from typing import Any

import torch
from torchax.ops import (
    jaten,  # noqa: F401  (registers them)
    ops_registry,
)

_OWN: dict[Any, Callable[..., Any]] = {}

WHOLE: tuple[Any, ...] = ()
"""Operators that are not taken apart, for they are known as a whole."""


def find(target: torch._ops.OpOverload) -> Callable[..., Any]:
    """NotImplementedError when nobody knows the operator."""
    for name in (target, target.overloadpacket):
        if name in _OWN:
            return _OWN[name]
        known = ops_registry.all_aten_ops.get(name)
        if known is not None and known.is_jax_function:
            if known.needs_env:
                raise NotImplementedError("it draws random numbers, which programs do not")
            function: Callable[..., Any] = known.func
            return function
    raise NotImplementedError("torchax has no such operator")
