"""Real workers for a benchmark: `manage.py worker` on the benchmark's own servers."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.models import Instance

PROJECT = Path(__file__).resolve().parent.parent
PATIENCE = 120.0


@contextmanager
def working() -> Iterator[int]:
    """Run one worker for the length of a with-block; give the process that drains."""
    command = [sys.executable, "manage.py", "worker", "--processes", "1", "--name", "bench"]
    process = subprocess.Popen(command, cwd=PROJECT, env=dict(os.environ), start_new_session=True)
    try:
        yield _drainer(process.pid)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def _drainer(supervisor: int) -> int:
    """Wait until the supervisor has forked its worker."""
    children = Path(f"/proc/{supervisor}/task/{supervisor}/children")
    stop_at = time.monotonic() + PATIENCE
    while time.monotonic() < stop_at:
        found = children.read_text().split()
        if found:
            return int(found[0])
        time.sleep(0.05)
    raise RuntimeError("the worker did not start")


def wait_until_ended(instances: int) -> None:
    """Wait until so many instances have completed; a worker that has stopped working is told about, not waited for."""
    last, moved_at = -1, time.monotonic()
    while (done := Instance.objects.filter(status="completed").count()) < instances:
        if done != last:
            last, moved_at = done, time.monotonic()
        if time.monotonic() - moved_at > PATIENCE:
            raise RuntimeError(f"{done} of {instances} instances completed, and nothing moves")
        time.sleep(0.02)


def resident_megabytes(pid: int, field: str = "VmRSS") -> float:
    """Read how much memory a process holds, now (VmRSS) or at most so far (VmHWM)."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"{field} is not told for {pid}")
