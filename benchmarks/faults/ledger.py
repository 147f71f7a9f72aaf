"""The outside world of a fault trial: it writes down who asked it what, and remembers after everybody died.

One line per call, appended in one write: the caller may be killed at any moment, a line is there whole or not at all.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.extensions.functions import workflow_function
from engine.extensions.step_kinds import register_step_kind

LEDGER = "WORKFLOW_FAULT_LEDGER"
"""Where the ledger is kept; set by a trial for the workers that it forks."""


@dataclass(frozen=True, slots=True)
class Entry:
    """That a process made a call under a key."""

    key: str
    pid: int


@workflow_function("fault_ledger")
def write_down(*, key: str, fails: bool = False) -> dict[str, Any]:
    """Note the call, then answer or fail as the author wants."""
    handle = os.open(os.environ[LEDGER], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(handle, f"{key} {os.getpid()}\n".encode())
    finally:
        os.close(handle)
    if fails:
        raise ConnectionError("not today")
    return {"key": key}


def read_ledger(path: Path) -> Iterator[Entry]:
    """Read back every call that was made."""
    for line in path.read_text().splitlines() if path.exists() else ():
        key, pid = line.split()
        yield Entry(key, int(pid))


register_step_kind(
    "fault_note",
    schema={"type": "object", "properties": {"key": {"type": "string"}}},
    expand=lambda body, step: [{"id": f"{step}_note", "set": {body["key"]: True}}],
)
