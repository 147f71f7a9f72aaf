"""Two hosts begin a release together: their migrations come one after the other."""

import os
import subprocess
import sys

import psycopg

from benchmarks.faults.own_servers import own_servers
from tests.workers import ROOT


def migrating(address: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "manage.py", "migrate", "--verbosity", "1"],
        cwd=ROOT, env={**os.environ, "DATABASE_URL": address}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_of_two_migrations_at_once_one_waits_for_the_other() -> None:
    with own_servers() as servers:
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
