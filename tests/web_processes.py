"""The web as the product starts it, for tests: on a socket of its own, serving the test's own database."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import httpx

from benchmarks.workers import resident_megabytes
from tests.workers import ROOT, children_of, environment, stop

PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class Web:
    """A running web: the process that owns the socket, and below it those that serve."""

    address: str
    process: subprocess.Popen[bytes]

    def serving(self) -> list[int]:
        """Return the processes that serve, or are about to, the eldest first."""
        return children_of(self.process.pid)

    def megabytes(self, which: str) -> int:
        """Read what the only serving process holds now (VmRSS), or has held at most (VmHWM)."""
        (pid,) = self.serving()
        return int(resident_megabytes(pid, which))

    def peaks(self) -> dict[int, int]:
        """Read the megabytes that each process has held at most; one that is just ending is left out."""
        found = dict[int, int]()
        for pid in self.serving():
            with suppress(OSError, RuntimeError):
                found[pid] = int(resident_megabytes(pid, "VmHWM"))
        return found

    def kill(self, pid: int) -> None:
        """Kill one of them."""
        assert pid in self.serving()
        os.kill(pid, signal.SIGKILL)


@contextmanager
def a_web(*, processes: int = 1, is_awaited: bool = True, **extra: str) -> Iterator[Web]:
    """Serve for the length of a with-block, without limits on requests."""
    limits = {"WORKFLOW_TOKEN_REQUESTS": "0", "WORKFLOW_TENANT_REQUESTS": "0"}
    with socket.create_server(("127.0.0.1", 0), backlog=200) as listener:
        words = [sys.executable, "-m", "workflowplatform.servers.web", str(listener.fileno()), str(processes)]
        process = subprocess.Popen(
            words, cwd=ROOT, env=environment(limits | extra), pass_fds=[listener.fileno()], start_new_session=True
        )
        try:
            address = f"http://127.0.0.1:{listener.getsockname()[1]}/api/v1/"
            if is_awaited:
                assert httpx.get(address + "health/", timeout=PATIENCE).status_code == 200
            yield Web(address, process)
        finally:
            stop(process)
