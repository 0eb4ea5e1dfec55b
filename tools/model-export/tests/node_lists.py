"""What is known of ONNX's node tests: which fail, and which pass with inputs known at export."""

import functools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from roundhouse_export.onnx_graph.node_cases import load_cases

_FAILURES = Path(__file__).parent / "onnx_node_failures.txt"
_KNOWN_INPUTS = Path(__file__).parent / "onnx_node_known_inputs.txt"


@functools.cache
def cases() -> list[Any]:
    """Every node test; making them takes seconds."""
    return load_cases()


def failures() -> dict[str, str]:
    """Tests that do not pass, with the reason of each."""
    listed: dict[str, str] = {}
    for line in _FAILURES.read_text().splitlines():
        name, _, reason = line.partition(": ")
        assert reason.strip(), f"'{line}' gives no reason"
        listed[name] = reason
    return listed


def with_known_inputs() -> set[str]:
    """Tests that pass only when inputs that may fix shapes are known at export."""
    return set(_KNOWN_INPUTS.read_text().splitlines())


def write_known_inputs(names: Iterable[str]) -> None:
    _KNOWN_INPUTS.write_text("".join(f"{name}\n" for name in sorted(names)))
