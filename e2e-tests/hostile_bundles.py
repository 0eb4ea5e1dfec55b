"""Bundles that XLA dies of, never ends over, or takes all memory for."""

from pathlib import Path

import bundle_files
import spinning_bundle

MANIFEST = """\
format_version: "3"
kind: model
description: {what}
inputs:
  - {{name: x, dtype: f32, shape: [n, {taken}]}}
outputs:
  - {{name: y, dtype: f32, shape: [n, {given}]}}
batch_sizes: [1]
files:
"""
SORT = """\
func.func public @main(%x: tensor<1x1000xf32>) -> tensor<1x1000xf32> {
  %y = "stablehlo.sort"(%x) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare LE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) {dimension = 1 : i64, is_stable = false} : (tensor<1x1000xf32>) -> tensor<1x1000xf32>
  return %y : tensor<1x1000xf32>
}
"""
# What the reader cannot judge, as it knows no sine: the sort is then run on trial.
HIDDEN_SORT = SORT.replace(
    "    %c = stablehlo.compare LE, %a, %b",
    "    %i = stablehlo.sine %a : tensor<f32>\n"
    "    %j = stablehlo.sine %b : tensor<f32>\n"
    "    %c = stablehlo.compare LE, %i, %j",
).replace("1x1000x", "1x100000x")
TOP_K = """\
func.func public @main(%x: tensor<1x8xf32>) -> tensor<1x9000000xf32> {
  %y:2 = stablehlo.custom_call @TopK(%x) : (tensor<1x8xf32>) -> (tensor<1x9000000xf32>, tensor<1x9000000xi32>)
  return %y#0 : tensor<1x9000000xf32>
}
"""
HUNGRY = """\
func.func public @main(%x: tensor<1x1xf32>) -> tensor<1x600000000xf32> {
  %y = stablehlo.broadcast_in_dim %x, dims = [0, 1] : (tensor<1x1xf32>) -> tensor<1x600000000xf32>
  return %y : tensor<1x600000000xf32>
}
"""


def doubling(depth: int = 28) -> str:
    """Functions that each call the one before twice."""
    type_ = "(tensor<1x4xf32>) -> tensor<1x4xf32>"
    head = "(%a: tensor<1x4xf32>) -> tensor<1x4xf32>"
    text = f"func.func private @f0{head} {{ %0 = stablehlo.sine %a : tensor<1x4xf32> return %0 : tensor<1x4xf32> }}\n"
    for i in range(1, depth + 1):
        name = "public @main" if i == depth else f"private @f{i}"
        text += f"func.func {name}{head} {{ %0 = call @f{i - 1}(%a) : {type_} "
        text += f"%1 = call @f{i - 1}(%0) : {type_} return %1 : tensor<1x4xf32> }}\n"
    return text


def write(repository: Path, name: str, taken: int, given: int, module: str) -> str:
    manifest = MANIFEST.format(what=f"one that is hostile, by {name}", taken=taken, given=given)
    return bundle_files.write(repository / name, manifest, {"model.b1.mlir": module}).name


def write_all(repository: Path) -> dict[str, list[str]]:
    """Writes one of each kind; returns what the index is to say of each."""
    return {
        write(repository, "sort", 1000, 1000, SORT): ["sort by a comparator", "compare by LT or GT"],
        write(repository, "hidden-sort", 100000, 100000, HIDDEN_SORT): ["running it on trial"],
        write(repository, "top-k", 8, 9000000, TOP_K): ["TopK takes the largest 9000000 of 8"],
        write(repository, "doubling", 4, 4, doubling()): ["become 268435456 when each call is replaced"],
        write(repository, "hungry", 1, 600000000, HUNGRY): ["needs 2400000000 bytes of outputs", "the limit of"],
        write_endless(repository): ["running it on trial did not end within 4.0 s, the longest that a run may take"],
    }


def write_endless(repository: Path) -> str:
    return spinning_bundle.write_endless(repository, "endless").name
