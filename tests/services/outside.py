"""An outside world of its own: a small web server on loopback that answers as its path says and remembers what came."""

from __future__ import annotations

import gzip
import json
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import quote


@dataclass
class Outside:
    """The server's address, and every request it got: method, path, headers, body."""

    port: int
    requests: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"


class _Handler(BaseHTTPRequestHandler):
    outside: Outside

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.outside.requests.append((self.command, self.path, headers, body))
        act, _, rest = self.path.lstrip("/").partition("/")
        getattr(self, f"act_{act}")(rest)

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = _answer  # noqa: N815

    def send(self, status: int, body: bytes, kind: str = "application/json", **headers: str) -> None:
        self.send_response(status)
        for name, value in {"content-type": kind, "content-length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def act_status(self, rest: str) -> None:
        self.send(int(rest), b'{"said": "so"}')

    def act_json(self, rest: str) -> None:
        self.send(200, json.dumps({"ok": True}).encode())

    def act_graphql(self, rest: str) -> None:
        """Answer for one order, and refuse another as GraphQL servers do: with status 200."""
        asked = json.loads(self.outside.requests[-1][3])
        number = (asked.get("variables") or {}).get("id")
        found: dict[str, Any] = {"data": {"order": {"id": number, "total": 12}}}
        if number == "0":
            first = {"message": "There is no order 0.", "path": ["order"], "extensions": {"code": "NOT_FOUND"}}
            found = {"data": {"order": None}, "errors": [first, {"message": "and more"}]}
        self.send(200, json.dumps(found).encode(), "application/graphql-response+json; charset=utf-8")

    def act_say(self, rest: str) -> None:
        """Answer what the variables say."""
        self.send(200, json.dumps(json.loads(self.outside.requests[-1][3])["variables"]["say"]).encode())

    def act_raw(self, rest: str) -> None:
        self.send(200, {"nan": b'{"n": NaN}', "nul": b'"a\\u0000b"', "big": b"90071992547409939"}[rest])

    def act_text(self, rest: str) -> None:
        self.send(200, "grüß\0e".encode(), "text/plain; charset=utf-8")

    def act_large(self, rest: str) -> None:
        self.send(200, b"x" * 1_100_000, "text/plain")

    def act_bomb(self, rest: str) -> None:
        self.send(200, gzip.compress(b"0" * 50_000_000), "text/plain", **{"content-encoding": "gzip"})

    def act_packed(self, rest: str) -> None:
        self.send(200, gzip.compress(b'{"packed": true}'), **{"content-encoding": "gzip"})

    def act_slow(self, rest: str) -> None:
        time.sleep(float(rest))  # sleep: a slow server
        self.send(200, b"{}")

    def act_drip(self, rest: str) -> None:
        self.send_response(200)
        self.end_headers()
        with suppress(OSError):
            for _ in range(300):
                self.wfile.write(b".")
                time.sleep(0.1)  # sleep: a server that never ends

    def act_cut(self, rest: str) -> None:
        self.close_connection = True

    def act_loop(self, rest: str) -> None:
        self.send(302, b"", location=f"/loop/{int(rest or 0) + 1}")

    def act_mirror(self, rest: str) -> None:
        """Answer with what was sent, as a careless server does: in the body, a header and the reason."""
        _, path, headers, body = self.outside.requests[-1]
        sent = headers.get("authorization", "")
        said = {"path": path, "headers": headers, "body": body.decode(), "told": {sent: [f"<{sent}>", quote(sent)]}}
        told = json.dumps(said).encode()
        self.send_response(int(rest.partition("?")[0] or 200), f"You sent {sent}")
        for name, value in {
            "content-type": "application/json",
            "content-length": str(len(told)),
            "x-sent": sent,
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(told)

    def act_moved(self, rest: str) -> None:
        """Redirect with the status after /moved/ to the address behind it."""
        status, _, target = rest.partition("/")
        self.send(int(status), b"", location=target)

    def act_to(self, rest: str) -> None:
        """Redirect to the address after /to/."""
        self.send(307, b"", location=rest)

    def log_message(self, *args: Any) -> None:
        """Log nothing."""


@contextmanager
def outside_world() -> Generator[Outside]:
    """Run the server in a thread for as long as the block lasts."""
    handler = type("Handler", (_Handler,), {})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    outside = Outside(server.server_port)
    handler.outside = outside  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield outside
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
