"""Start the embedded servers that the environment does not already name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from workflowplatform.servers import paths
from workflowplatform.servers.postgres import start_postgres
from workflowplatform.servers.processes import Child, ProcessGroup
from workflowplatform.servers.running import ADDRESSES, OWNER_ADDRESS
from workflowplatform.servers.supervisor import Service
from workflowplatform.servers.valkey import start_valkey


class Embedded:
    """Hold the servers of one group and the addresses to reach them at."""

    def __init__(self, group: ProcessGroup, data: paths.DataFolder, *, careless: bool = False) -> None:
        """Remember for whom to start servers; careless ones may lose data in a power cut (tests)."""
        self.addresses: dict[str, str] = {}
        self._household = group
        self._data = data
        self._careless = careless
        self._sockets: Path | None = None

    def start_missing(self, environment: Mapping[str, str]) -> list[Service]:
        """Start what the environment does not name, and answer it as services to look after."""
        self.addresses = {name: environment[name] for name in ADDRESSES if environment.get(name)}
        starts = {"REDIS_URL": ("valkey", self._start_valkey), "DATABASE_URL": ("postgres", self._start_postgres)}
        missing = [start for name, start in starts.items() if name not in self.addresses]
        return [Service(name=name, start=start, child=start()) for name, start in missing]

    def _start_postgres(self) -> Child:
        sockets = self._socket_folder()
        server = start_postgres(self._household, data=self._data, sockets=sockets, careless=self._careless)
        self.addresses |= {"DATABASE_URL": server.url, OWNER_ADDRESS: server.owner_url}
        return server.child

    def _start_valkey(self) -> Child:
        server = start_valkey(self._household, data=self._data, sockets=self._socket_folder())
        self.addresses["REDIS_URL"] = server.url
        return server.child

    def _socket_folder(self) -> Path:
        """Make it once: a server that comes back comes back at the same address."""
        if self._sockets is None:
            self._sockets = self._household.keep_folder(paths.make_socket_folder())
        return self._sockets
