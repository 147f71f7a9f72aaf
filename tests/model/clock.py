"""A clock that stops until a test moves it, set in PostgreSQL instead of in our code.

Outside the kernel the database's clock decides, and all of our SQL asks `clock_timestamp()` by its bare name. A schema that
comes before `pg_catalog` in the search path of this test's connections answers that name from a table of one row. Nothing of
ours is patched, and forked workers, which connect by the same settings, see the same moment.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db import connection

from workflowplatform.ids import keep_time

BEGINNING = datetime(2030, 1, 7, 9, 0, tzinfo=UTC)

MAKE = """
CREATE SCHEMA standing;
CREATE TABLE standing.clock (at timestamptz NOT NULL);
INSERT INTO standing.clock VALUES ('2030-01-07 09:00:00+00');
CREATE FUNCTION standing.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT at FROM standing.clock';
CREATE FUNCTION standing.now() RETURNS timestamptz LANGUAGE sql STABLE AS 'SELECT at FROM standing.clock';
"""


@dataclass
class Clock:
    """The time that the database tells everyone."""

    at: datetime = BEGINNING

    def set(self, at: datetime) -> None:
        """Put the hands to a moment."""
        self.at = at
        with connection.cursor() as cursor:
            cursor.execute("UPDATE standing.clock SET at = %s", [at])

    def advance(self, by: timedelta) -> None:
        """Let some time pass, in which nobody works."""
        self.set(self.at + by)


@contextmanager
def standing_clock() -> Iterator[Clock]:
    """Stop the database's clock for the connections of this process and of those it forks."""
    with connection.cursor() as cursor:
        cursor.execute("DROP SCHEMA IF EXISTS standing CASCADE")
        cursor.execute(MAKE)
    before = connection.settings_dict["OPTIONS"]
    _reconnect({**before, "options": "-c search_path=standing,pg_catalog,public"})
    try:
        yield Clock()
    finally:
        _reconnect(before)
        keep_time(datetime.now(UTC))  # ids follow the database's clock, and that goes again
        with connection.cursor() as cursor:
            cursor.execute("DROP SCHEMA standing CASCADE")


def _reconnect(options: dict[str, object]) -> None:
    connection.close()
    connection.settings_dict["OPTIONS"] = options
