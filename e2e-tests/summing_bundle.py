"""A model that keeps state: it answers the sum of what its sequence has been sent."""

from pathlib import Path

import bundle_files

BATCH_SIZES = (1, 4, 16)
MANIFEST = f"""\
format_version: "3"
kind: model
description: adds up over a sequence
inputs:
  - {{name: sum_in, dtype: i32, shape: [n, 1]}}
  - {{name: INPUT, dtype: i32, shape: [n, 1]}}
  - {{name: START, dtype: i32, shape: [n, 1]}}
  - {{name: CORRID, dtype: u64, shape: [n, 1]}}
outputs:
  - {{name: sum_out, dtype: i32, shape: [n, 1]}}
  - {{name: OUTPUT, dtype: i32, shape: [n, 1]}}
  - {{name: STARTED, dtype: i32, shape: [n, 1]}}
  - {{name: SEQUENCE, dtype: u64, shape: [n, 1]}}
batch_sizes: {list(BATCH_SIZES)}
serving:
  sequence:
    idle: 60s
    controls: {{start: START, correlation_id: CORRID}}
    state: [{{input: sum_in, output: sum_out, initial: zero}}]
files:
"""


def program(rows: int) -> str:
    numbers, ids = f"tensor<{rows}x1xi32>", f"tensor<{rows}x1xui64>"
    results = f"{numbers}, {numbers}, {numbers}, {ids}"
    return f"""\
module {{
  func.func public @main(%sum: {numbers}, %x: {numbers}, %start: {numbers}, %id: {ids}) -> ({results}) {{
    %0 = stablehlo.add %sum, %x : {numbers}
    return %0, %0, %start, %id : {results}
  }}
}}
"""


def write(repository: Path, name: str) -> Path:
    return bundle_files.write(
        repository / name, MANIFEST, {f"model.b{rows}.mlir": program(rows) for rows in BATCH_SIZES}
    )
