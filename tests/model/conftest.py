"""Give the machine a stopped clock and a second tenant that must never see anything."""

from collections.abc import Callable, Iterator
from functools import partial

import pytest

from tests.model import outside
from tests.model.clock import standing_clock
from tests.model.world import STRANGERS, World, found

NewWorld = Callable[[], World]


@pytest.fixture
def new_world(transactional: None, valkey: object) -> Iterator[NewWorld]:
    """Provide a way to make the world of one example; each has a tenant of its own, so that nothing is emptied in between."""
    _, strangers = found(STRANGERS)
    with standing_clock() as clock:
        outside.forget()
        yield partial(World, clock, strangers)
