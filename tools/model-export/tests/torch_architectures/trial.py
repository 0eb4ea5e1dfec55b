"""One architecture: converted, compared with PyTorch and timed beside it."""

import itertools
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from roundhouse_export.command.options import tensor
from roundhouse_export.model import ImportOptions, Model, Wide
from roundhouse_export.pipeline import export_model
from roundhouse_export.program_runner import platform_of
from roundhouse_export.refusal import RefusedError
from roundhouse_export.sources.torch import load_object
from roundhouse_export.sources.user_code import told
from roundhouse_export.stored import StoredBundle
from roundhouse_export.torch_graph.conversion import WAYS
from roundhouse_export.validation import compared, kinds_of_inputs, tolerance_of
from torch_architectures.catalogue import Architecture

_ROUNDS = 5
_KINDS = 2
"""Of inputs: random and uniform."""


@dataclass(frozen=True)
class Outcome:
    """``error`` is the largest difference over the largest value of that output. ``refusal`` says
    why there is none of the rest."""

    way: str = ""
    error: float = 0.0
    ours_ms: float = 0.0
    torch_ms: float = 0.0
    seconds: float = 0.0
    refusal: str = ""


def attempt(architecture: Architecture, plugin: Path | None) -> Outcome:
    torch.set_num_threads(1)
    platform_of(plugin)  # which JAX asks for when it starts
    began = time.monotonic()
    try:
        return _attempt(architecture, plugin, began)
    except RefusedError as refusal:
        return Outcome(refusal=str(refusal), seconds=time.monotonic() - began)
    except Exception as error:
        return Outcome(refusal=f"not refused in one line: {told(error)}")


def _attempt(architecture: Architecture, plugin: Path | None, began: float) -> Outcome:
    inputs = {name: tensor(f"{name}={text}") for name, text in architecture.inputs.items()}
    options = ImportOptions(name="model", batch_sizes=(1,), inputs=inputs, wide=Wide.CAST)
    model = load_object(architecture.module(), options, architecture.name)
    way = next(way.name.lower() for way in WAYS if way.value == model.facts["way"])
    with TemporaryDirectory() as folder:
        export_model(model, Path(folder) / "model")
        seconds = time.monotonic() - began
        return _compared(model, way, StoredBundle(Path(folder) / "model"), seconds, plugin)


def _compared(
    model: Model, way: str, bundle: StoredBundle, seconds: float, plugin: Path | None
) -> Outcome:
    assert model.reference is not None
    key = next(iter(bundle.contract.programs()))
    program = bundle.executable(key, plugin)
    chain = tolerance_of(bundle.products(key))
    weights = program.put(list(bundle.weights.values()))
    error = 0.0
    for kind, given in itertools.islice(kinds_of_inputs(bundle, key), _KINDS):
        arguments = [given[spec.name] for spec in bundle.contract.inputs]
        got = program.call([*program.put(arguments), *weights])
        wanted = model.reference(given)
        for spec, ours in zip(bundle.contract.outputs, got, strict=True):
            theirs = wanted[spec.name]
            found = compared(key.file_name, kind, spec, ours, theirs, chain)
            if not found.is_near:
                return Outcome(
                    way=way,
                    seconds=seconds,
                    refusal=f"output '{spec.name}' differs by {found.largest_difference:.2g}: "
                    f"{found.got:.6g}, wanted {found.wanted:.6g}",
                )
            scale = float(abs(theirs).max()) if theirs.size else 0.0
            error = max(error, found.largest_difference / (scale or 1.0))
    ours_ms = _median_ms(lambda: program.call([*program.put(arguments), *weights]))
    torch_ms = _median_ms(lambda: model.reference(given))
    return Outcome(way, error, ours_ms, torch_ms, seconds)


def _median_ms(call: Callable[[], Any]) -> float:
    times = []
    for _ in range(_ROUNDS + 1):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return 1e3 * statistics.median(times[1:])
