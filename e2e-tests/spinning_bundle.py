"""A model that keeps the device busy for as long as the request says."""

from pathlib import Path

import numpy as np

import bundle_files

INPUT, OUTPUT = "turns", "last"
MANIFEST = """\
format_version: "3"
kind: model
description: turns a loop as often as the input says
inputs:
  - {name: turns, dtype: i64, shape: [n, 1]}
outputs:
  - {name: last, dtype: i64, shape: [n, 1]}
batch_sizes: [1]
files:
"""
START = """\
    %start = stablehlo.constant dense<0> : tensor<i64>
"""
# XLA's CPU client runs what it counts as less than 1,000 operations inside the call that starts it.
COSTLY_START = """\
    %index = stablehlo.iota dim = 0 : tensor<65536xi64>
    %limits = stablehlo.broadcast_in_dim %limit, dims = [] : (tensor<i64>) -> tensor<65536xi64>
    %products = stablehlo.multiply %index, %limits : tensor<65536xi64>
    %start = stablehlo.reduce(%products init: %zero) applies stablehlo.xor across dimensions = [0]
      : (tensor<65536xi64>, tensor<i64>) -> tensor<i64>
"""


LIMIT = """\
    %limit = stablehlo.reshape %turns : (tensor<1x1xi64>) -> tensor<i64>
"""
ENDLESS_LIMIT = """\
    %asked = stablehlo.reshape %turns : (tensor<1x1xi64>) -> tensor<i64>
    %endless = stablehlo.constant dense<4611686018427387904> : tensor<i64>
    %limit = stablehlo.maximum %asked, %endless : tensor<i64>
"""


def program(start: str, limit: str = LIMIT) -> str:
    return f"""\
module {{
  func.func public @main(%turns: tensor<1x1xi64>) -> tensor<1x1xi64> {{
{limit}\
    %zero = stablehlo.constant dense<0> : tensor<i64>
    %one = stablehlo.constant dense<1> : tensor<i64>
{start}\
    %end:2 = stablehlo.while(%turn = %zero, %last = %start) : tensor<i64>, tensor<i64>
    cond {{
      %more = stablehlo.compare LT, %turn, %limit : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    }} do {{
      %next = stablehlo.add %turn, %one : tensor<i64>
      %mixed = stablehlo.xor %last, %next : tensor<i64>
      stablehlo.return %next, %mixed : tensor<i64>, tensor<i64>
    }}
    %out = stablehlo.reshape %end#1 : (tensor<i64>) -> tensor<1x1xi64>
    return %out : tensor<1x1xi64>
  }}
}}
"""


def write(repository: Path, name: str, costly: bool = False) -> Path:
    """A costly one runs on a thread of the plugin's own, any other inside the call that starts it."""
    modules = {"model.b1.mlir": program(COSTLY_START if costly else START)}
    return bundle_files.write(repository / name, MANIFEST, modules)


def write_endless(repository: Path, name: str) -> Path:
    """Never ends, whatever is asked; so its first warm-up run does not, either."""
    modules = {"model.b1.mlir": program(COSTLY_START, ENDLESS_LIMIT)}
    return bundle_files.write(repository / name, MANIFEST, modules)


def write_sequence(repository: Path, name: str) -> Path:
    """A costly one whose requests are steps of sequences."""
    manifest = MANIFEST.replace("outputs:\n", "  - {name: START, dtype: i32, shape: [n, 1]}\noutputs:\n")
    manifest = manifest.replace("files:\n", "serving:\n  sequence:\n    controls: {start: START}\nfiles:\n")
    begun = program(COSTLY_START).replace(
        "%turns: tensor<1x1xi64>)", "%turns: tensor<1x1xi64>, %begun: tensor<1x1xi32>)"
    )
    return bundle_files.write(repository / name, manifest, {"model.b1.mlir": begun})


def turns(count: int) -> dict[str, np.ndarray]:
    return {INPUT: np.array([[count]], np.int64)}
