"""`bin/up` sets two database roles up by itself, on a new data folder and on one of the release before there were two."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import cast

import psycopg
import pytest

from tests.platform.sandbox import Running, Sandbox, running
from workflowplatform.servers.paths import PROJECT, DataFolder
from workflowplatform.servers.postgres import APPLICATION, CROSSING, ROLE, SUPERUSER
from workflowplatform.servers.processes import ProcessGroup
from workflowplatform.servers.running import OWNER_ADDRESS, find_running
from workflowplatform.servers.up import Product

DEVSERVER = (sys.executable, "-m", "workflowplatform.servers.devserver", "--data")
TABLES = """
SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND relname ~ '^wf_'
  AND relname NOT IN ('wf_host_locks', 'wf_audit_roots', 'wf_sign_in_tallies')
"""
OPEN = """
SELECT format('ALTER TABLE %I DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY', relname) FROM pg_class
WHERE relrowsecurity
"""
UNPOLICED = (
    "SELECT format('DROP POLICY %I ON %I', polname, relname) FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid"
)


def manage(sandbox: Sandbox, *words: str) -> str:
    done = sandbox.manage(*words, WORKFLOW_DATA=str(sandbox.data))
    assert done.returncode == 0, done.stderr
    return done.stdout


def asked_as(sandbox: Sandbox, role: str, asked: str) -> list[tuple[object, ...]]:
    address = find_running(sandbox.data)[OWNER_ADDRESS].replace(f"//{ROLE}@", f"//{role}@")
    with psycopg.connect(address, autocommit=True) as connection:
        return connection.execute(asked.encode()).fetchall()


def make_old(sandbox: Sandbox) -> None:
    """Make what the release before left: one role, which owns all tables, and no wall."""
    address = find_running(sandbox.data)[OWNER_ADDRESS].replace(f"//{ROLE}@", f"//{SUPERUSER}@")
    with psycopg.connect(address, autocommit=True) as connection:
        for asked in (UNPOLICED, OPEN):
            for (words,) in connection.execute(asked.encode()).fetchall():
                connection.execute(words.encode())
        connection.execute(f"DROP OWNED BY {APPLICATION}, {CROSSING}".encode())
        connection.execute(f"DROP ROLE {APPLICATION}, {CROSSING}".encode())


def serve(sandbox: Sandbox) -> Running:
    return Running(sandbox, *DEVSERVER, sandbox.data, PYTHONPATH=str(PROJECT))


@pytest.mark.slow
@pytest.mark.security("the database keeps tenants apart")
def test_a_folder_of_the_release_before_gets_its_wall_and_loses_nothing(sandbox: Sandbox) -> None:
    old = serve(sandbox)
    old.await_line("DATABASE_URL=")
    manage(sandbox, "migrate", "--verbosity", "0")
    manage(sandbox, "tenant", "create", "acme")
    make_old(sandbox)
    assert asked_as(sandbox, ROLE, "SELECT name FROM wf_tenants") == [("acme",)]
    old.stop()
    with running(sandbox, *DEVSERVER, sandbox.data, PYTHONPATH=str(PROJECT)) as new:
        new.await_line("DATABASE_URL=")
        manage(sandbox, "migrate", "--verbosity", "0")
        assert asked_as(sandbox, ROLE, "SELECT name FROM wf_tenants") == [("acme",)]
        assert asked_as(sandbox, APPLICATION, "SELECT name FROM wf_tenants") == []
        (tables,) = asked_as(sandbox, ROLE, f"SELECT count(*) FROM ({TABLES}) t")
        assert asked_as(sandbox, ROLE, "SELECT count(*) FROM pg_class WHERE relforcerowsecurity")[0] >= tables[:1]
        assert "acme" in manage(sandbox, "shell", "--no-imports", "-c", LISTED)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            asked_as(sandbox, APPLICATION, "DELETE FROM wf_audit RETURNING 1")


LISTED = "from workflowplatform.accounts.models import Tenant; print(*Tenant.objects.values_list('name', flat=True))"


def test_web_and_workers_are_not_told_who_owns_the_tables(tmp_path: Path) -> None:
    nobody = cast(ProcessGroup, None)  # nothing is started here
    product = Product(nobody, DataFolder(tmp_path), {"DATABASE_URL": "a", OWNER_ADDRESS: "b"})
    assert product._environment_of("web") == product._environment_of("worker") == {"DATABASE_URL": "a"}
    assert product._environment_of("migrate") == product.environment
