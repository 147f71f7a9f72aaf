"""Run drainers on any host: N worker processes under one supervisor."""

import mmap
import os
import signal
import socket
import struct
import sys
import time
from argparse import ArgumentParser, ArgumentTypeError
from contextlib import suppress
from pathlib import Path
from typing import Any

import structlog
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connections
from prometheus_client import start_http_server

from engine.conf import conf
from engine.dispatch.dead_letters import replace_dead_worker
from engine.dispatch.rq import make_worker, warm_up
from engine.dispatch.worker_board import Board, desk
from engine.metrics import registry
from engine.services.templates.startup_validation import Unfit, start_up
from workflowplatform.database.command_errors import UNKNOWN
from workflowplatform.servers.processes import STOPS, die_with

log = structlog.get_logger(__name__)

BACK_OFF_SECONDS = 0.25
"""After a worker that lived for less the next reserve pauses: what keeps workers from starting must not spin."""
WATCH_SECONDS = 0.25
"""How often workers are looked at: what they have in hand, and their memory."""
MEGABYTE = 1024**2
ORDER = struct.Struct("=i?")
"""What the reserve is told: its place, and whether the worker before it died."""
SWITCH_SECONDS = 0.0005
"""How long a thread keeps the interpreter while others want it: a call that computes must not slow the drain down tenfold."""
METRICS, RESERVE = -1, -2
"""The places of the process that serves figures, and of the one that waits for a worker to end."""


