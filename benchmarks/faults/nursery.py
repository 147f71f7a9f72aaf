"""Fork workers from one warmed parent: a process that has imported and compiled everything and holds no connection.

`Nursery` is the trial's side. The other side is this module run as a process: it takes one JSON object per line (`warm`, or
`fork` with what kills the worker) and answers `started PID`, `dead PID STATUS` or `warm`. When its input ends it kills what it
forked and exits.
"""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.db import connection

from benchmarks.faults.ledger import LEDGER
from workflowplatform.servers.postgres import APPLICATION

MODULE = "benchmarks.faults.nursery"


@dataclass(slots=True)
class Nursery:
    """The trial's side of the pipe."""

    process: subprocess.Popen[str]
    deaths: dict[int, int] = field(default_factory=dict)
    """Pid and exit status of every worker that has ended and was not asked for yet."""

    def warm(self) -> None:
        """Let the parent compile what is active now, so that no worker has to."""
        self._ask({"do": "warm"})
        self._read_until("warm")

    def fork(self, boundary: str | None = None, passes: int = 1) -> int:
        """Bring a worker to life and return its pid; with a boundary it will die there."""
        self._ask({"do": "fork", "boundary": boundary, "passes": passes})
        return int(self._read_until("started")[0])

    def collect(self, seconds: float) -> dict[int, int]:
        """Return who has died since the last time, waiting up to so long for the first."""
        while select.select([self.process.stdout], [], [], 0 if self.deaths else seconds)[0]:
            self._read()
        dead, self.deaths = self.deaths, {}
        return dead

    def _ask(self, order: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()

    def _read_until(self, wanted: str) -> list[str]:
        while True:
            word, *rest = self._read()
            if word == wanted:
                return rest

    def _read(self) -> list[str]:
        """Read one answer, byte by byte so that `select` sees what is left."""
        assert self.process.stdout is not None
        words = _line(self.process.stdout.fileno()).split()
        if not words:
            raise RuntimeError("the nursery has ended")
        if words[0] == "dead":
            self.deaths[int(words[1])] = os.waitstatus_to_exitcode(int(words[2]))
        return words


def _line(handle: int) -> str:
    read = bytearray()
    while not read.endswith(b"\n"):
        byte = os.read(handle, 1)
        if not byte:
            break
        read += byte
    return read.decode()


@contextmanager
def nursery(ledger: str) -> Iterator[Nursery]:
    """Run a nursery for the length of a with-block, on the database and Valkey of this process."""
    process = subprocess.Popen(
        [sys.executable, "-m", MODULE],
        cwd=settings.BASE_DIR,
        env=_environment(ledger),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Nursery(process)
    finally:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        process.wait()
        process.stdout.close()


def _environment(ledger: str) -> dict[str, str]:
    known = connection.settings_dict
    return {
        **os.environ,
        "DATABASE_URL": f"postgresql://{APPLICATION}@/{known['NAME']}?host={known['HOST']}",
        "REDIS_URL": settings.REDIS_URL,
        "WORKFLOW_FUNCTIONS": ",".join({*settings.WORKFLOW_FUNCTIONS, "benchmarks.faults.ledger"}),
        "WORKFLOW_DISPATCHER": "rq",
        "WORKFLOW_WAKE_SECONDS": "0.5",  # what a killed worker left is looked for by the others after that long
        "WORKFLOW_DIAGRAMS": "0",
        "LOG_LEVEL": "ERROR",
        LEDGER: ledger,
    }


class Parent:
    """The other side: it forks, and tells who died."""

    def __init__(self) -> None:
        self.children: set[int] = set()
        self.died, wake = os.pipe()
        for handle in (self.died, wake):
            os.set_blocking(handle, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def serve(self) -> None:
        """Do as told until the input ends."""
        orders: dict[str, Callable[[dict[str, Any]], None]] = {"warm": self.warm, "fork": self.fork}
        while True:
            ready, _, _ = select.select([0, self.died], [], [])
            if self.died in ready:
                os.read(self.died, 4096)
                self.bury()
            if 0 in ready:
                order = _line(0)
                if not order:
                    break
                orders[json.loads(order)["do"]](json.loads(order))
        for pid in self.children:
            os.kill(pid, signal.SIGKILL)

    def warm(self, order: dict[str, Any]) -> None:
        """Compile every active definition, then let go of the database."""
        from engine.models import TemplateVersion  # noqa: PLC0415
        from engine.runtime.definition_cache import definition_of  # noqa: PLC0415  after Django is set up

        for version in TemplateVersion.objects.active():
            definition_of(version.pk)
        connection.close()
        _tell("warm")

    def fork(self, order: dict[str, Any]) -> None:
        """Fork a worker."""
        pid = os.fork()
        if pid == 0:
            _work(order["boundary"], order["passes"])
        self.children.add(pid)
        _tell("started", pid)

    def bury(self) -> None:
        """Report every child that has ended."""
        while self.children:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            self.children.discard(pid)
            _tell("dead", pid, status)


def _tell(*words: object) -> None:
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def _work(boundary: str | None, passes: int) -> None:
    """Be a worker until death or SIGTERM."""
    from engine.dispatch import crash_points, rq  # noqa: PLC0415

    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1):
        os.dup2(nowhere, standard)
    if boundary is not None:
        crash_points.arm(boundary, passes)
    code = 1
    try:
        rq.make_worker(f"fault-{os.getpid()}").work()
        code = 0
    except BaseException:  # noqa: BLE001  the process ends here, and the log must say why
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
    finally:
        os._exit(code)


def main() -> None:
    """Warm up what needs no database, then serve."""
    import django  # noqa: PLC0415

    django.setup()
    import engine.dispatch.rq  # noqa: F401, PLC0415

    Parent().serve()


if __name__ == "__main__":
    main()
