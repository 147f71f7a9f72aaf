"""Run drainers on any host: N worker processes under one supervisor."""

import mmap
import os
import signal
import socket
import sys
import time
from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path
from typing import Any

import structlog
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connections
from prometheus_client import start_http_server

from engine.dispatch.dead_letters import stand_in
from engine.dispatch.rq import make_worker
from engine.dispatch.worker_board import Board, desk
from engine.metrics import registry
from engine.services.templates.startup_validation import Unfit, start_up
from workflowplatform.database.command_errors import UNKNOWN
from workflowplatform.servers.processes import STOPS, die_with

log = structlog.get_logger(__name__)

BACK_OFF_SECONDS = 0.25
"""A worker that lived for less is followed after a pause: what keeps workers from starting must not spin."""
WATCH_SECONDS = 0.25
"""How often workers are looked at: what they have in hand, and their memory."""
MEGABYTE = 1024**2
SWITCH_SECONDS = 0.0005
"""How long a thread keeps the interpreter while others want it: a call that computes must not slow the drain down tenfold."""
METRICS = -1
"""The place of the process that serves figures."""


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
        raise ArgumentTypeError(f"{text} is no address: write HOST:PORT")
    return host, int(port)


class Supervisor:
    """Keep a number of workers alive: fork them from one warm parent, replace the dead, stop all on request.

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

    def run(self) -> None:
        """Work until asked to stop."""
        for asked in (signal.SIGTERM, signal.SIGINT):
            signal.signal(asked, self._stop)
        for place in range(self.processes):
            self._fork(place)
        if self.metrics:
            self._fork(METRICS)
        signal.signal(signal.SIGALRM, self._watch)
        signal.setitimer(signal.ITIMER_REAL, WATCH_SECONDS, WATCH_SECONDS)
        while self.children:
            self._replace_one()

    def _stop(self, signum: int, frame: Any) -> None:
        self.stopping = True
        for pid in self.children:
            os.kill(pid, signal.SIGTERM)

    def _watch(self, signum: int, frame: Any) -> None:
        """Kill workers that are beyond help; a handler of a timer, so that waiting for the dead goes on."""
        for pid, place in tuple(self.children.items()):
            if place == METRICS:
                continue
            seconds, megabytes = self.boards[place].seconds, resident(pid) // MEGABYTE
            if seconds > settings.WORKFLOW_WORKER_SECONDS:
                self._kill(pid, "a worker had the same work in hand for too long and was killed", seconds=int(seconds))
            elif settings.WORKFLOW_WORKER_MEMORY and megabytes > settings.WORKFLOW_WORKER_MEMORY:
                self._kill(pid, "a worker used more memory than it may and was killed", megabytes=megabytes)

    def _kill(self, pid: int, why: str, **facts: int) -> None:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        log.error(why, pid=pid, **facts)

    def _fork(self, place: int, *, cautious: bool = False) -> None:
        """Start one worker, unless all are to stop; a stop that comes meanwhile waits until its place is known."""
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
        work(f"{self.name}.{place}.{os.getpid()}", self.boards[place], cautious=cautious)

    def _replace_one(self) -> None:
        """Wait for a worker to end; put another in its place unless all are to stop.

        One that did not leave by itself, killed or by an exit of somebody's code, may have died of what it had in hand: the next
        is cautious. One that left by itself is followed at once.
        """
        try:
            pid, status = os.wait()
        except (InterruptedError, ChildProcessError):
            return
        place = self.children.pop(pid, 0)
        if self.stopping:
            return
        lived = time.monotonic() - self.born.pop(pid, 0.0)
        if status and lived < BACK_OFF_SECONDS:
            time.sleep(BACK_OFF_SECONDS)
        self._fork(place, cautious=bool(status))


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


def work(name: str, board: Board, *, cautious: bool) -> None:
    """Be one worker, and never return into the parent's code."""
    code = 0
    try:
        for asked in (signal.SIGTERM, signal.SIGINT):
            signal.signal(asked, signal.SIG_DFL)
        sys.setswitchinterval(SWITCH_SECONDS)
        desk.board = board
        worker = make_worker(name)
        worker.be_replaceable()
        if cautious:
            stand_in(board)
        board.clear()
        worker.work(logging_level="WARNING")
    except BaseException:  # noqa: BLE001  the process ends here whatever happened; the supervisor starts another
        sys.excepthook(*sys.exc_info())
        code = 1
    finally:
        sys.stdout.flush()
        os._exit(code)
