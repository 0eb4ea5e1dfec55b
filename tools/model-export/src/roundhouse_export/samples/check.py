"""Compares a built bundle's programs, run from their files, with the framework's answers."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from roundhouse_export.bundle import digest_problems
from roundhouse_export.program_runner import run_program
from roundhouse_export.samples.sample import Sample

SEED = 20261121


@dataclass(frozen=True)
class CheckedProgram:
    file_name: str
    largest_difference: float
    within_tolerance: bool


def check_digests(sample: Sample, models_dir: Path) -> list[str]:
    """Returns what is wrong with the bundle's files; format 2.0 keeps no digests."""
    return digest_problems(models_dir / sample.name) if sample.format_version == "3" else []


def check_programs(sample: Sample, models_dir: Path, platform: str = "cpu") -> list[CheckedProgram]:
    """Runs every program of the bundle on inputs seeded with SEED."""
    rng = np.random.default_rng(SEED)
    weights = sample.weights(models_dir)
    checked = []
    for key in sample.contract.programs():
        inputs = sample.example_inputs(rng, key.batch or 1, key.variant or 0)
        wanted = sample.reference(inputs, models_dir)
        program = (models_dir / sample.name / key.file_name).read_bytes()
        arguments = [inputs[tensor.name] for tensor in sample.contract.inputs]
        results = run_program(program, [*arguments, *weights.values()], platform)
        pairs = [
            (wanted[tensor.name], result)
            for tensor, result in zip(sample.contract.outputs, results, strict=True)
        ]
        checked.append(
            CheckedProgram(
                key.file_name,
                max(largest_difference(expected, actual) for expected, actual in pairs),
                all(same(expected, actual, sample.tolerance) for expected, actual in pairs),
            )
        )
    return checked


def same(expected: np.ndarray, actual: np.ndarray, tolerance: float) -> bool:
    """True when dtype and shape agree and values lie within the tolerance, both ways of it."""
    return (expected.dtype, expected.shape) == (actual.dtype, actual.shape) and bool(
        np.allclose(_wide(actual), _wide(expected), rtol=tolerance, atol=tolerance)
    )


def largest_difference(expected: np.ndarray, actual: np.ndarray) -> float:
    """Returns the largest absolute difference, infinite when shapes differ, 0 for no elements."""
    if expected.shape != actual.shape:
        return float("inf")
    return float(np.abs(_wide(expected) - _wide(actual)).max(initial=0))


def _wide(array: np.ndarray) -> np.ndarray:
    # A long double holds every 64-bit integer exactly, as it does every smaller type.
    return array.astype(np.longdouble)
