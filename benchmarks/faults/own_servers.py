"""Servers that a trial may stop, and a way to make this process use them instead of those that the settings name."""

import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.db import connection, connections

from tests.prepared import copy_cluster
from workflowplatform.servers import paths
from workflowplatform.servers.database_url import from_url
from workflowplatform.servers.postgres import start_postgres
from workflowplatform.servers.processes import Child, ProcessGroup
from workflowplatform.servers.valkey import start_valkey

WHERE = ("NAME", "USER", "HOST", "PORT", "PASSWORD")


@dataclass(slots=True)
class OwnServers:
    """A PostgreSQL and a Valkey of one trial, each up or down as the trial wants it. Only the main thread may ask."""

    group: ProcessGroup
    data: paths.DataFolder
    sockets: Path
    postgres: Child | None = None
    valkey: Child | None = None

    def start_postgres(self) -> str:
        """Start it and answer its owner's address once it answers; it keeps what it promised, as a product's does."""
        server = start_postgres(self.group, data=self.data, sockets=self.sockets)
        self.postgres = server.child
        return server.owner_url

    def stop_postgres_at_once(self) -> None:
        """Stop it as `pg_ctl stop -m immediate` does: no connection is asked, nothing is written any more."""
        assert self.postgres is not None
        self.postgres.process.send_signal(signal.SIGQUIT)
        self.postgres.process.wait()
        self.group.forget(self.postgres)

    def start_valkey(self) -> str:
        """Start it, empty, and answer its address."""
        server = start_valkey(self.group, data=self.data, sockets=self.sockets)
        self.valkey = server.child
        return server.url

    def stop_valkey(self) -> None:
        """Stop it; it forgets everything."""
        assert self.valkey is not None
        self.group.stop(self.valkey)


@contextmanager
def own_servers(*, new: bool = False) -> Iterator[OwnServers]:
    """Provide servers of one's own, none of them started yet; nothing of them is left. In bin/test their database is migrated."""
    folder = Path(tempfile.mkdtemp(prefix="wf-own-"))
    folder.chmod(0o755)
    group = ProcessGroup()
    try:
        data = paths.DataFolder(folder)
        data.prepare()
        if not new:
            copy_cluster(data)
        yield OwnServers(group, data, group.keep_folder(paths.make_socket_folder()))
    finally:
        group.stop_all()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def own_redis() -> Iterator[OwnServers]:
    """Make this process, and all it forks, use a Valkey of its own."""
    before = settings.REDIS_URL
    with own_servers() as servers:
        _use_redis(servers.start_valkey())
        try:
            yield servers
        finally:
            _use_redis(before)


@contextmanager
def own_house() -> Iterator[OwnServers]:
    """Make this process, and all it forks, use an empty PostgreSQL and a Valkey of its own."""
    with own_redis() as servers:
        before = {name: connection.settings_dict[name] for name in WHERE}
        _use_database({**dict.fromkeys(WHERE, ""), **from_url(servers.start_postgres())})
        try:
            call_command("migrate", verbosity=0)
            yield servers
        finally:
            _use_database(before)


def _use_redis(address: str) -> None:
    settings.REDIS_URL = address
    settings.RQ_QUEUES["default"]["URL"] = address


def _use_database(where: dict[str, str]) -> None:
    connections.close_all()
    connection.settings_dict.update({name: where[name] for name in WHERE})
