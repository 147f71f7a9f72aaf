"""What `check --deploy` refuses: settings with which a deployment would not be safe."""

import os
import subprocess
import sys
from typing import Any

import psycopg
import pytest
from django.db import connection

from engine.checks import check_database_roles, check_preload, check_redis
from tests.application import as_application
from workflowplatform.servers.paths import PROJECT
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
    assert [[lack for lack in ("a password", "TLS") if lack in message.msg] for message in check_redis()] == [
        [lack] for lack in lacks
    ]


@pytest.mark.parametrize(
    ("subdomains", "preload", "told"),
    [(False, False, []), (True, False, []), (True, True, []), (False, True, ["workflow.E014"])],
)
def test_preloading_promises_subdomains_too(settings: Any, subdomains: bool, preload: bool, told: list[str]) -> None:
    settings.SECURE_HSTS_INCLUDE_SUBDOMAINS, settings.SECURE_HSTS_PRELOAD = subdomains, preload
    assert [message.id for message in check_preload()] == told


HSTS = ("SECURE_HSTS_SECONDS", "SECURE_HSTS_INCLUDE_SUBDOMAINS", "SECURE_HSTS_PRELOAD")


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, "31536000 False False"),
        ({"SECURE_HSTS_INCLUDE_SUBDOMAINS": "1"}, "31536000 True False"),
        ({"SECURE_HSTS_INCLUDE_SUBDOMAINS": "1", "SECURE_HSTS_PRELOAD": "1"}, "31536000 True True"),
        (
            {"WORKFLOW_LOOPBACK": "1", "SECURE_HSTS_INCLUDE_SUBDOMAINS": "1", "SECURE_HSTS_PRELOAD": "1"},
            "0 False False",
        ),
    ],
)
def test_other_hosts_and_browsers_lists_are_promised_on_wish_only(environment: dict[str, str], expected: str) -> None:
    kept = {name: value for name, value in os.environ.items() if name not in (*HSTS, "WORKFLOW_LOOPBACK", "DEBUG")}
    code = f"from workflowplatform import settings; print(*[getattr(settings, name) for name in {HSTS}])"
    given = {"SECRET_KEY": "k" * 60, **kept, **environment}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=PROJECT, env=given, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == expected


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
