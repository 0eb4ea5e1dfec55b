"""Shared set-up: how programs are compiled, and bundles are dated by their source alone."""

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
