"""A model that multiplies each number by the first of its weights, which are as many as a test wants."""

import json
import struct
from pathlib import Path

import numpy as np

import bundle_files

WIDTH = 4
MANIFEST = f"""\
format_version: "3"
kind: model
description: multiplies by a number of its own
inputs:
  - {{name: x, dtype: f32, shape: [n, {WIDTH}]}}
outputs:
  - {{name: y, dtype: f32, shape: [n, {WIDTH}]}}
batch_sizes: [1]
files:
"""


def program(weights: int) -> str:
    row = f"tensor<1x{WIDTH}xf32>"
    return f"""\
module {{
  func.func public @main(%x: {row}, %w: tensor<{weights}xf32>) -> {row} {{
    %first = stablehlo.slice %w [0:1] : (tensor<{weights}xf32>) -> tensor<1xf32>
    %scalar = stablehlo.reshape %first : (tensor<1xf32>) -> tensor<f32>
    %factor = stablehlo.broadcast_in_dim %scalar, dims = [] : (tensor<f32>) -> {row}
    %y = stablehlo.multiply %x, %factor : {row}
    return %y : {row}
  }}
}}
"""


def write(repository: Path, name: str, factor: int, weight_bytes: int) -> Path:
    numbers = weight_bytes // 4
    return bundle_files.write(
        repository / name, MANIFEST, {"model.b1.mlir": program(numbers)}, weights(numbers, factor)
    )


def weights(numbers: int, factor: int) -> bytes:
    """A file with the argument ``w``, of so many equal numbers."""
    values = np.full(numbers, factor, np.float32)
    header = json.dumps(
        {
            "__metadata__": {"argument_order": json.dumps(["w"])},
            "w": {"dtype": "F32", "shape": [values.size], "data_offsets": [0, values.nbytes]},
        }
    )
    header += " " * (-len(header) % 8)
    return struct.pack("<Q", len(header)) + header.encode() + values.tobytes()


def numbers(first: float) -> dict[str, np.ndarray]:
    return {"x": np.arange(first, first + WIDTH, dtype=np.float32).reshape(1, WIDTH)}
