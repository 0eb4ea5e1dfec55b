"""A model as Triton's examples know it: the sum and the difference of two rows, of a type that a test wants."""

from pathlib import Path

import bundle_files

WIDTH = 16
MANIFEST = """\
format_version: "3"
kind: model
description: adds and subtracts
inputs:
  - {{name: INPUT0, dtype: {dtype}, shape: [n, {width}]}}
  - {{name: INPUT1, dtype: {dtype}, shape: [n, {width}]}}
outputs:
  - {{name: OUTPUT0, dtype: {dtype}, shape: [n, {width}]}}
  - {{name: OUTPUT1, dtype: {dtype}, shape: [n, {width}]}}
batch_sizes: [1]
files:
"""


def write(repository: Path, name: str, dtype: str) -> Path:
    row = f"tensor<1x{WIDTH}x{dtype}>"
    program = f"""\
module {{
  func.func public @main(%a: {row}, %b: {row}) -> ({row}, {row}) {{
    %sum = stablehlo.add %a, %b : {row}
    %difference = stablehlo.subtract %a, %b : {row}
    return %sum, %difference : {row}, {row}
  }}
}}
"""
    manifest = MANIFEST.format(dtype=dtype, width=WIDTH)
    return bundle_files.write(repository / name, manifest, {"model.b1.mlir": program})
