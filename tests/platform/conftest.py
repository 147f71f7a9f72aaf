"""Fixtures for tests of the commands and servers."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.platform.running_house import House, a_house


@pytest.fixture
def house() -> Generator[House, None, None]:
    """Return a place to run the product's commands in, and fail if anything is left running."""
    with a_house() as lent:
        yield lent
        assert lent.leftovers() == []
