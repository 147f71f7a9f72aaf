"""Read the requested page of a list from the URL, and return the cursors of the next and previous page."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from django.db.models import QuerySet
from django.utils.crypto import constant_time_compare, salted_hmac
from rest_framework.request import Request

from engine.api.serializers import Rows
from engine.db.keyset_pagination import Column, Cursor, Page, page_of, read_cursor
from engine.errors import Invalid
from engine.kernel.forms import FieldError

SEALED = "."
FIELDS = "fields"
FEWEST, USUAL, MOST = 1, 50, 200
PageReader = Callable[[Cursor | None, int], Page]


def read_limit(text: str | None) -> int:
    """Read how many rows a page shall have."""
    return _count("limit", text, USUAL, MOST)


def read_fields(request: Request, shape: type[Rows]) -> tuple[str, ...]:
    """Read which fields of a row are asked for, in the order in which they are described; none: all."""
    text = request.query_params.get(FIELDS)
    if text is None:
        return ()
    asked, known = set(text.split(",")), shape.names()
    if not asked.issubset(known):
        _refuse(FIELDS, f"Use some of {', '.join(known)}, separated by commas.")
    return tuple(name for name in known if name in asked)


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


def answer_page(
    request: Request,
    rows: QuerySet[Any] | PageReader,
    columns: Sequence[Column],
    shape: Callable[[list[Any]], list[Any]],
) -> Mapping[str, Any]:
    """Read `cursor` and `limit`, and answer `{results, next, previous}`; some lists read their pages by themselves."""
    cursor = _cursor(request, columns)
    limit = read_limit(request.query_params.get("limit"))
    page = page_of(rows, columns, cursor, limit) if isinstance(rows, QuerySet) else rows(cursor, limit)
    return {
        "results": shape(page.rows),
        "next": _address(request, columns, page.next),
        "previous": _address(request, columns, page.previous),
    }


def _cursor(request: Request, columns: Sequence[Column]) -> Cursor | None:
    """Read where the page begins; only this list in this order takes what it gave out."""
    given = request.query_params.get("cursor")
    if not given:
        return None
    text, _, seal = given.rpartition(SEALED)
    try:
        if constant_time_compare(seal, _seal(request, columns, text)):
            return read_cursor(text, columns)
    except ValueError:
        pass  # an earlier release gave it out
    _refuse("cursor", "This cursor does not belong to this list and order. Start again without it.")


def _seal(request: Request, columns: Sequence[Column], text: str) -> str:
    order = [(column.name, column.descending) for column in columns]
    return salted_hmac(__name__, f"{request.path} {order} {text}", algorithm="sha256").hexdigest()[:16]


def _address(request: Request, columns: Sequence[Column], cursor: Cursor | None) -> str | None:
    if cursor is None:
        return None
    query, text = request.query_params.copy(), str(cursor)
    query["cursor"] = f"{text}{SEALED}{_seal(request, columns, text)}"
    return request.build_absolute_uri(f"{request.path}?{query.urlencode()}")
