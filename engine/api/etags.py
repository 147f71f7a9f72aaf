"""Keep two editors of one thing from overwriting each other: `ETag`, `If-Match`, `If-None-Match`.

An ETag has two parts: what people edit, and what changes by itself (a schedule's next run, a webhook's failures). A reader's
`If-None-Match` is compared whole, an editor's `If-Match` by the first part, so that nobody is refused because the clock struck.
It is optional and, where it is sent, honoured: the thing is held by its lock, looked at, and only then changed.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ClassVar

from rest_framework import exceptions, status
from rest_framework.request import Request
from rest_framework.response import Response

from engine.api.json_bodies import AnswerRenderer
from engine.api.views.base import ApiView
from engine.db.transactions import do_in_one_transaction
from engine.errors import NotFound

IF_MATCH, IF_NONE_MATCH, ETAG = "If-Match", "If-None-Match", "ETag"
ANY = "*"
READING = frozenset({"GET", "HEAD"})

Handler = Callable[..., Response]


class Changed(exceptions.APIException):
    """What is to be changed is no longer what the editor saw."""

    status_code = status.HTTP_412_PRECONDITION_FAILED
    default_code = "changed"


class EditedView(ApiView):
    """A view of one thing that people edit: its GET says its ETag."""

    passing: ClassVar[frozenset[str]] = frozenset()
    """Fields that change without anybody editing them."""
    makes: ClassVar[bool] = False
    """Whether its PUT also makes what is not there yet."""
    answers_whole: ClassVar[bool] = True
    """Whether a change is answered with what a GET shows, so that the answer itself has the ETag."""

    def hold(self, *args: Any, **kwargs: Any) -> object:
        """Lock what is to be changed until the act is over, as the services that change it do."""
        raise NotImplementedError

    def headers_of(self, answer: Any) -> Mapping[str, str]:
        """Return the ETag header of what a change was answered with."""
        return {ETAG: tag_of(answer, self.passing)} if self.answers_whole else {}

    def finalize_response(self, request: Request, response: Response, *args: Any, **kwargs: Any) -> Response:
        """Answer what was read, or 304 if the client already has it."""
        if request.method in READING and response.status_code == status.HTTP_200_OK and isinstance(response, Response):
            tag = tag_of(response.data, self.passing)
            if _names(request.headers.get(IF_NONE_MATCH), tag):
                response = Response(status=status.HTTP_304_NOT_MODIFIED)
            response[ETAG] = tag
            response["Cache-Control"] = "private, no-cache"
        return super().finalize_response(request, response, *args, **kwargs)


def matched(handler: Handler) -> Handler:
    """Change only what the editor saw, where the request says what that was; answer the ETag of what it became."""

    @wraps(handler)
    def handle(view: EditedView, request: Request, **kwargs: Any) -> Response:
        return do_in_one_transaction(lambda: _change(handler, view, request, kwargs))

    return handle


def _change(handler: Handler, view: EditedView, request: Request, kwargs: dict[str, Any]) -> Response:
    if {IF_MATCH, IF_NONE_MATCH} & set(request.headers):
        _refuse_changed(request, _held_tag(view, request, kwargs))
    response = handler(view, request, **kwargs)
    if response.status_code != status.HTTP_204_NO_CONTENT:
        told = view.headers_of(response.data) or {ETAG: _current(view, request, kwargs)}
        for name, value in told.items():
            response[name] = value
    return response


def _held_tag(view: EditedView, request: Request, kwargs: dict[str, Any]) -> str | None:
    """Hold the thing and say what it is now; None where there is none yet and this would make it."""
    try:
        view.hold(**kwargs)
        return _current(view, request, kwargs)
    except NotFound:
        if not view.makes:
            raise
        return None


def _current(view: EditedView, request: Request, kwargs: dict[str, Any]) -> str:
    shown: Response = view.get(request, **kwargs)  # type: ignore[attr-defined]
    return tag_of(shown.data, view.passing)


def _refuse_changed(request: Request, tag: str | None) -> None:
    wanted, unwanted = request.headers.get(IF_MATCH), request.headers.get(IF_NONE_MATCH)
    if wanted is not None and (tag is None or not _names(wanted, tag, edited=True)):
        raise Changed("This was changed since you read it. Read it again, compare, then send your change again.")
    if unwanted is not None and tag is not None and _names(unwanted, tag):
        raise Changed("This already exists. Nothing was overwritten.")


def tag_of(shown: Any, passing: frozenset[str]) -> str:
    """Write the ETag of what is shown."""
    if not isinstance(shown, dict):
        shown = {"": shown}
    edited = {name: value for name, value in shown.items() if name not in passing}
    return f'"{_digest(edited)}.{_digest(shown)}"' if passing else f'"{_digest(edited)}"'


def _digest(shown: Any) -> str:
    text = json.dumps(json.loads(AnswerRenderer().render(shown)), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _names(header: str | None, tag: str, *, edited: bool = False) -> bool:
    """Return whether a header lists a tag, or anything at all; weakly written ones match only a reader's question."""
    if header is None:
        return False
    listed = [one.strip() for one in header.split(",")]
    if ANY in listed:
        return True
    if edited:
        return _edited_part(tag) in {_edited_part(one) for one in listed}
    return tag in {one.removeprefix("W/") for one in listed}


def _edited_part(tag: str) -> str:
    return tag.partition(".")[0].rstrip('"')
