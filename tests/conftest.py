"""Fixtures every family but the kernel's shares; each is named for what it gives."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Generator
from contextlib import ExitStack, nullcontext
from typing import Any

import pytest
import redis
from django.apps import apps
from django.core.management.commands import flush
from django.test import override_settings
from django.utils import timezone, translation
from whitenoise.middleware import WhiteNoiseMiddleware

from tests.emptying import empty_tables
from tests.prepared import cloned_instead_of_migrated

QUICK = ["django.contrib.auth.hashers.MD5PasswordHasher"]


def pytest_collection_finish() -> None:
    """Leave what was imported out of the collections to come, and collect less often: an eighth of the time went there."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(scope="session")
def migrated_once() -> Generator[Callable[[], None], None, None]:
    """Let the database of this process be a clone of the prepared one; what is given ends that."""
    with ExitStack() as stack:
        if apps.ready:
            stack.enter_context(cloned_instead_of_migrated())
        yield stack.close


@pytest.fixture(scope="session")
def django_db_setup(migrated_once: Callable[[], None], django_db_setup: None) -> None:
    """Make the database as pytest-django does; later migrations are real ones again."""
    migrated_once()


@pytest.fixture(scope="session", autouse=True)
def static_files_found_once() -> Generator[None, None, None]:
    """Keep what whitenoise found: the client of every test would walk through all static files again."""
    look, found = WhiteNoiseMiddleware.add_files_from_finders, dict[str, Any]()

    def look_once(middleware: WhiteNoiseMiddleware) -> None:
        if not found:
            look(middleware)
            found.update(middleware.files)
        middleware.files.update(found)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WhiteNoiseMiddleware, "add_files_from_finders", look_once)
        yield


@pytest.fixture(scope="session", autouse=True)
def passwords_hashed_quickly() -> Generator[None, None, None]:
    """Hash fast: how strongly a password is hashed is Django's to test, and no family without Django has one."""
    with override_settings(PASSWORD_HASHERS=QUICK) if apps.ready else nullcontext():
        yield


@pytest.fixture(scope="session", autouse=True)
def account_mails_sent_at_once() -> Generator[None, None, None]:
    """Send mails about accounts before the page is answered: a test looks for them right after."""
    with pytest.MonkeyPatch.context() as patch:
        if apps.ready:
            patch.setattr("workflowplatform.accounts.mails.at_once", True)
        yield


@pytest.fixture(scope="session", autouse=True)
def tables_emptied_quickly() -> Generator[None, None, None]:
    """Delete what a test committed instead of truncating every table."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flush.Command, "handle", empty_tables)
        yield


@pytest.fixture(autouse=True)
def language_and_zone_forgotten() -> Generator[None, None, None]:
    """Forget whose language and zone the last page was drawn in: the next test may draw one without a request."""
    yield
    if apps.ready:
        translation.deactivate()
        timezone.deactivate()


@pytest.fixture
def transactional(transactional_db: None) -> None:
    """Give a database whose transactions really commit; it is emptied afterwards."""


@pytest.fixture
def valkey() -> Generator[redis.Redis, None, None]:
    """Provide a client of this worker's own, empty Valkey database."""
    client = redis.Redis.from_url(os.environ["REDIS_URL"])
    client.flushdb()
    yield client
    client.flushdb()
    client.close()
