"""Times ways of computing convolutions on a plugin: ``python -m roundhouse_export.tune.timing``.

A process of its own, as a plugin must be known before JAX is first used, and as what a compiler
does with a program may end the process. Takes a JSON object on standard input: ``plugin`` (a
library, or null for jaxlib's own CPU) and ``convolutions``. Writes a line of JSON for each.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax import export

from roundhouse_export import dtypes
from roundhouse_export.passes.convolution import Convolution, Lowering, candidates
from roundhouse_export.program_runner import Executable, register_plugin

_ROUNDS = 9
_SECONDS_PER_ROUND = 0.002
_SECONDS_PER_CONVOLUTION = 1.0
_HOPELESS = 3
_SEED = 20261125
_TOLERANCES = {"f64": 1e-10, "f32": 1e-4, "f16": 1e-2, "bf16": 3e-2}
"""Largest difference from XLA's own convolution, in parts of its largest; else none."""


def time_lowerings(convolution: Convolution, platform: str) -> dict[str, float]:
    """Returns milliseconds by lowering, of those whose results are right; XLA's own is first.

    The candidates take turns, and each is judged by its median, so that what else the machine does
    meets all of them alike.
    """
    rng = np.random.default_rng(_SEED)
    image = _random(rng, convolution.input, convolution.input_type)
    kernel = _random(rng, convolution.kernel, convolution.kernel_type)
    wanted: np.ndarray | None = None
    runs: dict[str, Callable[[], Any]] = {}
    for lowering in candidates(convolution):
        try:
            run = _compile(lowering, convolution, image, kernel, platform)
            result = np.asarray(run())
        except jax.errors.JaxRuntimeError:
            if wanted is None:
                raise
            continue  # the plugin lacks something that this way needs
        if wanted is None:
            wanted = result
        if _right(wanted, result, convolution.output_type):
            runs[lowering.name] = run
    return _take_turns(runs)


def _take_turns(runs: dict[str, Callable[[], Any]]) -> dict[str, float]:
    once = {name: min(_seconds(run, 1) for _ in range(2)) for name, run in runs.items()}
    # What is far behind after a warm run will not win, and would take most of the time.
    best = min(once.values())
    runs = {name: run for name, run in runs.items() if once[name] <= _HOPELESS * best}
    repeats = {name: max(1, int(_SECONDS_PER_ROUND / each)) for name, each in once.items()}
    samples: dict[str, list[float]] = {name: [] for name in runs}
    end = time.perf_counter() + _SECONDS_PER_CONVOLUTION
    for turn in range(_ROUNDS):
        if turn >= 3 and time.perf_counter() > end:
            break
        for name, run in runs.items():
            samples[name].append(_seconds(run, repeats[name]))
    measured = {name: float(np.median(each)) * 1e3 for name, each in samples.items() if each}
    return {name: measured.get(name, seconds * 1e3) for name, seconds in once.items()}


def _seconds(run: Callable[[], Any], repeats: int) -> float:
    start = time.perf_counter()
    for _ in range(repeats):
        run().block_until_ready()
    return (time.perf_counter() - start) / repeats


def _compile(
    lowering: Lowering,
    convolution: Convolution,
    image: np.ndarray,
    kernel: np.ndarray,
    platform: str,
) -> Callable[[], Any]:
    with jax.enable_x64(True), jax.default_device(jax.devices("cpu")[0]):
        prepared = jax.jit(lambda k: lowering.prepare(k, convolution))(kernel)
        structs = [jax.ShapeDtypeStruct(each.shape, each.dtype) for each in (image, prepared)]
        jitted = jax.jit(lambda i, k: lowering.compute(i, k, convolution))
        program = export.export(jitted, platforms=("cpu",))(*structs).mlir_module_serialized
    executable = Executable(program, platform)
    buffers = executable.put((image, np.asarray(prepared)))
    return lambda: executable.start(buffers)[0]


def _right(wanted: np.ndarray, result: np.ndarray, output_type: str) -> bool:
    tolerance = _TOLERANCES.get(output_type)
    if tolerance is None:
        return bool(np.array_equal(wanted, result))
    wide, other = wanted.astype(np.float64), result.astype(np.float64)
    return bool(np.abs(wide - other).max() <= tolerance * np.abs(wide).max())


def _random(rng: np.random.Generator, shape: tuple[int, ...], token: str) -> np.ndarray:
    dtype = dtypes.numpy_dtype(token)
    if dtype.kind in "iu":
        return rng.integers(0, 100, shape).astype(dtype)
    return rng.standard_normal(shape, dtype=np.float32).astype(dtype)


def main() -> None:
    asked = json.load(sys.stdin)
    platform = "cpu" if asked["plugin"] is None else register_plugin(Path(asked["plugin"]))
    for fields in asked["convolutions"]:
        convolution = Convolution.from_json(fields)
        times = time_lowerings(convolution, platform)
        print(json.dumps({"convolution": convolution.describe(), "milliseconds": times}))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
