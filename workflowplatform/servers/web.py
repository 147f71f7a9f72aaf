"""Serve the product by web processes on one socket: ``python -m workflowplatform.servers.web FD|HOST:PORT [PROCESSES]``.

With a number it serves a socket that `up` listens on: it belongs to `up`, so no port is lost between finding and binding it, and
a restart drops no waiting connection. With an address it listens itself, as one of several behind a proxy.

This process serves nothing and imports no Django: it owns the socket, so that a process that has grown (patient_server.py) can be
replaced without a refused request. The successor is started first, on the same socket; only when it serves, the predecessor is
asked to retire: it takes no new connections, answers those that it has, and ends.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from workflowplatform.servers.processes import STOPS, die_with

READY, FULL = b"r", b"f"
"""What a serving process says: that it serves, and (once a second) that it is about to hold as much memory as it may."""
RETIRE = signal.SIGUSR1
BACKLOG = 2048
LOOK_EVERY = 0.1
AGAIN_AFTER = 10.0
"""Seconds before another successor is tried, where one ended before it served."""

Serve = Callable[[socket.socket, Callable[[bytes], object], bool], None]
"""How a child serves: the socket, how it says something, and whether others wait for its end."""


@dataclass
class Serving:
    """A process that serves or is about to, and how it is heard."""

    pid: int
    said: int
    replaces: Serving | None = None
    is_ready: bool = False
    is_retiring: bool = False


@dataclass
class WebProcesses:
    """Keep so many processes serving one socket."""

    listener: socket.socket
    count: int
    serve: Serve
    is_waited_for: bool = False
    """Whether a supervisor has little patience with the end: then requests get less."""
    serving: list[Serving] = field(default_factory=list)
    is_stopping: bool = False
    code: int = 0
    _not_before: float = 0.0

    def run(self) -> int:
        """Serve until told to stop, or until a process ends before it ever served; return the exit code."""
        for number in STOPS:
            signal.signal(number, lambda *_: self.stop())
        for _ in range(self.count):
            self.start()
        while self.serving:
            for one in self.serving[:]:
                self.hear(one)
            for one in self.serving[:]:
                self.look_after(one)
            time.sleep(LOOK_EVERY)
        return self.code

    def start(self, replaces: Serving | None = None) -> None:
        """Start a process; signals wait meanwhile, so that none finds it half noted."""
        heard, says = os.pipe()
        os.set_blocking(heard, False)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
        own, pid = os.getpid(), os.fork()
        if not pid:
            os._exit(self._serve(own, says))
        os.close(says)
        self.serving.append(Serving(pid, heard, replaces))
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _serve(self, owner: int, says: int) -> int:
        """Be the child: serve, and return the exit code."""
        for number in STOPS:
            signal.signal(number, signal.SIG_DFL)
        die_with(owner, signal.SIGTERM)()
        try:
            self.serve(self.listener, partial(os.write, says), self.is_waited_for)
        except SystemExit as end:
            return _exit_code(end)
        except BaseException:  # noqa: BLE001  the end of the process: what it was is told, as Python does
            sys.excepthook(*sys.exc_info())
            return 1
        return 0

    def stop(self) -> None:
        """Ask every process to end."""
        self.is_stopping = True
        for one in self.serving:
            _tell(one, signal.SIGTERM)

    def hear(self, one: Serving) -> None:
        """Do what a process asks for."""
        for word in _words(one.said):
            if word == READY[0]:
                self._retire_predecessor(one)
            elif word == FULL[0] and not self.is_stopping:
                self._replace(one)

    def look_after(self, one: Serving) -> None:
        """Note the end of a process."""
        ended, status = os.waitpid(one.pid, os.WNOHANG)
        if ended:
            self._note_end(one, os.waitstatus_to_exitcode(status))

    def _retire_predecessor(self, one: Serving) -> None:
        one.is_ready = True
        if one.replaces in self.serving:
            one.replaces.is_retiring = True
            _tell(one.replaces, RETIRE)
        one.replaces = None

    def _replace(self, one: Serving) -> None:
        """Start a successor, unless one is on its way or ended in vain a moment ago."""
        has_one = one.is_retiring or any(other.replaces is one for other in self.serving)
        if not has_one and time.monotonic() >= self._not_before:
            _say(f"web process {one.pid} has grown; another one takes its place")
            self.start(one)

    def _note_end(self, one: Serving, code: int) -> None:
        self.serving.remove(one)
        os.close(one.said)
        if self.is_stopping or one.is_retiring:
            return
        _say(f"web process {one.pid} ended with {code}")
        is_killed_beside_others = code < 0 and any(other.is_ready for other in self.serving)
        if one.is_ready or (is_killed_beside_others and one.replaces is None):
            self.start()
        elif one.replaces in self.serving:
            self._not_before = time.monotonic() + AGAIN_AFTER
        else:
            self.code = code if code > 0 else 1
            self.stop()


def _words(said: int) -> bytes:
    with contextlib.suppress(BlockingIOError):
        return os.read(said, 100)
    return b""


def _tell(one: Serving, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(one.pid, number)


def _exit_code(end: SystemExit) -> int:
    if isinstance(end.code, str):
        _say(end.code)
        return 1
    return end.code or 0


def _say(sentence: str) -> None:
    sys.stderr.write(f"{sentence}\n")
    sys.stderr.flush()


def listening(place: str) -> socket.socket:
    """Return the socket that was handed over, or one that listens at an address."""
    if place.isdigit():
        return socket.socket(fileno=int(place))
    host, _, port = place.rpartition(":")
    return socket.create_server((host, int(port)), backlog=BACKLOG)


def _serve(listener: socket.socket, say: Callable[[bytes], object], is_waited_for: bool) -> None:
    """Serve in this process, which imports the product only now: its parent stays small."""
    from workflowplatform.servers.patient_server import serve  # noqa: PLC0415

    serve(listener, say, is_waited_for)


def main() -> None:
    """Serve until told to stop."""
    place, *count = sys.argv[1:]
    processes = WebProcesses(listening(place), int(count[0]) if count else 1, _serve, is_waited_for=place.isdigit())
    sys.exit(processes.run())


if __name__ == "__main__":
    main()
