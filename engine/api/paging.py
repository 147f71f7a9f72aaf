"""Page lists by cursor: where the last row stood, never how many came before, so that nothing is lost or doubled.

A cursor is the sort key of a row and a direction, written as text. It carries no right: rows still come through the
door that decides what the actor sees.
"""

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NoReturn
from uuid import UUID

from django.db.models import F, OrderBy, Q, QuerySet
from rest_framework.request import Request

from engine.errors import Invalid
from engine.kernel.forms import FieldError

FEWEST, USUAL, MOST = 1, 50, 200
LARGEST_INTEGER = 2**31 - 1
LARGEST_SERIAL = 2**63 - 1
NOTHING = Q(pk__in=())


@dataclass(frozen=True, slots=True)
class Column:
    """One column of an order. Empty values come last, as in the lists of the inbox."""

    name: str
    parse: Callable[[Any], Any]
    descending: bool = False

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
    """Read a moment that names its zone."""
    read = datetime.fromisoformat(text)
    if read.tzinfo is None:
        raise ValueError("a moment without zone")
    return read


def whole(value: Any) -> int:
    """Read an integer that the database can compare with."""
    if not isinstance(value, int) or abs(value) > LARGEST_INTEGER:
        raise ValueError("not a whole number of ours")
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
BY_TOKEN = (Column("created", moment, descending=True), Column("digest", word))
NEWEST = (Column("id", UUID, descending=True),)
LAST_WRITTEN = (Column("id", serial, descending=True),)
URGENT = (Column("priority", whole, descending=True), Column("due_at", moment), Column("id", UUID))
LAST_DONE = (Column("completed_at", moment, descending=True), Column("id", UUID, descending=True))
DUE = (Column("due_at", moment), Column("id", UUID))
NEXT_UP = (Column("follow_up_at", moment), Column("id", UUID))
"""Orders whose last column is unique; a descending column is never empty, but in a list walked backwards."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """Begin after the row with these values; backwards when the previous page is wanted."""

    values: tuple[Any, ...]
    backwards: bool = False

    def __str__(self) -> str:
        written = [value if value is None or isinstance(value, int) else _text(value) for value in self.values]
        return base64.urlsafe_b64encode(json.dumps([self.backwards, *written]).encode()).decode().rstrip("=")


def _text(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def read_cursor(text: str, columns: Sequence[Column]) -> Cursor:
    """Read a cursor that was given out for this order."""
    try:
        backwards, *written = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        values = [
            None if value is None else column.parse(value) for column, value in zip(columns, written, strict=True)
        ]
    except (ValueError, TypeError, AttributeError, RecursionError):
        _refuse("cursor", "This cursor is not one of ours. Begin again without it.")
    return Cursor(tuple(values), bool(backwards))


def read_limit(text: str | None) -> int:
    """Read how many rows a page shall have."""
    return _count("limit", text, USUAL, MOST)


def read_count(request: Request, name: str, *, usual: int, most: int) -> int:
    """Read how many of something the address asks for; there is nothing else to ask there."""
    for other in request.query_params:
        if other != name:
            _refuse(other, f"There is no filter {other} here.")
    return _count(name, request.query_params.get(name), usual, most)


def _count(name: str, text: str | None, usual: int, most: int) -> int:
    if text is None:
        return usual
    if not (text.isascii() and text.isdigit() and len(text) < 5 and FEWEST <= int(text) <= most):
        _refuse(name, f"Ask for {FEWEST} to {most}.")
    return int(text)


def _refuse(field: str, message: str) -> NoReturn:
    raise Invalid(message, [FieldError(field, "invalid", message)])


@dataclass(frozen=True, slots=True)
class Page:
    """Some rows, and where the pages beside them begin."""

    rows: list[Any]
    next: Cursor | None
    previous: Cursor | None


def page_of(rows: QuerySet[Any], columns: Sequence[Column], cursor: Cursor | None, limit: int) -> Page:
    """Return one page of a list, read in one query."""
    backwards = cursor is not None and cursor.backwards
    walked = [replace(column, descending=not column.descending) for column in columns] if backwards else list(columns)
    if cursor is not None:
        rows = rows.filter(_after(walked, cursor.values))
    found = list(rows.order_by(*(column.order() for column in walked))[: limit + 1])
    more, found = len(found) > limit, found[:limit]
    if backwards:
        found.reverse()
    after, before = (cursor is not None, more) if backwards else (more, cursor is not None)
    return Page(found, _beside(found, columns, -1, after), _beside(found, columns, 0, before))


def _after(columns: Sequence[Column], values: Sequence[Any]) -> Q:
    beyond, same = NOTHING, Q()
    for column, value in zip(columns, values, strict=True):
        beyond |= same & column.beyond(value)
        same &= column.same(value)
    return beyond


def _beside(rows: list[Any], columns: Sequence[Column], at: int, there: bool) -> Cursor | None:
    if not (there and rows):
        return None
    return Cursor(tuple(getattr(rows[at], column.name) for column in columns), backwards=at == 0)


def answer_page(
    request: Request, rows: QuerySet[Any], columns: Sequence[Column], shape: Callable[[list[Any]], list[Any]]
) -> Mapping[str, Any]:
    """Read `cursor` and `limit`, and answer `{results, next, previous}`."""
    text = request.query_params.get("cursor")
    cursor = read_cursor(text, columns) if text else None
    page = page_of(rows, columns, cursor, read_limit(request.query_params.get("limit")))
    return {
        "results": shape(page.rows),
        "next": _address(request, page.next),
        "previous": _address(request, page.previous),
    }


def _address(request: Request, cursor: Cursor | None) -> str | None:
    if cursor is None:
        return None
    query = request.query_params.copy()
    query["cursor"] = str(cursor)
    return request.build_absolute_uri(f"{request.path}?{query.urlencode()}")
