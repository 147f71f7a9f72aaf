"""Follow the audit without loss or doubles.

A serial number alone is no cursor: a transaction may take number 7 and commit after number 9 was read. So rows are ordered by
the transaction that wrote them, then by number, and read only below the horizon: the oldest transaction that is still under way.
Whatever lies below it has been committed or never will be, so nothing can appear there later. A transaction that stays open
holds the horizon back for everybody; it delays, and loses nothing.

A position is written `transaction-number`. It carries no right: rows still come through the door that decides who sees them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection
from django.db.models import Q, QuerySet

from engine.models import Audit

LARGEST = 2**63 - 1
HORIZON = "pg_snapshot_xmin(pg_current_snapshot())"


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place in the audit: behind this row of this transaction."""

    xid: int
    id: int = 0

    def __str__(self) -> str:
        return f"{self.xid}-{self.id}"


BEGINNING = Position(0)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Rows in their order, where to go on, and whether more lie below the horizon already."""

    rows: Sequence[Audit]
    end: Position
    more: bool


def read_position(text: str) -> Position:
    """Read a position as it was given out, or raise ValueError."""
    found = re.fullmatch(r"(\d{1,19})-(\d{1,19})", text, re.ASCII)
    numbers = [int(number) for number in found.groups()] if found else []
    if not numbers or max(numbers) > LARGEST:
        raise ValueError("This position is not one of ours.")
    return Position(*numbers)


def horizon() -> Position:
    """Return the place before which nothing can appear any more."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {HORIZON}::text::bigint")
        return Position(cursor.fetchone()[0])


def unread_sql(row: str, *, xid: str, number: str) -> str:
    """Write the condition that a row of the audit lies behind a position, kept as two columns, and below the horizon."""
    return f"({row}.xid, {row}.id) > ({xid}::text::xid8, {number}) AND {row}.xid < {HORIZON}"


def position_of(row: Audit) -> Position:
    """Return where a row stands."""
    return Position(row.xid, row.pk)


def read_on(rows: QuerySet[Audit], after: Position, *, most: int, below: Position | None = None) -> Stretch:
    """Read what follows a position, up to the horizon. Of what was read through, nothing needs to be read again."""
    end = below or horizon()
    beyond = Q(xid__gte=after.xid) & (Q(xid__gt=after.xid) | Q(pk__gt=after.id))
    found = list(rows.filter(beyond, xid__lt=end.xid).order_by("xid", "pk")[: most + 1])
    more, found = len(found) > most, found[:most]
    return Stretch(found, position_of(found[-1]) if more else max(end, after), more)
