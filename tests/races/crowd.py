"""Let several people act at the very same moment, each on a connection of their own."""

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
