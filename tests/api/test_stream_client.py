"""The client that docs/rest.md shows, run against the real stream through a line that is cut in the middle of events."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import socket
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.api.test_stream import Server, note, server, token_of
from tests.cast import Cast
from tests.workers import ROOT

__all__ = ["server"]

EVENTS = 12
PATIENCE = 30.0
"""Seconds; a client that lost the last word would listen for ever."""


def follow() -> Any:
    """Read the function out of the page; it sleeps less here."""
    text = (ROOT / "docs/rest.md").read_text()
    (code,) = (block for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "def follow" in block)
    names: dict[str, Any] = {"contextlib": contextlib, "http": http, "json": json, "time": time, "urllib": urllib}
    exec(code.replace("time.sleep(1)", "time.sleep(0.05)"), names)
    return names["follow"]


class CutLine:
    """A line to the server that tears right before the data of the second event, after its id has passed."""

    def __init__(self, root: str) -> None:
        self.there = urlsplit(root)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.cuts = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                here, _ = self.listener.accept()
                threading.Thread(target=self._pass_on, args=(here,), daemon=True).start()

    def _pass_on(self, here: socket.socket) -> None:
        assert self.there.hostname
        with here, socket.create_connection((self.there.hostname, self.there.port)) as there:
            there.sendall(here.recv(65536))
            passed = b""
            while piece := there.recv(65536):
                found = [match.start() for match in re.finditer(b"data: ", passed + piece)]
                if len(found) > 1:
                    here.sendall((passed + piece)[len(passed) : max(found[1], len(passed))])
                    self.cuts += 1
                    return
                here.sendall(piece)
                passed += piece


@contextmanager
def cut_line(root: str) -> Iterator[CutLine]:
    line = CutLine(root)
    try:
        yield line
    finally:
        line.listener.close()


@pytest.mark.django_db(transaction=True)
def test_the_client_of_the_guide_loses_and_doubles_nothing(committed_cast: Cast, server: Server) -> None:
    cast = committed_cast
    words = [f"word_{number}" for number in range(EVENTS)]
    with server.listen(token_of(cast.gwen)) as stream:
        begin = stream.opened()
    for word in words:
        note(cast.acme, cast, word)
    with cut_line(server.root) as line:
        heard = follow()(f"{line.address}/api/v1/stream/", token_of(cast.gwen), begin)
        told: list[str] = []
        listening = threading.Thread(target=_collect, args=(heard, told), daemon=True)
        listening.start()
        listening.join(PATIENCE)
    assert [word for word in told if word in words] == words
    assert line.cuts >= EVENTS // 2


def _collect(heard: Iterator[dict[str, Any]], told: list[str]) -> None:
    for event in heard:
        told.append(event["action"])
        if event["action"] == f"word_{EVENTS - 1}":
            return
