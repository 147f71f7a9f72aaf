"""Two hosts begin a release together: their migrations come one after the other."""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from io import StringIO

import psycopg
import pytest
from django.core.management import call_command
from django.db import connection

from benchmarks.faults.own_servers import own_servers
from engine.db.advisory_locks import LOCK
from tests.workers import ROOT
from workflowplatform.management.commands.migrate import LOCKED


def migrating(address: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "manage.py", "migrate", "--verbosity", "1"],
        cwd=ROOT, env={**os.environ, "DATABASE_URL": address}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_a_migration_waits_for_the_one_that_has_the_lock(transactional: None) -> None:
    told, taken = StringIO(), psycopg.connect(**connection.get_connection_params())
    with taken, ThreadPoolExecutor(1) as pool:
        taken.execute(LOCK, [[LOCKED]])
        waiting = pool.submit(_migrate_alone, told)
        while "Waiting" not in told.getvalue():
            assert not waiting.done(), told.getvalue()
            time.sleep(0.02)
        taken.rollback()
        waiting.result(timeout=120)


def _migrate_alone(told: StringIO) -> None:
    try:
        call_command("migrate", verbosity=0, stderr=told)
    finally:
        connection.close()


@pytest.mark.slow
def test_of_two_migrations_at_once_one_waits_for_the_other() -> None:
    with own_servers(new=True) as servers:
        address = servers.start_postgres()
        both = [migrating(address), migrating(address)]
        told = [process.communicate(timeout=300) for process in both]
        assert [process.returncode for process in both] == [0, 0], told
        applied = [out.count("Applying ") for out, _ in told]
        assert min(applied) == 0
        assert sum("Waiting" in err for _, err in told) == 1
        with psycopg.connect(address) as line:
            rows = line.execute("SELECT count(*), count(DISTINCT (app, name)) FROM django_migrations").fetchone()
        assert rows == (max(applied), max(applied))
