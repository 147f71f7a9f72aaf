"""What the house's own tests stand on."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.platform.running_house import House, a_house


@pytest.fixture
def house() -> Generator[House, None, None]:
    """Give a place to run the house's commands in, and refuse to leave anything running."""
    with a_house() as lent:
        yield lent
        assert lent.leftovers() == []
