"""The clients of each competitor: processes that work when it is their turn and are stopped while it is not."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[2]
THEIRS = PROJECT / ".venv-peers" / "bin" / "python"
"""What runs the competitors that are not ours: `bin/peers` makes it."""
OURS = "ours"


@dataclass(frozen=True, slots=True)
class Peer:
    """A competitor: which module plays it, in which database, and which works it knows."""

    name: str
    module: str
    database: str
    works: tuple[str, ...] = ("w1", "w2")
    arguments: tuple[str, ...] = ()
    is_theirs: bool = False
    """Whether it needs packages that are not ours."""


PEERS = (
    Peer(OURS, "benchmarks.peers.ours", "workflow"),
    Peer("Viewflow", "benchmarks.peers.viewflow_peer", "peer_viewflow", ("w1",), is_theirs=True),
    Peer("DBOS, steps", "benchmarks.peers.dbos_peer", "peer_dbos_steps", arguments=("steps",), is_theirs=True),
    Peer("DBOS, inline", "benchmarks.peers.dbos_peer", "peer_dbos_inline", ("w1",), ("inline",), is_theirs=True),
    Peer("one RQ job per signal", "benchmarks.peers.rq_peer", "workflow", ("w2",)),
    Peer("floor", "benchmarks.peers.floor", "peer_floor"),
)


class ClientFailed(Exception):
    """A client of a competitor ended before it answered."""


@dataclass(slots=True)
class Client:
    """One running client."""

    process: subprocess.Popen[str]
    name: str

    def order(self, work: str, units: int) -> None:
        """Let it begin."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"work": work, "units": units}) + "\n")
        self.process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        """Wait until it has done what was ordered."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise ClientFailed(f"{self.name} ended with {self.process.wait()}")
        found: dict[str, Any] = json.loads(line)
        return found

    def pause(self) -> None:
        """Stop it in the middle of whatever it does in the background."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it continue."""
        self.process.send_signal(signal.SIGCONT)

    def end(self) -> None:
        """End it and its connections, so that the server counts what they wrote."""
        self.resume()
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(60)


@dataclass(slots=True)
class Crew:
    """The clients of one competitor."""

    peer: Peer
    host: str
    user: str
    clients: list[Client] = field(default_factory=list)

    def start(self, count: int) -> None:
        """Start so many clients; the first one prepares its database before the others come."""
        self.clients.append(self._started(0))
        self.clients[0].answer()
        self.clients += [self._started(number) for number in range(1, count)]
        for client in self.clients[1:]:
            client.answer()
        self.pause()

    def _started(self, number: int) -> Client:
        python = str(THEIRS) if self.peer.is_theirs else sys.executable
        place = (self.host, self.user, self.peer.database, str(number), *self.peer.arguments)
        process = subprocess.Popen(
            [python, "-m", self.peer.module, *place],
            cwd=PROJECT, env=dict(os.environ), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        return Client(process, f"{self.peer.name}, client {number}")

    def work(self, work: str, units: int, clients: int) -> float:
        """Let so many clients do so many units each; return the processor time that they used."""
        busy: Sequence[Client] = self.clients[:clients]
        for client in busy:
            client.order(work, units)
        return sum(float(client.answer()["cpu"]) for client in busy)

    def resume(self) -> None:
        """Wake all clients for their turn."""
        for client in self.clients:
            client.resume()

    def pause(self) -> None:
        """Keep all clients from working in the background while others are measured."""
        for client in self.clients:
            client.pause()

    def end(self) -> None:
        """End all clients."""
        while self.clients:
            self.clients.pop().end()
