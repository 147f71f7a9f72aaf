"""Migrate once per run: bin/test prepares a cluster, and each family starts with a copy of it.

Its database holds every migration. Each test process clones it, which takes a tenth of a second where the migrations take
five; a product that a test starts finds it as if left by an earlier start. A run by hand keeps its cluster for the next, until
something changes that shapes the database. Another PostgreSQL and a pooler migrate for themselves.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from workflowplatform.servers.paths import PROJECT, DataFolder

VARIABLE = "WORKFLOW_TEST_CLUSTER"
"""Names the folder of the prepared cluster."""
CLONED = "WORKFLOW_TEST_TEMPLATE"
"""Says that this server's cluster is a copy of the prepared one."""
PREPARING = "WORKFLOW_TEST_PREPARING"
"""Says that this process makes the cluster that others copy."""
SHAPES = (
    *("*/migrations/*.py", "*/*/migrations/*.py", "engine/models/*.py", "*/*/models.py"),
    *("workflowplatform/database/*.py", "workflowplatform/servers/*.py", "workflowplatform/management/commands/*.py"),
)
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
    if PREPARING in os.environ or "WORKFLOW_TEST_POOLER" in os.environ or "WORKFLOW_POSTGRES_MAJOR" in os.environ:
        return False
    kept = os.environ.get(VARIABLE) or _kept_by_hand()
    subprocess.run(["cp", "-a", str(kept), str(data.server_home() / "postgres")], check=True)
    return True


def _kept_by_hand() -> Path:
    """Return the cluster that runs by hand share, made anew where what shapes the database has changed."""
    folder = PROJECT / ".pytest_cache" / f"cluster-{_digest()}"
    if not folder.exists():
        for stale in folder.parent.glob("cluster-*"):
            shutil.rmtree(stale, ignore_errors=True)
        half = folder.with_name(f"making-{folder.name}-{os.getpid()}")
        half.parent.mkdir(exist_ok=True)
        subprocess.run([sys.executable, "-m", "tests.prepared", str(half)], cwd=PROJECT, check=True)
        if folder.exists():  # another run was quicker
            shutil.rmtree(half)
        else:
            half.rename(folder)
    return folder


def _digest() -> str:
    """Return what changes with the migrations, what they read, and the libraries that bring their own."""
    read = ["requirements.txt", *SHAPES]
    files = sorted(file for name in read for file in PROJECT.glob(name))
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


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

    os.environ.update(TEST_ENVIRONMENT, **{PREPARING: "1"})
    group, data = start_servers()
    django.setup()
    call_command("migrate", verbosity=0)
    group.stop_all()
    shutil.move(data.server_home() / "postgres", folder)


if __name__ == "__main__":
    _prepare(Path(sys.argv[1]))
