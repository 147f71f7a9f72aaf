"""A supplier outside of the product: fails once, then answers, and remembers who called."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Generator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import psutil

FIRST_ANSWERS = (503,)
ORDER_NUMBER = "S-1001"
BANK = "/bank/"
"""Where everything is taken and nothing is noted."""


@dataclass(frozen=True, slots=True)
class Order:
    """One call as it arrived, and the command line of the process that made it."""

    body: dict[str, Any]
    key: str
    caller: str
    answered: int


@dataclass(slots=True)
class Supplier:
    """Take orders at an origin of this machine."""

    origin: str = ""
    orders: list[Order] = field(default_factory=list)

    def answer(self, body: dict[str, Any], key: str, caller: str) -> int:
        """Refuse the first call and take every later one."""
        before = len(self.orders)
        status = FIRST_ANSWERS[before] if before < len(FIRST_ANSWERS) else 200
        self.orders.append(Order(body, key, caller, status))
        return status


@contextlib.contextmanager
def a_supplier() -> Generator[Supplier, None, None]:
    """Open for the length of a block, on a free port of the loopback."""
    supplier = Supplier()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _desk_of(supplier))
    supplier.origin = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield supplier
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _desk_of(supplier: Supplier) -> type[BaseHTTPRequestHandler]:
    class Desk(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            if self.path.startswith(BANK):
                self._answer(200, {"taken": True})
                return
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            caller = _command_behind(self.client_address[1])
            status = supplier.answer(body, self.headers.get("Idempotency-Key", ""), caller)
            self._answer(status, {"number": ORDER_NUMBER} if status == 200 else {"sorry": "later"})

        def _answer(self, status: int, said: dict[str, Any]) -> None:
            answer = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: Any) -> None:
            """Keep the test's output quiet."""

    return Desk


def _command_behind(port: int) -> str:
    """Name the process at the other end of a loopback connection."""
    ours = (line for line in psutil.net_connections("tcp4") if line.laddr and line.laddr.port == port and line.pid)
    pid = next((line.pid for line in ours), None)
    return " ".join(psutil.Process(pid).cmdline()) if pid else ""
