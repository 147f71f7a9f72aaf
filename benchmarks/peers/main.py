"""Let all competitors take turns on one PostgreSQL: `manage.py bench peers [--short] [--json] [--write]`."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from benchmarks.peers.crew import PEERS, PROJECT, THEIRS, Crew, Peer
from benchmarks.peers.figures import Count, Measured, Turn
from benchmarks.peers.server import Server
from benchmarks.private import private_servers


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured."""

    rounds: int
    clients: tuple[int, ...]
    units: dict[str, int]
    """Cases of one client in one round."""
    counted: int
    """Cases of which rows and index entries are counted."""


WHOLE = Size(rounds=9, clients=(1, 8), units={"w1": 40, "w2": 40}, counted=60)
SHORT = Size(rounds=1, clients=(1, 2), units={"w1": 3, "w2": 3}, counted=5)


class PeersMissing(Exception):
    """The packages of the competitors are not installed."""


def install() -> None:
    """Make the environment of the competitors, if it is not there."""
    done = subprocess.run([str(PROJECT / "bin" / "peers")], stdout=sys.stderr, check=False)
    if done.returncode or not THEIRS.exists():
        raise PeersMissing("The competitors could not be installed: bin/peers says why.")


def measure(size: Size, peers: Sequence[Peer] = PEERS) -> Measured:
    """Start servers and clients, warm up, let all take turns, and count what a case writes."""
    with servers() as server:
        for peer in peers:
            server.create(peer.database)
        crews = [Crew(peer, server.host, server.user) for peer in peers]
        try:
            for crew in crews:
                crew.start(max(size.clients))
            rounds = tuple(_rounds(server, crews, size))
        finally:
            for crew in crews:
                crew.end()
        counts = [_count(server, peer, work, size.counted) for peer in peers for work in peer.works]
    return Measured(rounds, tuple(counts))


@contextmanager
def servers() -> Iterator[Server]:
    """Start private servers that keep every promise, with the product's own budgets of time, and the measured workflows."""
    with private_servers(functions="benchmarks.functions", careless=False, unhurried=False):
        from django.db import connection  # noqa: PLC0415

        from benchmarks.bench_tenant import set_up_tenant  # noqa: PLC0415
        from workflowplatform.servers.postgres import DATABASE, ROLE  # noqa: PLC0415

        set_up_tenant()
        host = connection.get_connection_params()["host"]
        connection.close()
        yield Server(host, ROLE, DATABASE)


def _rounds(server: Server, crews: Sequence[Crew], size: Size) -> Iterator[tuple[Turn, ...]]:
    """Play one round to warm up, then all others, the order reversed every other time."""
    for number in range(size.rounds + 1):
        order = crews if number % 2 == 0 else crews[::-1]
        played = tuple(
            _turn(server, crew, work, size.units[work], clients)
            for work in size.units
            for clients in size.clients
            for crew in order
            if work in crew.peer.works
        )
        if number:
            yield played


def _turn(server: Server, crew: Crew, work: str, units: int, clients: int) -> Turn:
    crew.resume()
    with server.connect() as connection:
        before, began = server.log_position(connection), time.perf_counter()
        cpu = crew.work(work, units, clients)
        seconds, after = time.perf_counter() - began, server.log_position(connection)
    crew.pause()
    return Turn(work, clients, crew.peer.name, units * clients, seconds, cpu, after - before)


def _count(server: Server, peer: Peer, work: str, units: int) -> Count:
    """Let a client of its own do so many cases, and read in the log what they wrote."""
    crew = Crew(peer, server.host, server.user)
    crew.start(1)
    crew.resume()
    reading = server.read_log(peer.database)
    crew.work(work, units, 1)
    log = reading.end()
    crew.end()
    return Count(work, peer.name, log.rows.total() / units, log.entries.total() / units, log.bytes / units)


def main() -> None:
    """Measure and print everything on one line: `python -m benchmarks.peers.main [--short]`."""
    began = time.monotonic()
    measured = measure(SHORT if "--short" in sys.argv else WHOLE)
    sys.stdout.write(json.dumps(measured.to_dict() | {"seconds": time.monotonic() - began}) + "\n")


if __name__ == "__main__":
    main()
