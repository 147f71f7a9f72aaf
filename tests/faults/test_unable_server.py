"""A server that can write nothing for now (read-only after a failover, out of room) is waited for; nobody's work is blamed."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from engine.dispatch import rq
from engine.models import DeadLetter, Instance, Signal
from engine.services.people.tokens import create_token
from tests.cast import Cast
from tests.workflows import TIMER, activated, fall_due, started

pytestmark = pytest.mark.skipif("WORKFLOW_TEST_POOLER" in os.environ, reason="a pooler keeps sessions from before")

FULL = """
CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'no space left on device' USING ERRCODE = '53100'; END $$;
CREATE TRIGGER no_room BEFORE INSERT ON wf_signal_receipts FOR EACH ROW EXECUTE FUNCTION no_room();
"""


@pytest.fixture
def due(committed_cast: Cast) -> Instance:
    """Return an instance whose timer has fallen due."""
    activated(committed_cast.actor("gwen"), TIMER)
    return fall_due(started(committed_cast.actor("ada"), "timer"))


def execute(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)


@contextmanager
def read_only() -> Iterator[None]:
    """Let every new session find a server that has become a standby."""
    name = connection.settings_dict["NAME"]
    execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
    connection.close()
    try:
        yield
    finally:
        connection.close()
        execute("SET default_transaction_read_only = off")
        execute(f'ALTER DATABASE "{name}" RESET default_transaction_read_only')
        connection.close()


@contextmanager
def no_room() -> Iterator[None]:
    """Let the disk be full whenever a signal is applied."""
    execute(FULL)
    try:
        yield
    finally:
        execute("DROP TRIGGER no_room ON wf_signal_receipts; DROP FUNCTION no_room")


@pytest.mark.parametrize("trouble", [read_only, no_room])
def test_a_worker_outlives_it_and_blames_no_signal(due: Instance, settings: Any, trouble: Any) -> None:
    settings.WORKFLOW_POISON_ATTEMPTS = 2
    with trouble():
        for _ in range(3):
            rq.look()
        assert Signal.objects.get(instance=due).attempts == 0
    rq.look()
    due.refresh_from_db()
    assert due.status == "completed"
    assert not DeadLetter.objects.exists()


def test_whoever_asks_meanwhile_is_told_to_try_again(committed_cast: Cast) -> None:
    activated(committed_cast.actor("gwen"), TIMER)
    token = create_token(actor=None, person=committed_cast.ada, name="trial")[1]
    client = Client(raise_request_exception=False, headers={"Authorization": f"Token {token}"}, SERVER_NAME="localhost")

    def ask() -> int:
        return client.post("/api/v1/instances/", {"template": "timer"}, content_type="application/json").status_code

    with read_only():
        assert ask() == 503
    assert ask() == 201
