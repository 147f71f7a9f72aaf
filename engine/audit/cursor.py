"""Follow the audit without loss or doubles.

A serial number alone is no cursor: a transaction may take number 7 and commit after number 9 was read. So acts are ordered by
the transaction that wrote them, then by number, and read only below the oldest transaction that is still open. An act's number
is that of its row and its place there, so that a reader can stop within a row.
Everything below it is committed or never will be, so nothing can appear there later. A transaction that stays open
delays all readers; nothing is lost.

A position is written `transaction-number`. It grants nothing: access still decides which rows a reader sees.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection
from django.db.models import Q, QuerySet

from engine.models import Audit

LARGEST = 2**63 - 1
SETTLED = "pg_snapshot_xmin(pg_current_snapshot())"


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place in the audit: behind this act of this transaction."""

    xid: int
    id: int = 0

    def __str__(self) -> str:
        return f"{self.xid}-{self.id}"


BEGINNING = Position(0)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Acts in their order, where to continue, and whether more can be read already."""

    rows: Sequence[Audit]
    end: Position
    more: bool


def read_position(text: str) -> Position:
    """Read a position as it was given out, or raise ValueError."""
    found = re.fullmatch(r"(\d{1,19})-(\d{1,19})", text, re.ASCII)
    numbers = [int(number) for number in found.groups()] if found else []
    if not numbers or max(numbers) > LARGEST:
        raise ValueError("This position is not valid.")
    return Position(*numbers)


def settled_position() -> Position:
    """Return the place before which nothing can appear any more."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {SETTLED}::text::bigint")
        return Position(cursor.fetchone()[0])


def unread_sql(row: str, *, xid: str, number: str) -> str:
    """Return the condition that an act of `wf_audit_acts` is behind a position, kept as two columns, and below the oldest open
    transaction; an index finds where to begin.
    """
    after = f"{xid}::text::xid8"
    return f"{row}.xid >= {after} AND ({row}.xid, {row}.id) > ({after}, {number}) AND {row}.xid < {SETTLED}"


def position_of(row: Audit) -> Position:
    """Return the position of an act."""
    return Position(row.xid, row.pk)


def read_on(rows: QuerySet[Audit], after: Position, *, most: int, below: Position | None = None) -> Stretch:
    """Read what follows a position, below the oldest open transaction. Nothing that was read has to be read again."""
    end = below or settled_position()
    beyond = Q(xid__gte=after.xid) & (Q(xid__gt=after.xid) | Q(pk__gt=after.id))
    found = list(rows.filter(beyond, xid__lt=end.xid).order_by("xid", "row_id", "pk")[: most + 1])
    more, found = len(found) > most, found[:most]
    return Stretch(found, position_of(found[-1]) if more else max(end, after), more)