class Command(BaseCommand):
    help = "Run workers that drain signals, timers and retries."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="how many (default: one a core)")
        parser.add_argument("--name", default=socket.gethostname(), help="what this node is called")
        parser.add_argument(
            "--metrics", type=_address, metavar="HOST:PORT", help="let a Prometheus read this host's figures here"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.DATABASE_URL:
            raise CommandError(UNKNOWN)
        try:
            start_up()
        except Unfit as unfit:
            raise CommandError(str(unfit)) from None
        connections.close_all()
        Supervisor(options["name"], max(1, options["processes"]), options["metrics"]).run()


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not (host and colon and port.isdigit()):
        raise ArgumentTypeError(f"{text} is not an address: write HOST:PORT")
    return host, int(port)


class Supervisor:
    """Keep a number of workers alive: fork them from one warm parent, replace the dead, stop all on request.

    One process more waits in reserve, connected and warm. It takes the place of a worker that ended at once, so that what is due
    does not wait until another process has started.

    A worker that eats too much memory, or has the same work in hand for too long, is killed: what it had in hand is counted and
    found like anything else that workers die of.
    """

    def __init__(self, name: str, processes: int, metrics: tuple[str, int] | None = None) -> None:
        self.name = name
        self.processes = processes
        self.metrics = metrics
        self.children: dict[int, int] = {}
        self.born: dict[int, float] = {}
        self.boards = [Board() for _ in range(processes)]
        self.stopping = False
        self._reserve_pipe: int | None = None

    def run(self) -> None:
        """Work until asked to stop."""
        for asked in (signal.SIGTERM, signal.SIGINT):
            signal.signal(asked, self._stop)
        for place in range(self.processes):
            self._fork(place)
        if self.metrics:
            self._fork(METRICS)
        self._fork_reserve()
        signal.signal(signal.SIGALRM, self._watch)
        signal.setitimer(signal.ITIMER_REAL, WATCH_SECONDS, WATCH_SECONDS)
        while self.children:
            self._replace_one()

    def _stop(self, signum: int, frame: Any) -> None:
        self.stopping = True
        for pid in self.children:
            os.kill(pid, signal.SIGTERM)

    def _watch(self, signum: int, frame: Any) -> None:
        """Kill workers that hang or use too much memory. A timer calls this while the parent waits for workers to end."""
        for pid, place in tuple(self.children.items()):
            if place < 0:
                continue
            seconds, megabytes = self.boards[place].seconds, resident(pid) // MEGABYTE
            if seconds > conf.worker_seconds:
                self._kill(pid, "a worker had the same work in hand for too long and was killed", seconds=int(seconds))
            elif conf.worker_memory and megabytes > conf.worker_memory:
                self._kill(pid, "a worker used more memory than it may and was killed", megabytes=megabytes)

    def _kill(self, pid: int, why: str, **facts: int) -> None:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        log.error(why, pid=pid, **facts)

    def _follow(self, place: int, *, after_death: bool, pause: float = 0.0) -> None:
        """Put the process in reserve into a place that is free and start another reserve; fork where there is no reserve."""
        if place >= 0 and self._reserve_pipe is not None:
            pid = next(pid for pid, held in self.children.items() if held == RESERVE)
            self.children[pid], self.born[pid] = place, time.monotonic()
            with suppress(BrokenPipeError):  # it has just died in its turn: the place is free again when that is seen
                os.write(self._reserve_pipe, ORDER.pack(place, after_death))
            self._close_reserve_pipe()
        elif place != RESERVE:
            self._fork(place, after_death=after_death)
        self._fork_reserve(pause)

    def _fork_reserve(self, pause: float = 0.0) -> None:
        """Start a process that waits for a place; the next one that ends leaves its own to it."""
        if self._reserve_pipe is not None or self.stopping:
            return
        orders, self._reserve_pipe = os.pipe()
        self._fork(RESERVE, orders=orders, pause=pause)
        os.close(orders)

    def _close_reserve_pipe(self) -> None:
        if self._reserve_pipe is not None:
            os.close(self._reserve_pipe)
        self._reserve_pipe = None

    def _fork(self, place: int, *, after_death: bool = False, orders: int = -1, pause: float = 0.0) -> None:
        """Start one process, unless all are to stop; a stop that comes meanwhile waits until its place is known."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
        parent = os.getpid()
        if self.stopping:
            return
        pid = os.fork()
        if pid:
            self.children[pid] = place
            self.born[pid] = time.monotonic()
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            return
        for asked in (*STOPS, signal.SIGALRM):
            signal.signal(asked, signal.SIG_DFL)
        die_with(parent, signal.SIGTERM)()
        if self.metrics and place == METRICS:
            serve_metrics(*self.metrics)
        if place == RESERVE:
            self._close_reserve_pipe()  # the parent's end: a reserve whose parent is gone reads nothing and ends
            place, after_death = wait_for_place(orders, pause)
        work(f"{self.name}.{place}.{os.getpid()}", self.boards[place], after_death=after_death)

    def _replace_one(self) -> None:
        """Wait for a worker to end; replace it unless all are to stop.

        A worker that was killed, or that an exit in a function ended, may have died of the work it had in hand: its replacement
        counts that attempt.
        """
        try:
            pid, status = os.wait()
        except (InterruptedError, ChildProcessError):
            return
        place = self.children.pop(pid, RESERVE)
        if self.stopping:
            return
        lived = time.monotonic() - self.born.pop(pid, 0.0)
        if place == RESERVE:
            self._close_reserve_pipe()
        pause = BACK_OFF_SECONDS if status and lived < BACK_OFF_SECONDS else 0.0
        self._follow(place, after_death=bool(status), pause=pause)


def resident(pid: int) -> int:
    """Return how many bytes of memory a process uses; 0 where the system does not say."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0
    return pages * mmap.PAGESIZE


def serve_metrics(host: str, port: int) -> None:
    """Be the process that adds up the figures of all others here, and never return into the parent's code."""
    try:
        start_http_server(port, host, registry())
        while True:
            signal.pause()
    except BaseException:  # noqa: BLE001  as in `work`
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(1)


def wait_for_place(orders: int, pause: float) -> tuple[int, bool]:
    """Get ready to work, then wait until a place is free; end with the supervisor."""
    try:
        time.sleep(pause)
        warm_up()
        order = os.read(orders, ORDER.size)
        if len(order) == ORDER.size:
            return ORDER.unpack(order)
    except BaseException:  # noqa: BLE001  as in `work`
        sys.excepthook(*sys.exc_info())
    os._exit(1)


def work(name: str, board: Board, *, after_death: bool) -> None:
    """Be one worker, and never return into the parent's code."""
    code = 0
    try:
        for asked in (signal.SIGTERM, signal.SIGINT):
            signal.signal(asked, signal.SIG_DFL)
        sys.setswitchinterval(SWITCH_SECONDS)
        desk.board = board
        worker = make_worker(name)
        worker.be_replaceable()
        if after_death:
            replace_dead_worker(board)
        board.clear()
        worker.work(logging_level="WARNING")
    except BaseException:  # noqa: BLE001  the process ends here whatever happened; the supervisor starts another
        sys.excepthook(*sys.exc_info())
        code = 1
    finally:
        sys.stdout.flush()
        os._exit(code)
