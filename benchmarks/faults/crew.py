"""Fork workers and callers from this very process, once it has let go of every connection."""

import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from django.db import connections

from engine.dispatch.rq import make_worker
from workflowplatform.servers.processes import STOPS, die_with

Act = Callable[[], None]


@dataclass(slots=True)
class Crew:
    """The processes of one trial."""

    pids: list[int] = field(default_factory=list)

    def fork(self, act: Act) -> int:
        """Let a new process carry out an act; return its pid."""
        connections.close_all()
        sys.stdout.flush()
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            _be(act, parent)
        self.pids.append(pid)
        return pid

    def hire(self, number: int) -> list[int]:
        """Bring workers to life, the product's own; return their pids."""
        return [self.fork(work) for _ in range(number)]

    def kill(self, *pids: int) -> None:
        """End processes as if by a power cut."""
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        self.wait_for(*pids)

    def ended(self) -> list[int]:
        """Name those who have ended by themselves."""
        gone = [pid for pid in self.pids if os.waitpid(pid, os.WNOHANG)[0]]
        self.pids = [pid for pid in self.pids if pid not in gone]
        return gone

    def wait_for(self, *pids: int) -> list[int]:
        """Wait until processes have ended; return their exit codes."""
        codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
        self.pids = [pid for pid in self.pids if pid not in pids]
        return codes


def work() -> None:
    """Run a worker until it is ended from outside."""
    make_worker(f"trial-{os.getpid()}").work(logging_level="CRITICAL")


@contextmanager
def crew() -> Iterator[Crew]:
    """Provide a crew; nobody of it is left at the end."""
    lent = Crew()
    try:
        yield lent
    finally:
        lent.kill(*lent.pids)


def _be(act: Act, parent: int) -> None:
    """Carry out an act in a process that ends with it, and never return into the parent's code."""
    code = 1
    try:
        for asked in STOPS:
            signal.signal(asked, signal.SIG_DFL)
        die_with(parent, signal.SIGKILL)()
        logging.disable(logging.CRITICAL)
        act()
        code = 0
    except BaseException:  # noqa: BLE001  the process ends here whatever happened
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stderr.flush()
        os._exit(code)
