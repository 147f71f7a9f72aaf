"""A proxy that knows nothing but who takes connections, and web processes behind it that are restarted one by one."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import httpx

from tests.workers import ROOT, environment, stop

PATIENCE = 60.0


class Web:
    """One web process as deploy/workflow-web@.service runs it, on a port of its own."""

    def __init__(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port: int = listener.getsockname()[1]
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it serves."""
        words = [sys.executable, "-m", "workflowplatform.servers.web", f"127.0.0.1:{self.port}"]
        self.process = subprocess.Popen(words, cwd=ROOT, env=environment(), start_new_session=True)
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            with suppress(httpx.HTTPError):
                if httpx.get(f"http://127.0.0.1:{self.port}/api/v1/health/", timeout=PATIENCE).status_code == 200:
                    return
            time.sleep(0.05)
        raise AssertionError("the web did not come up")

    def end(self) -> float:
        """Ask it to stop; return how many seconds that took."""
        assert self.process is not None
        began = time.monotonic()
        self.process.terminate()
        self.process.wait(PATIENCE)
        return time.monotonic() - began

    def leave(self) -> None:
        """See to it that nothing of it is left."""
        if self.process is not None:
            stop(self.process)


@contextmanager
def proxied(webs: list[Web]) -> Iterator[int]:
    """Pass connections on to whichever of them takes one, in turn; give the port to connect to."""
    loop = asyncio.new_event_loop()
    turn = iter(range(10**9))

    async def passed_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = next(turn)
        for number in range(len(webs)):
            try:
                there, back = await asyncio.open_connection("127.0.0.1", webs[(first + number) % len(webs)].port)
                break
            except OSError:
                continue
        else:
            writer.close()
            return
        await asyncio.gather(pumped(reader, back), pumped(there, writer))

    async def pumped(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while part := await source.read(65536):
                target.write(part)
                await target.drain()
        with suppress(OSError):
            target.close()

    server = loop.run_until_complete(asyncio.start_server(passed_on, "127.0.0.1", 0))
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        loop.call_soon_threadsafe(server.close)
        time.sleep(0.2)  # sleep: connections that still pass something on may end; nothing is judged by it
        loop.call_soon_threadsafe(loop.stop)
        thread.join(5)
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()
