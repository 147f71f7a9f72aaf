"""Start the product's commands as a person would, in a bare environment, and look at what they leave behind."""

from __future__ import annotations

import contextlib
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from pathlib import Path

from workflowplatform.servers.paths import PROJECT

KEPT = ("PATH", "SSL_CERT_FILE", "PIP_CERT", "LANG")


@dataclass(frozen=True, slots=True)
class Sandbox:
    """Hold one run's places: all it starts carries the folder's name in its command line or environment."""

    root: Path
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def data(self) -> Path:
        return self.root / "data"

    def leftovers(self) -> list[str]:
        """Name the live processes that belong to this run (Linux)."""
        return [_command(process) for process in Path("/proc").glob("[0-9]*") if self._belongs(process)]

    def _belongs(self, process: Path) -> bool:
        mark = os.fsencode(self.root)
        try:
            words = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
        except OSError:
            return False
        return mark in words and int(process.name) != os.getpid()

    def manage(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run one manage.py command to its end."""
        return self.run(sys.executable, PROJECT / "manage.py", *words, **environment)

    def run(self, *command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run one command to its end."""
        words = [str(word) for word in command]
        return subprocess.run(
            words,
            env=self.environment | environment,
            cwd=self.root,
            text=True,
            capture_output=True,
            timeout=120,
            check=False,
        )


@contextlib.contextmanager
def a_sandbox() -> Generator[Sandbox, None, None]:
    """Provide such a place in a folder with a short path; what still runs at the end is a defect and is killed."""
    root = Path(tempfile.mkdtemp(prefix="h", dir="/tmp"))
    root.chmod(0o755)
    (root / "t").mkdir(mode=0o755)
    (root / "home").mkdir()
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    sandbox = Sandbox(root, kept | {"HOME": str(root / "home"), "TMPDIR": str(root / "t")})
    try:
        yield sandbox
    finally:
        shutil.rmtree(root, ignore_errors=True)


class Running:
    """Follow one long-running command line by line."""

    def __init__(self, sandbox: Sandbox, *command: str | Path, **environment: str) -> None:
        """Start it."""
        self.lines: list[str] = []
        self._arrived: queue.Queue[str] = queue.Queue()
        self.process = subprocess.Popen(
            [str(word) for word in command],
            env=sandbox.environment | environment,
            cwd=sandbox.root,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                self._arrived.put(line.rstrip("\n"))
        self._arrived.put("")

    def await_line(self, start: str, seconds: float = 60) -> str:
        """Wait for a line that begins so, or fail with all there was."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            with contextlib.suppress(queue.Empty):
                self.lines.append(self._arrived.get(timeout=0.1))
                if self.lines[-1].startswith(start):
                    return self.lines[-1]
            if self.process.poll() is not None and self._arrived.empty():
                break
        raise AssertionError(f"no line begins with {start!r}:\n" + "\n".join(self.lines))

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal and wait for the end."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(60)
        # Its orphans hold the same pipe for a moment longer.
        self._reader.join(20)
        return code


@contextlib.contextmanager
def running(sandbox: Sandbox, *command: str | Path, **environment: str) -> Generator[Running, None, None]:
    """Run a command for the length of a block."""
    followed = Running(sandbox, *command, **environment)
    try:
        yield followed
    finally:
        followed.stop()


def eventually(condition: Callable[[], bool], seconds: float = 60) -> bool:
    """Wait until something is so."""
    deadline = time.monotonic() + seconds
    while not (now := condition()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return now


def _command(process: Path) -> str:
    try:
        return (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return process.name
