"""A model that is compiled for two lengths and takes requests of any up to the larger."""

from pathlib import Path

import bundle_files

LENGTHS = (4, 8)
PAD = 100
MANIFEST = """\
format_version: "3"
kind: model
description: each id twice, and the sum of all in its row
inputs:
  - {name: ids, dtype: i32, shape: [n, s]}
outputs:
  - {name: twice, dtype: i32, shape: [n, s]}
  - {name: sum, dtype: i32, shape: [n]}
batch_sizes: [1, 4]
variants: [{s: 4}, {s: 8}]
pad: {ids: 100}
trim: [twice]
files:
"""
PROGRAM = """\
module {{
  func.func public @main(%ids: tensor<{rows}x{length}xi32>) -> (tensor<{rows}x{length}xi32>, tensor<{rows}xi32>) {{
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %twice = stablehlo.add %ids, %ids : tensor<{rows}x{length}xi32>
    %sum = stablehlo.reduce(%ids init: %zero) applies stablehlo.add across dimensions = [1]
      : (tensor<{rows}x{length}xi32>, tensor<i32>) -> tensor<{rows}xi32>
    return %twice, %sum : tensor<{rows}x{length}xi32>, tensor<{rows}xi32>
  }}
}}
"""


def write(repository: Path, name: str = "lengths") -> Path:
    modules = {
        f"model.v{variant}.b{rows}.mlir": PROGRAM.format(rows=rows, length=length)
        for variant, length in enumerate(LENGTHS)
        for rows in (1, 4)
    }
    return bundle_files.write(repository / name, MANIFEST, modules)
