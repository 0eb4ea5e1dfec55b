"""How long others wait is measured of processes as they are served: with both compilers of the JVM."""

from collections.abc import Iterator

import pytest

from trained import FURTHER


@pytest.fixture(scope="module", autouse=True)
def as_served() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.delenv(FURTHER, raising=False)
        yield
