"""What `check --deploy` refuses: settings with which a deployment would not be safe."""

import os
from typing import Any

import psycopg
import pytest
from django.db import connection

from engine.checks import check_database_roles, check_redis
from tests.application import as_application
from workflowplatform.servers.postgres import APPLICATION, CROSSING, SUPERUSER

pytestmark = pytest.mark.security("Redis is not trusted")


@pytest.mark.parametrize(
    ("address", "lacks"),
    [
        ("unix:///run/valkey.sock?db=0", []),
        ("redis://127.0.0.1:6379/0", []),
        ("redis://localhost/0", []),
        ("redis://[::1]:6379/0", []),
        ("rediss://:secret@redis.example:6379/0", []),
        ("redis://:secret@redis.example:6379/0", ["TLS"]),
        ("rediss://redis.example/0", ["a password"]),
        ("redis://10.0.0.5/0", ["a password", "TLS"]),
    ],
)
def test_a_redis_on_another_host_needs_password_and_tls(settings: Any, address: str, lacks: list[str]) -> None:
    settings.REDIS_URL = address
    assert [
        message.msg.removeprefix("REDIS_URL names another host without ").rstrip(".") for message in check_redis()
    ] == lacks


def told_of_roles() -> list[str]:
    return [message.id or "" for message in check_database_roles()]


@pytest.mark.security("the database keeps tenants apart")
@pytest.mark.django_db(transaction=True)
def test_one_role_for_everything_is_told_of() -> None:
    assert told_of_roles() == ["workflow.W011"]
    with as_application():
        assert told_of_roles() == []


@pytest.mark.security("the database keeps tenants apart")
@pytest.mark.django_db(transaction=True)
def test_a_role_that_always_sees_everything_is_told_of() -> None:
    if "WORKFLOW_TEST_POOLER" in os.environ:
        pytest.skip("a pooler lets no superuser through")
    host = connection.settings_dict["HOST"]
    with psycopg.connect(host=host, user=SUPERUSER, dbname="postgres", autocommit=True) as superuser:
        if superuser.info.server_version < 160000:
            inherits, apart = f"ALTER ROLE {APPLICATION} INHERIT", f"ALTER ROLE {APPLICATION} NOINHERIT"
        else:
            inherits = f"GRANT {CROSSING} TO {APPLICATION} WITH INHERIT TRUE"
            apart = f"GRANT {CROSSING} TO {APPLICATION} WITH INHERIT FALSE"
        superuser.execute(inherits)
        try:
            with as_application():
                assert told_of_roles() == ["workflow.E011"]
        finally:
            superuser.execute(apart)
        superuser.execute(f"ALTER ROLE {APPLICATION} BYPASSRLS")
        try:
            with as_application():
                assert told_of_roles() == ["workflow.W012"]
        finally:
            superuser.execute(f"ALTER ROLE {APPLICATION} NOBYPASSRLS")
