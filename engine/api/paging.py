"""Read from an address which page of a list is asked for, and write where the pages beside it begin."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from django.db.models import QuerySet
from rest_framework.request import Request

from engine.errors import Invalid
from engine.kernel.forms import FieldError
from engine.keyset import Column, Cursor, Page, page_of, read_cursor

FEWEST, USUAL, MOST = 1, 50, 200
PageReader = Callable[[Cursor | None, int], Page]


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


def answer_page(
    request: Request,
    rows: QuerySet[Any] | PageReader,
    columns: Sequence[Column],
    shape: Callable[[list[Any]], list[Any]],
) -> Mapping[str, Any]:
    """Read `cursor` and `limit`, and answer `{results, next, previous}`; some lists read their pages by themselves."""
    cursor = _cursor(request.query_params.get("cursor"), columns)
    limit = read_limit(request.query_params.get("limit"))
    page = page_of(rows, columns, cursor, limit) if isinstance(rows, QuerySet) else rows(cursor, limit)
    return {
        "results": shape(page.rows),
        "next": _address(request, page.next),
        "previous": _address(request, page.previous),
    }


def _cursor(text: str | None, columns: Sequence[Column]) -> Cursor | None:
    try:
        return read_cursor(text, columns) if text else None
    except ValueError:
        _refuse("cursor", "This cursor is not one of ours. Begin again without it.")


def _address(request: Request, cursor: Cursor | None) -> str | None:
    if cursor is None:
        return None
    query = request.query_params.copy()
    query["cursor"] = str(cursor)
    return request.build_absolute_uri(f"{request.path}?{query.urlencode()}")
