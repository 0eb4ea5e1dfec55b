"""A model whose answers are fifty thousand times as large as its requests."""

from pathlib import Path

import numpy as np

import bundle_files

WIDTH = 50_000
SIZES = (1, 64)
MANIFEST = f"""\
format_version: "3"
kind: model
description: repeats the number of each row
inputs:
  - {{name: number, dtype: f32, shape: [n, 1]}}
outputs:
  - {{name: repeated, dtype: f32, shape: [n, {WIDTH}]}}
batch_sizes: {{sizes}}
files:
"""


def program(rows: int) -> str:
    wide = f"tensor<{rows}x{WIDTH}xf32>"
    return f"""\
module {{
  func.func public @main(%number: tensor<{rows}x1xf32>) -> {wide} {{
    %wide = stablehlo.broadcast_in_dim %number, dims = [0, 1] : (tensor<{rows}x1xf32>) -> {wide}
    return %wide : {wide}
  }}
}}
"""


def write(repository: Path, name: str, sizes: tuple[int, ...] = SIZES) -> Path:
    modules = {f"model.b{rows}.mlir": program(rows) for rows in sizes}
    return bundle_files.write(repository / name, MANIFEST.replace("{sizes}", str(list(sizes))), modules)


def numbers(rows: int) -> dict[str, np.ndarray]:
    return {"number": np.arange(rows, dtype=np.float32).reshape(rows, 1)}


def answer_bytes(rows: int) -> int:
    return rows * WIDTH * 4
