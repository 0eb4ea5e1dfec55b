"""A model on its way from where it comes from to a bundle; every source makes one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np

from roundhouse_export.contract import Contract, TensorSpec

Tensors = Mapping[str, np.ndarray]
Reference = Callable[[Tensors], dict[str, np.ndarray]]
"""What the framework itself makes of inputs by name, which may have any number of rows."""


class Wide(Enum):
    """What becomes of weights and inputs of 64 bits, which few devices compute well."""

    REFUSE = "they are refused by name"
    CAST = "f64 becomes f32 and i64 becomes i32 where its values fit"
    KEEP = "they stay as they are"


@dataclass(frozen=True)
class ImportOptions:
    """What a person says of a source beside its place.

    ``axes`` has sizes for axes of varying length, by the source's name for them or by the letter
    that ``inputs`` gives them. ``inputs`` replaces what the source says of an input, or says it
    where the source does not. ``pad`` and ``trim`` are the contract's. ``trust`` allows files that
    can run code when they are loaded.
    """

    name: str | None = None
    batch_sizes: tuple[int, ...] = (1, 8)
    axes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    inputs: Mapping[str, TensorSpec] = field(default_factory=dict)
    pad: Mapping[str, int | float] = field(default_factory=dict)
    trim: tuple[str, ...] = ()
    wide: Wide = Wide.REFUSE
    trust: bool = False


@dataclass(frozen=True)
class BareBundle:
    """A bundle without programs, as it is written; ``files`` by name."""

    files: Mapping[str, bytes]


@dataclass(frozen=True)
class Model:
    """A function of JAX with its weights, and what its bundle says of it.

    ``forward`` takes inputs and weights by name and returns outputs by name; it is traced once
    for every program of ``contract``. ``weights`` are in the order in which ``@main`` takes them,
    named as the source names them. ``reference`` is None where the framework is not there to be
    asked. ``serving`` is the manifest's section of that name. ``notes`` are told to the person.
    """

    name: str
    contract: Contract
    forward: Callable[[Mapping[str, Any], Mapping[str, Any]], Mapping[str, Any]]
    weights: Tensors
    framework: str
    description: str = ""
    reference: Reference | None = None
    assets: Mapping[str, bytes] = field(default_factory=dict)
    serving: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
