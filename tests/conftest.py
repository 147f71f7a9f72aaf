"""Fixtures every family but the kernel's shares; each is named for what it gives."""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest
import redis


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
