"""What the node serves, and which answer to which number is right.

A caller's number is in its request, digit by digit, and so in the answer that is made of it: an answer to another
request, or a mixture of two, is not a multiple of the right digits.
"""

import shutil
from collections.abc import Iterable
from pathlib import Path

import numpy as np

import bundle_files
import java_bundles
import scaling_bundle
import spinning_bundle
import summing_bundle
import widening_bundle
from worker_process import SAMPLE_MODELS

SCALES = 200
FIT = 50
RELOADED = 20
WEIGHT_BYTES = 128 << 10
GENERATION = 1000
GENERATIONS = 50  # products with a digit below 256 are exact in 32 bits of floating point
SIMPLE, SUMS, PARTS, SLOW, WIDE = "simple", "sums", "parts", "spin", "wide"
ENSEMBLE, WASTER = "six-times", "wasteful"
ENSEMBLE_FACTOR = 6
WASTER_FACTOR = 7
FACTORS = {"base-2": 2, "base-3": 3, "base-7": WASTER_FACTOR}
ENSEMBLE_MANIFEST = """\
format_version: "3"
kind: ensemble
inputs:
  - {name: x, dtype: f32, shape: [n, 4]}
outputs:
  - {name: y, dtype: f32, shape: [n, 4]}
steps:
  - {model: base-2, inputs: {x: x}, outputs: {y: twice}}
  - {model: base-3, inputs: {x: twice}, outputs: {y: y}}
files: {}
"""
WASTER_CONTRACT = """\
client_inputs:
- {name: x, dtype: f32, shape: [n, 4]}
- {name: mebibytes, dtype: i32, shape: [1]}
client_outputs:
- {name: y, dtype: f32, shape: [n, 4]}
"""
WASTER_SOURCE = """\
import dev.roundhouse.hooks.*;

/** Makes garbage before it calls. */
class Model implements MetaModel {
  private static final int PIECE = 64 << 10;
  private volatile byte[] last;

  @Override
  public Tensors run(HookRequest request, Calls calls) {
    int pieces = request.input("mebibytes").i32().get(0) * ((1 << 20) / PIECE);
    for (int i = 0; i < pieces; i++) {
      last = new byte[PIECE];
    }
    return calls.call("base-7", Tensors.of(request.input("x")));
  }
}
"""


def scale(index: int) -> str:
    return f"scale-{index:03}"


def factor(index: int, generation: int) -> int:
    return index + 1 + generation % GENERATIONS * GENERATION


def write_all(repository: Path) -> None:
    repository.mkdir()
    shutil.copytree(SAMPLE_MODELS / SIMPLE, repository / SIMPLE)
    for index in range(SCALES):
        scaling_bundle.write(repository, scale(index), factor(index, 0), WEIGHT_BYTES)
    for name, by in FACTORS.items():
        scaling_bundle.write(repository, name, by, WEIGHT_BYTES)
    (repository / ENSEMBLE).mkdir()
    (repository / ENSEMBLE / "manifest.yaml").write_text(ENSEMBLE_MANIFEST)
    java_bundles.write(repository, WASTER, WASTER_CONTRACT, WASTER_SOURCE, "base-7")
    java_bundles.write_repeat(repository, PARTS)
    summing_bundle.write(repository, SUMS)
    spinning_bundle.write(repository, SLOW, costly=True)
    widening_bundle.write(repository, WIDE, (1,))  # what a run needs is taken from what weights may


def reload(repository: Path, generation: int) -> None:
    """Puts other weights in the place of those before, by renames."""
    for index in range(RELOADED):
        name = scale(index)
        new = scaling_bundle.write(repository, f".{name}", factor(index, generation), WEIGHT_BYTES)
        before = repository / f".{name}-before"
        (repository / name).rename(before)
        new.rename(repository / name)
        shutil.rmtree(before)


def write_endless(repository: Path, number: int) -> str:
    """A program that runs for as long as it is told; each has files of its own, as two ends would have it left out."""
    name = f"{SLOW}-{number}"
    manifest = spinning_bundle.MANIFEST.replace("turns a loop", f"turns loop {number}")
    modules = {"model.b1.mlir": spinning_bundle.program(spinning_bundle.COSTLY_START)}
    bundle_files.write(repository / f".{name}", manifest, modules).rename(repository / name)
    return name


def digits(number: int) -> list[int]:
    """Of 31 bits; the last is never 0, so that the factor can be told."""
    return [number & 255, number >> 8 & 255, number >> 16 & 255, (number >> 24) + 1]


def row(number: int) -> np.ndarray:
    return np.array([digits(number)], np.float32)


def factor_of(number: int, answer: Iterable[float]) -> int | None:
    """By what the number's digits have been multiplied; None where the answer is no multiple of them."""
    values = list(answer)
    by, rest = divmod(values[-1], digits(number)[-1]) if values else (0, 1)
    right = rest == 0 and values == [by * digit for digit in digits(number)]
    return int(by) if right else None


def allowed_factors(model: str, generations: int) -> set[int]:
    """Those that a model has had until now, with so many generations of what is loaded again."""
    if model == ENSEMBLE:
        return {ENSEMBLE_FACTOR}
    if model == WASTER:
        return {WASTER_FACTOR}
    index = int(model.removeprefix("scale-"))
    if index >= RELOADED:
        return {factor(index, 0)}
    return {factor(index, generation) for generation in range(min(generations, GENERATIONS - 1) + 1)}
