"""Page lists by cursor: the position of the last row, never a row count, so that no row is lost or repeated.

A cursor is the sort key of a row and a direction, written as text. It grants no access: rows still come through
engine.access, which decides what the actor sees.
"""

import base64
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db.models import F, OrderBy, Q, QuerySet

from engine.db.query_shapes import Given

LARGEST_INTEGER = 2**31 - 1
LARGEST_SERIAL = 2**63 - 1
NOTHING = Q(pk__in=())


@dataclass(frozen=True, slots=True)
class Column:
    """One column of an order. Empty values come last, as in the lists of the inbox."""

    name: str
    parse: Callable[[Any], Any]
    descending: bool = False
    leads: bool = False
    """Whether an index finds where to begin by this column alone, before others break ties."""

    def order(self) -> OrderBy:
        return F(self.name).desc(nulls_first=True) if self.descending else F(self.name).asc(nulls_last=True)

    def beyond(self, value: Any) -> Q:
        """Match what comes after a value in this order."""
        if value is None:
            return Q((f"{self.name}__isnull", False)) if self.descending else NOTHING
        if self.descending:
            return Q((f"{self.name}__lt", value))
        return Q((f"{self.name}__gt", value)) | Q((f"{self.name}__isnull", True))

    def same(self, value: Any) -> Q:
        return Q((f"{self.name}__isnull", True)) if value is None else Q((self.name, value))


def moment(text: Any) -> datetime:
    """Read a moment that names its zone, as UTC: the database takes no zones further off than any on earth."""
    read = datetime.fromisoformat(text)
    if read.tzinfo is None:
        raise ValueError("a timestamp without time zone")
    try:
        return read.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("a timestamp out of range") from error


def whole(value: Any) -> int:
    """Read an integer that the database can compare with."""
    if not isinstance(value, int) or abs(value) > LARGEST_INTEGER:
        raise ValueError("not an integer, or out of range")
    return value


def serial(value: Any) -> int:
    """Read the number of a row that the database counts."""
    if not isinstance(value, int) or abs(value) > LARGEST_SERIAL:
        raise ValueError("not a number of ours")
    return value


def word(value: Any) -> str:
    """Read a text that the database can compare with."""
    if not isinstance(value, str) or "\0" in value:
        raise ValueError("not a text of ours")
    return value


BY_NAME = (Column("name", word),)
BY_USERNAME = (Column("username", word),)
BY_TOKEN = (Column("created", moment, descending=True), Column("token_key", word))
NEWEST = (Column("id", UUID, descending=True),)
LAST_WRITTEN = (Column("row_id", serial, descending=True, leads=True), Column("id", serial, descending=True))
URGENT = (Column("priority", whole, descending=True), Column("due_at", moment), Column("id", UUID))
LAST_DONE = (Column("completed_at", moment, descending=True), Column("id", UUID, descending=True))
DUE = (Column("due_at", moment), Column("id", UUID))
OLDEST = (Column("id", UUID),)
NEXT_UP = (Column("follow_up_at", moment), Column("id", UUID))
"""Orders whose last column is unique; a descending column is never empty, but in a list walked backwards."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """Begin after the row with these values; backwards when the previous page is wanted."""

    values: tuple[Any, ...]
    backwards: bool = False

    def given(self, given: Given) -> "Cursor":
        """Return a cursor of placeholders."""
        return Cursor(tuple(map(given, self.values)), given(self.backwards))

    def __str__(self) -> str:
        written = [value if value is None or isinstance(value, int) else _text(value) for value in self.values]
        return base64.urlsafe_b64encode(json.dumps([self.backwards, *written]).encode()).decode().rstrip("=")


def _text(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def read_cursor(text: str, columns: Sequence[Column]) -> Cursor:
    """Read a cursor that was given out for this order, or raise ValueError."""
    try:
        backwards, *written = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        values = [
            None if value is None else column.parse(value) for column, value in zip(columns, written, strict=True)
        ]
    except (TypeError, AttributeError, RecursionError) as error:
        raise ValueError("not a valid cursor") from error
    return Cursor(tuple(values), bool(backwards))


@dataclass(frozen=True, slots=True)
class Page:
    """Some rows, and where the previous and the next page begin."""

    rows: list[Any]
    next: Cursor | None
    previous: Cursor | None


def page_of(rows: QuerySet[Any], columns: Sequence[Column], cursor: Cursor | None, limit: int) -> Page:
    """Return one page of a list, read in one query."""
    return page_with(list(rows_beyond(rows, columns, cursor, limit)), columns, cursor, limit)


def rows_beyond(
    rows: QuerySet[Any], columns: Sequence[Column], cursor: Cursor | None, limit: int
) -> QuerySet[Any, Any]:
    """Return the query for one page and the row behind it."""
    if cursor is not None:
        rows = rows.filter(beyond(columns, cursor))
    order = _walked(columns, cursor is not None and cursor.backwards)
    return rows.order_by(*(column.order() for column in order))[: limit + 1]


def page_with(found: list[Any], columns: Sequence[Column], cursor: Cursor | None, limit: int) -> Page:
    """Return the page that these rows make, of which the last may be one too many."""
    backwards = cursor is not None and cursor.backwards
    more, found = len(found) > limit, found[:limit]
    if backwards:
        found.reverse()
    after, before = (True, more) if backwards else (more, cursor is not None)
    return Page(found, beside(found, columns, -1, after), beside(found, columns, 0, before))


def given_cursor(cursor: Cursor | None, given: Given) -> Cursor | None:
    """Return a cursor of placeholders, or that there is none."""
    return cursor.given(given) if given(cursor is not None) and cursor is not None else None


def _walked(columns: Sequence[Column], backwards: bool) -> list[Column]:
    return [replace(column, descending=column.descending ^ backwards) for column in columns]


def beyond(columns: Sequence[Column], cursor: Cursor) -> Q:
    """Match the rows that follow a cursor, in its direction."""
    found, same, lead = NOTHING, Q(), Q()
    for column, value in zip(_walked(columns, cursor.backwards), cursor.values, strict=True):
        found |= same & column.beyond(value)
        same &= column.same(value)
        if column.leads:
            lead &= column.same(value) | column.beyond(value)
    return lead & found


def beside(rows: Sequence[Any], columns: Sequence[Column], at: int, there: bool) -> Cursor | None:
    """Write where the page before (0) or behind (-1) these rows begins, if there is one."""
    if not (there and rows):
        return None
    return Cursor(tuple(getattr(rows[at], column.name) for column in columns), backwards=at == 0)
