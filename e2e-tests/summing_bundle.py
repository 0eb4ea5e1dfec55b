"""Models of sequences: one that answers the sum of what its sequence has been sent, and one that marks the first."""

import struct
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


def write_beginning(repository: Path, name: str, first: int) -> Path:
    """As ``write``, with sums that begin with ``first``."""
    files: dict[str, str | bytes] = {f"model.b{rows}.mlir": program(rows) for rows in BATCH_SIZES}
    files["begin.bin"] = struct.pack("<i", first)
    return bundle_files.write(repository / name, MANIFEST.replace("initial: zero", "initial: begin.bin"), files)


MARKING_MANIFEST = f"""\
format_version: "3"
kind: model
description: adds 1 to the first number of a sequence
inputs:
  - {{name: INPUT, dtype: i32, shape: [n, 1]}}
  - {{name: START, dtype: i32, shape: [n, 1]}}
outputs:
  - {{name: OUTPUT, dtype: i32, shape: [n, 1]}}
batch_sizes: {list(BATCH_SIZES)}
serving:
  sequence:
    controls: {{start: START}}
files:
"""


def marking_program(rows: int) -> str:
    numbers = f"tensor<{rows}x1xi32>"
    return f"""\
module {{
  func.func public @main(%x: {numbers}, %start: {numbers}) -> {numbers} {{
    %0 = stablehlo.add %x, %start : {numbers}
    return %0 : {numbers}
  }}
}}
"""


def write_marking(repository: Path, name: str) -> Path:
    """As the ``simple_sequence`` that Triton's examples want."""
    programs = {f"model.b{rows}.mlir": marking_program(rows) for rows in BATCH_SIZES}
    return bundle_files.write(repository / name, MARKING_MANIFEST, programs)
