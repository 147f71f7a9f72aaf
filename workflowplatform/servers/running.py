"""Remember what runs on a data folder, so that a second terminal finds it and a second start is refused.

The lock decides whether a product runs: the kernel frees it however the owner dies. The record only says how to reach
the servers.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from pathlib import Path
from typing import IO

from workflowplatform.servers.errors import CannotStart
from workflowplatform.servers.paths import DataFolder

OWNER_ADDRESS = "WORKFLOW_OWNER_DATABASE_URL"
ADDRESSES = ("DATABASE_URL", "REDIS_URL", OWNER_ADDRESS)


def find_running(data_dir: Path) -> dict[str, str]:
    """Return how to reach the servers running on this folder; empty when none do."""
    record = read_record(DataFolder(data_dir))
    return {name: record[name] for name in ADDRESSES if name in record}


def read_record(data: DataFolder) -> dict[str, str]:
    """Read the whole record of a live owner: addresses, process, web address once it is ready."""
    try:
        with data.lock.open("rb") as handle:
            if _take(handle, fcntl.LOCK_SH):
                return {}
        record = json.loads(data.record.read_text())
    except (OSError, ValueError):
        return {}
    return {str(name): str(value) for name, value in record.items()} if isinstance(record, dict) else {}


def own_folder(data: DataFolder) -> IO[bytes]:
    """Become the one owner of a data folder until this process ends, or refuse."""
    handle = data.lock.open("ab")
    for _ in range(10):
        # A reader's look holds the lock for an instant, so one refusal proves nothing.
        if _take(handle, fcntl.LOCK_EX):
            data.record.unlink(missing_ok=True)
            return handle
        time.sleep(0.05)
    handle.close()
    where = read_record(data).get("url")
    raise CannotStart(
        f"The product already runs on {data.root}{f' at {where}' if where else ''}: "
        "use it, stop it, or name another folder with --data DIR."
    )


def write_record(data: DataFolder, **entries: str) -> None:
    """Publish how to reach what runs, whole or not at all."""
    half = data.record.with_name(f"{data.record.name}.{os.getpid()}")
    half.touch(mode=0o600)
    half.write_text(json.dumps({**entries, "pid": str(os.getpid())}, indent=1))
    half.replace(data.record)


def forget_record(data: DataFolder) -> None:
    """Withdraw the record when all is stopped."""
    data.record.unlink(missing_ok=True)


def _take(handle: IO[bytes], kind: int) -> bool:
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
