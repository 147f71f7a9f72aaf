"""Fixtures for tests of the commands and servers."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.platform.sandbox import Sandbox, a_sandbox


@pytest.fixture
def sandbox() -> Generator[Sandbox, None, None]:
    """Return a place to run the product's commands in, and fail if anything is left running."""
    with a_sandbox() as lent:
        yield lent
        assert lent.leftovers() == []
