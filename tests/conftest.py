"""Fixtures every family but the kernel's shares; each is named for what it gives."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator

import pytest
import redis


def pytest_collection_finish() -> None:
    """Leave what was imported out of the collections to come, and collect less often: an eighth of the time went there."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture
def transactional(transactional_db: None) -> None:
    """Give a database whose transactions really commit; it is emptied afterwards."""


@pytest.fixture
def valkey() -> Generator[redis.Redis, None, None]:
    """Give a client of this worker's own, empty Valkey database."""
    client = redis.Redis.from_url(os.environ["REDIS_URL"])
    client.flushdb()
    yield client
    client.flushdb()
    client.close()
