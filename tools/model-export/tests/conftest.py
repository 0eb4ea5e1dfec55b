"""Shared set-up: bundles are dated by their source, not by the environment of the test."""

import pytest


@pytest.fixture(autouse=True)
def _no_source_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
