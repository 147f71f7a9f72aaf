"""Let several people act at the very same moment, each on a connection of their own."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from django.db import connection

from engine.errors import WorkflowError


def at_once(acts: Sequence[Callable[[], Any]]) -> list[Any]:
    """Run all acts together; return each one's result, or the refusal that it got."""
    barrier = Barrier(len(acts))

    def one(act: Callable[[], Any]) -> Any:
        try:
            barrier.wait()
            return act()
        except WorkflowError as refusal:
            return refusal
        finally:
            connection.close()

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(one, acts))


def await_a_waiter() -> None:
    """Wait until another transaction waits for a lock of this one."""
    until = time.monotonic() + 60
    with connection.cursor() as cursor:
        while time.monotonic() < until:
            cursor.execute(
                "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid)))"
            )
            if cursor.fetchone()[0]:
                return
            time.sleep(0.02)
    raise AssertionError("nobody waits")
