"""Cases that every run takes, and those that ``./roundhouse test --import`` takes besides."""

import os
from collections.abc import Iterable
from typing import Any

import pytest

ALL = os.environ.get("ROUNDHOUSE_EXPORT_TESTS") == "all"
WITH_ALL = pytest.mark.skipif(not ALL, reason="./roundhouse test --import runs it")


def thinned(cases: Iterable[Any], step: int, first: int = 0) -> list[Any]:
    """Parameters of a test, of which one in ``step``, from ``first`` on, is in every run."""
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            marks=() if at % step == first else WITH_ALL,
        )
        for at, case in enumerate(cases)
    ]
