"""What is in a bundle: counted from its programs, and asked of XLA."""

import re
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jax.interpreters.mlir import make_ir_context
from jaxlib.mlir import ir

from roundhouse_export import dtypes
from roundhouse_export.contract import ProgramKey
from roundhouse_export.stored import StoredBundle

_OUTSIDE = ("builtin.module", "func.func", "func.return", "stablehlo.return")
_MULTIPLY_ADD = 2


@dataclass(frozen=True)
class ProgramFacts:
    """``flops`` are of dots and convolutions, and one for each element that another operation
    of floats makes. ``run_bytes`` are outputs and temporary memory, without weights."""

    file_name: str
    operations: list[tuple[str, int]]
    flops: float
    file_bytes: int
    run_bytes: int | None

    @property
    def count(self) -> int:
        return sum(count for _, count in self.operations)


@dataclass(frozen=True)
class BundleFacts:
    name: str
    description: str
    inputs: list[tuple[str, str, str]]
    outputs: list[tuple[str, str, str]]
    programs: list[ProgramFacts]
    weights: list[tuple[str, str, str, int]]
    custom_calls: list[str]
    variants: list[dict[str, int]]
    pad: dict[str, int | float]
    trim: list[str]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def inspect(folder: Path, compile_programs: bool = True, plugin: Path | None = None) -> BundleFacts:
    """Reads a bundle; RefusedError when it is none."""
    bundle = StoredBundle(folder)
    calls: set[str] = set()
    programs = []
    for key in bundle.contract.programs():
        text = bundle.module_text(key)
        operations, flops = _counted(text)
        calls |= {f"@{name}" for name in re.findall(r"custom_call @(\w+)", text)}
        calls |= set(re.findall(r'call_target_name = "(\w+)"', text))
        programs.append(
            ProgramFacts(
                key.file_name,
                operations,
                flops,
                len(bundle.program(key)),
                _run_bytes(bundle, key, plugin) if compile_programs else None,
            )
        )
    weights = sorted(
        (
            (name, dtypes.token_of(array.dtype), _shape(array.shape), array.nbytes)
            for name, array in bundle.weights.items()
        ),
        key=lambda row: (-row[3], row[0]),
    )
    contract = bundle.contract
    return BundleFacts(
        bundle.name,
        str(bundle.manifest.get("description", "")),
        [(spec.name, spec.dtype, _shape(spec.shape)) for spec in contract.inputs],
        [(spec.name, spec.dtype, _shape(spec.shape)) for spec in contract.outputs],
        programs,
        weights,
        sorted(calls),
        [dict(each) for each in contract.variants],
        dict(contract.pad),
        list(contract.trim),
    )


def _shape(axes: tuple[int | str, ...]) -> str:
    return f"[{','.join(map(str, axes))}]"


def _run_bytes(bundle: StoredBundle, key: ProgramKey, plugin: Path | None) -> int:
    memory = bundle.executable(key, plugin).memory
    return memory.outputs + memory.temporary


def _counted(text: str) -> tuple[list[tuple[str, int]], float]:
    """Operations by how often they are there, and FLOPs of one run."""
    counts: Counter[str] = Counter()
    flops = 0.0

    def visit(operation: ir.Operation) -> ir.WalkResult:
        nonlocal flops
        if operation.name not in _OUTSIDE:
            counts[operation.name] += 1
            flops += _flops(operation)
        return ir.WalkResult.ADVANCE

    with make_ir_context():
        ir.Module.parse(text).operation.walk(visit)
    return counts.most_common(), flops


def _flops(operation: ir.Operation) -> float:
    if not operation.results:
        return 0
    kind = operation.results[0].type
    if not isinstance(kind, ir.RankedTensorType) or "f" not in str(kind.element_type):
        return 0
    made = float(np.prod(kind.shape, dtype=np.float64))
    if operation.name == "stablehlo.dot_general":
        left = ir.RankedTensorType(operation.operands[0].type).shape
        contracted = re.search(
            r"lhs_contracting_dimensions = \[([\d, ]*)\]",
            str(operation.attributes["dot_dimension_numbers"]),
        )
        axes = [int(axis) for axis in contracted[1].split(",")] if contracted else []
        return _MULTIPLY_ADD * made * float(np.prod([left[axis] for axis in axes]))
    if operation.name == "stablehlo.convolution":
        kernel = ir.RankedTensorType(operation.operands[1].type).shape
        numbers = str(operation.attributes["dimension_numbers"])
        order = re.search(r"x\[([^\]]*)\]", numbers)
        outputs = order[1].split(", ").index("o") if order else len(kernel) - 1
        return _MULTIPLY_ADD * made * float(np.prod(kernel)) / kernel[outputs]
    return made
