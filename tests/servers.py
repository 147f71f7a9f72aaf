"""Give a test run its own PostgreSQL and Valkey, before Django's settings are read.

Loaded by name from pyproject (``-p tests.servers``): a conftest would come too late. DATABASE_URL and REDIS_URL of
the caller are never used, they may be a product's; bin/test says with WORKFLOW_TEST_SERVERS that those it names are
for tests. With xdist only the controller starts them, and every worker gets its own Valkey database, key prefix and figures
(its own PostgreSQL database comes from pytest-django).
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import tempfile
from collections.abc import Generator
from pathlib import Path

import psycopg
import pytest

from tests.pooler import POOLED, socket_folder, start_pooler
from tests.prepared import CLONED, copy_cluster
from workflowplatform.servers.embedded import Embedded
from workflowplatform.servers.paths import DataFolder
from workflowplatform.servers.postgres import APPLICATION, DATABASE, ROLE, SUPERUSER
from workflowplatform.servers.processes import ProcessGroup
from workflowplatform.servers.running import OWNER_ADDRESS

TEST_ENVIRONMENT = {
    "DJANGO_SETTINGS_MODULE": "workflowplatform.settings",
    "SECRET_KEY": "only-for-tests-" + "k" * 50,
    "WORKFLOW_LOOPBACK": "1",
    "WORKFLOW_FUNCTIONS": "engine.extensions.functions,engine.gallery.office,tests.flaky",
    "WORKFLOW_TOKEN_REQUESTS": "0",  # only where a test counts them
    "WORKFLOW_TENANT_REQUESTS": "0",
    "WORKFLOW_DIAGRAMS": "0",  # only where a test wants them
    "WORKFLOW_TRANSACTION_SECONDS": "60",
    "WORKFLOW_RETENTION": "0",
    "WORKFLOW_APPLICATION_ROLE": APPLICATION,
    "WORKFLOW_AUDIT_ROOTS": "0",
    "WORKFLOW_TURN_SECONDS": "60",
    "WORKFLOW_SLICE_SECONDS": "60",  # a busy machine must not add an InternalContinue that a test counts
}


@pytest.hookimpl(tryfirst=True, wrapper=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None, None, None]:
    """Prepare the environment around everything that reads settings."""
    os.environ.update(TEST_ENVIRONMENT)
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker:
        _separate_worker(int(worker.removeprefix("gw")) + 1)
    elif "WORKFLOW_TEST_SERVERS" not in os.environ:
        start_servers(with_tables=not early_config.pluginmanager.is_blocked("django"))
    if not worker:
        signal.signal(signal.SIGTERM, lambda *_: pytest.exit("told to end", 143))  # what tests have started is stopped
    return (yield)


def start_servers(*, with_tables: bool = True) -> tuple[ProcessGroup, DataFolder]:
    """Start servers that end with this process, and write their addresses into its environment.

    Tests without Django need no tables.
    """
    folder = Path(tempfile.mkdtemp(prefix="wftest-"))
    folder.chmod(0o755)
    # Last in, first out: the servers stop before their folder goes. A run that ends in an error passes here too.
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ["WORKFLOW_DATA"] = str(folder)
    (folder / "static").mkdir()  # whitenoise warns without it
    data = DataFolder(folder)
    data.prepare()
    if with_tables and copy_cluster(data):
        os.environ[CLONED] = DATABASE
    group = ProcessGroup()
    atexit.register(group.stop_all)
    embedded = Embedded(group, data, careless=True)
    embedded.start_missing({})
    # Tests put rows where they like, as the owner; the processes that they start are the application (tests/application.py).
    os.environ.pop(OWNER_ADDRESS, None)
    addresses = dict(embedded.addresses)
    addresses["DATABASE_URL"] = addresses.pop(OWNER_ADDRESS)
    os.environ.update(addresses, WORKFLOW_TEST_SERVERS="1")
    server = socket_folder(addresses["DATABASE_URL"])
    _let_tables_be_emptied(server)
    if "WORKFLOW_TEST_POOLER" in os.environ:
        address = start_pooler(group, data=data, server=server, name=DATABASE)
        os.environ.update(POOLED, DATABASE_URL=address)
    return group, data


def _let_tables_be_emptied(server: str) -> None:
    """Allow the tests' role to delete past triggers and foreign keys (tests/emptying.py); the product's role may not."""
    with psycopg.connect(host=server, user=SUPERUSER, dbname="postgres", autocommit=True) as connection:
        connection.execute(f"GRANT SET ON PARAMETER session_replication_role TO {ROLE}")


def _separate_worker(number: int) -> None:
    address = os.environ["REDIS_URL"]
    if address.startswith("unix://"):
        os.environ["REDIS_URL"] = f"{address.partition('?')[0]}?db={number}"
    os.environ["WORKFLOW_REDIS_PREFIX"] = f"gw{number}:"
    figures = Path(os.environ["WORKFLOW_DATA"]) / f"metrics-{number}"
    figures.mkdir(exist_ok=True)
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(figures)
