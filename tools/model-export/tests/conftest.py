"""Shared set-up: how programs are compiled, what tests draw, and that bundles bear no date."""

import copy
import os

import pytest

if os.environ.get("ROUNDHOUSE_EXPORT_TESTS") != "all":
    # Compiling takes most of the time of these tests, and their programs run once, on few numbers.
    os.environ.setdefault(
        "XLA_FLAGS",
        "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true",
    )


@pytest.fixture(autouse=True)
def _no_source_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)


@pytest.fixture(autouse=True)
def _draw_alike_in_any_order(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Processes that share the tests run them in any order: none draws on from another."""
    if hasattr(request.module, "RNG"):
        monkeypatch.setattr(request.module, "RNG", copy.deepcopy(request.module.RNG))
