"""The product under test: `bin/up` in processes of its own, on servers of its own."""

from __future__ import annotations

import contextlib
import signal
import socket
from collections.abc import Generator
from dataclasses import dataclass

from tests.platform.sandbox import Running, Sandbox, a_sandbox
from tests.prepared import copy_cluster
from workflowplatform.servers.paths import PROJECT, DataFolder
from workflowplatform.servers.running import OWNER_ADDRESS, find_running

READY_SECONDS = 180.0


@dataclass(slots=True)
class Product:
    """One data folder and whatever `up` currently runs on it."""

    sandbox: Sandbox
    words: tuple[str, ...]
    settings: dict[str, str]
    port: int
    address: str = ""
    running: Running | None = None

    def start(self) -> None:
        """Bring it up and wait until it is ready; the same port again keeps people signed in."""
        up = PROJECT / "bin" / "up"
        words = ("--data", str(self.sandbox.data), "--port", str(self.port), "--workers", "1", *self.words)
        self.running = Running(self.sandbox, up, *words, **self.settings)
        self.address = self.running.await_line("ready ", READY_SECONDS).removeprefix("ready ")

    def manage(self, *words: str) -> None:
        """Run a management command on it."""
        done = self.sandbox.manage(*words, WORKFLOW_DATA=str(self.sandbox.data))
        assert done.returncode == 0, done.stderr

    def manage_as_owner(self, *words: str) -> str:
        """Run a management command as the role that owns the tables, past every right of the application; return its output."""
        found = find_running(self.sandbox.data)
        addresses = {"DATABASE_URL": found[OWNER_ADDRESS], "REDIS_URL": found["REDIS_URL"]}
        done = self.sandbox.manage(*words, WORKFLOW_DATA=str(self.sandbox.data), **addresses)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def kill(self) -> None:
        """End it as a power cut would."""
        assert self.running
        self.running.stop(signal.SIGKILL)


@contextlib.contextmanager
def a_product(*words: str, **settings: str) -> Generator[Product, None, None]:
    """Run the product for the length of a block; what it leaves running afterwards is a defect."""
    with a_sandbox() as sandbox:
        product = Product(sandbox, words, settings, _free_port())
        data = DataFolder(sandbox.data)
        data.prepare()
        copy_cluster(data)
        try:
            product.start()
            yield product
        finally:
            if product.running:
                product.running.stop()
        assert sandbox.leftovers() == []


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
