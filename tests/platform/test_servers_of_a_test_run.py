"""The servers a test run gives itself."""

from __future__ import annotations

import os

import psycopg
import redis


def test_run_has_a_postgresql_that_is_no_superusers() -> None:
    with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
        row = connection.execute("select current_user, rolsuper from pg_roles where rolname = current_user").fetchone()
    assert row == ("workflow", False)


def test_run_has_an_empty_valkey(valkey: redis.Redis) -> None:
    assert valkey.ping()
    assert valkey.dbsize() == 0
