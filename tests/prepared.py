"""Migrate once per run: bin/test prepares a cluster, and each family starts with a copy of it.

Its database holds every migration. Each test process clones it, which takes a tenth of a second where the migrations take
five; a product that a test starts finds it as if left by an earlier start. A run by hand, another PostgreSQL and a pooler
migrate for themselves.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from workflowplatform.servers.paths import PROJECT, DataFolder

VARIABLE = "WORKFLOW_TEST_CLUSTER"
"""Names the folder of the prepared cluster."""
CLONED = "WORKFLOW_TEST_TEMPLATE"
"""Says that this server's cluster is a copy of the prepared one."""
REMEMBERED = """
SELECT format('ALTER DATABASE %%I SET %%s = %%L', current_database(), split_part(one, '=', 1), split_part(one, '=', 2))
FROM pg_db_role_setting s JOIN pg_database d ON d.oid = s.setdatabase, unnest(s.setconfig) one
WHERE d.datname = %s AND s.setrole = 0
"""
"""A clone has the tables of its template, but not what ALTER DATABASE made the template remember."""


class Prepared:
    """Make the cluster in a process of its own, while families that need none are already at work."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        """Begin."""
        self._folder = folder
        command = [sys.executable, "-m", "tests.prepared", str(folder)]
        self._making = subprocess.Popen(command, cwd=PROJECT, env=dict(environment))

    def __call__(self) -> dict[str, str]:
        """Wait until it is there, and name it; without it every process migrates for itself."""
        return {} if self._making.wait() else {VARIABLE: str(self._folder)}


def copy_cluster(data: DataFolder) -> bool:
    """Give a data folder a copy of the prepared cluster; return whether there is one that fits."""
    kept = os.environ.get(VARIABLE)
    if kept is None or "WORKFLOW_TEST_POOLER" in os.environ or "WORKFLOW_POSTGRES_MAJOR" in os.environ:
        return False
    subprocess.run(["cp", "-a", kept, str(data.server_home() / "postgres")], check=True)
    return True


@contextmanager
def cloned_instead_of_migrated() -> Iterator[None]:
    """Let Django clone the prepared database for the tests, where there is one."""
    from django.db import connection

    from workflowplatform.management.commands.migrate import Command

    if CLONED not in os.environ:
        yield
        return
    connection.settings_dict["TEST"]["TEMPLATE"] = os.environ[CLONED]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Command, "handle", _remember)
        yield


def _remember(*command: object, **options: Any) -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(REMEMBERED, [os.environ[CLONED]])
        for (statement,) in cursor.fetchall():
            cursor.execute(statement)
    connection.close()  # the next session begins with what was remembered


def _prepare(folder: Path) -> None:
    """Start a server, migrate a database, stop, and leave the cluster where it is asked for."""
    import django
    from django.core.management import call_command

    from tests.servers import TEST_ENVIRONMENT, start_servers

    os.environ.update(TEST_ENVIRONMENT)
    group, data = start_servers()
    django.setup()
    call_command("migrate", verbosity=0)
    group.stop_all()
    shutil.move(data.server_home() / "postgres", folder)


if __name__ == "__main__":
    _prepare(Path(sys.argv[1]))
