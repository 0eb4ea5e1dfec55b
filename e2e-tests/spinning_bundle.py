"""A model that keeps the device busy for as long as the request says."""

import hashlib
import struct
from pathlib import Path

import numpy as np

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
PROGRAM = """\
module {
  func.func public @main(%turns: tensor<1x1xi64>) -> tensor<1x1xi64> {
    %limit = stablehlo.reshape %turns : (tensor<1x1xi64>) -> tensor<i64>
    %zero = stablehlo.constant dense<0> : tensor<i64>
    %one = stablehlo.constant dense<1> : tensor<i64>
    %end:2 = stablehlo.while(%turn = %zero, %last = %zero) : tensor<i64>, tensor<i64>
    cond {
      %more = stablehlo.compare LT, %turn, %limit : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %next = stablehlo.add %turn, %one : tensor<i64>
      %mixed = stablehlo.xor %last, %next : tensor<i64>
      stablehlo.return %next, %mixed : tensor<i64>, tensor<i64>
    }
    %out = stablehlo.reshape %end#1 : (tensor<i64>) -> tensor<1x1xi64>
    return %out : tensor<1x1xi64>
  }
}
"""
EMPTY_WEIGHTS = struct.pack("<Q", 8) + b"{}      "


def write(repository: Path, name: str) -> Path:
    folder = repository / name
    folder.mkdir(parents=True)
    files = {"model.b1.mlir": PROGRAM.encode(), "weights.safetensors": EMPTY_WEIGHTS}
    digests = ""
    for file, content in files.items():
        (folder / file).write_bytes(content)
        digests += f"  {file}: {hashlib.sha256(content).hexdigest()}\n"
    (folder / "manifest.yaml").write_text(MANIFEST + digests)
    return folder


def turns(count: int) -> dict[str, np.ndarray]:
    return {INPUT: np.array([[count]], np.int64)}
