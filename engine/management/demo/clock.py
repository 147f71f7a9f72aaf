"""Act as of a moment in the past, so that the demo has a history that the services wrote themselves.

Outside the kernel the database's clock decides, and all SQL asks it by `clock_timestamp()`. Django lets code wrap every statement
of a connection; here the wrapper turns that clock back. Services, audit and triggers see one consistent time, other connections
their own. Only the demo does this: docs/decisions/0053-the-demo-turns-its-own-clock-back.md.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from engine.audit.chain import database_now

CLOCK = "clock_timestamp()"


class ShiftedClock:
    """The clock of one connection, behind by as much as it is told."""

    def __init__(self) -> None:
        self._behind = timedelta()

    def set(self, moment: datetime) -> None:
        """Make it this moment now; time continues from there."""
        self._behind += database_now() - moment

    def __call__(self, execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        """Run a statement as of the moment that was set."""
        if isinstance(sql, str):
            sql = sql.replace(CLOCK, f"({CLOCK} - interval '{self._behind.total_seconds():.6f} seconds')")
        return execute(sql, params, many, context)


@contextmanager
def shifted_clock() -> Iterator[ShiftedClock]:
    """Put a clock that can be turned back on this thread's connection; afterwards it shows the present again."""
    clock = ShiftedClock()
    try:
        with connection.execute_wrapper(clock):
            yield clock
    finally:
        database_now()  # ids follow the database's clock, which is the present again
