"""Real worker processes for tests: they use the test's own database and Valkey and end with it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from django.conf import settings
from django.db import connection

from workflowplatform.servers.postgres import APPLICATION

ROOT = Path(__file__).resolve().parent.parent

COMMANDS: dict[str, list[str]] = {
    "rqworker": ["rqworker", "default"],
    "worker": ["worker", "--processes", "2", "--name", "test"],
}


AS_SHIPPED = {
    "WORKFLOW_TURN_SECONDS": "0.02",
    "WORKFLOW_TRANSACTION_SECONDS": "0.5",
    "WORKFLOW_SLICE_SECONDS": "0.05",
}
"""How long work may take where a test looks at just that; others are not to be cut short by a busy machine."""


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return what a child needs to work on this test's database, as the application that it is in the product."""
    name = connection.settings_dict["NAME"]
    host = connection.settings_dict["HOST"]
    return {
        **os.environ,
        "DATABASE_URL": f"postgresql://{APPLICATION}@/{name}?host={host}",
        "REDIS_URL": settings.REDIS_URL,
        "WORKFLOW_FUNCTIONS": ",".join(settings.WORKFLOW_FUNCTIONS),
        "WORKFLOW_DISPATCHER": "rq",
        **(extra or {}),
    }


@contextmanager
def running(command: str, **extra: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a worker command for the length of a with-block."""
    process = start(command, **extra)
    try:
        yield process
    finally:
        stop(process)


def start(command: str, **extra: str) -> subprocess.Popen[bytes]:
    """Start a worker command in its own session."""
    return subprocess.Popen(
        [sys.executable, "manage.py", *COMMANDS[command]], cwd=ROOT, env=environment(extra), start_new_session=True
    )


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ask a worker to stop and see to it that nothing of it is left."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def children_of(pid: int) -> list[int]:
    """Return the processes that a process started, the eldest first; none where it is gone."""
    with suppress(OSError):
        return sorted(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))
    return []
