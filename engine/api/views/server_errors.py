"""Answer what no view could, a defect or a URL without a route: problem+json for programs, a page for people.

A database that is away is no defect: the answer says so and when to try again, also where the middleware or the
way to a stream met it first.
"""

import sys

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.views.defaults import bad_request, page_not_found, server_error

from engine.api.errors import MEDIA_TYPE, TooLarge, Unavailable, absence, problem
from engine.db.transactions import is_database_away
from engine.errors import NotFound

API = "/api/"
WORDS = "The server failed and changed nothing. You can safely repeat the request with the same Idempotency-Key."


def answer_defect(request: HttpRequest) -> HttpResponse:
    """Answer programs with problem+json and people with a page; Django calls this while it handles the error."""
    error = sys.exc_info()[1]
    if error is not None and is_database_away(error):
        return _answer_absence(request, absence(error))
    if request.path.startswith(API):
        return _problem(500, "defect", WORDS)
    return server_error(request)


def _answer_absence(request: HttpRequest, why: Unavailable) -> HttpResponse:
    """Answer that the server cannot work now; the page does not need the request, whose person could not be read."""
    if request.path.startswith(API):
        answer: HttpResponse = _problem(why.status_code, why.default_code, why.default_detail)
    else:
        answer = HttpResponse(render_to_string("503.html", {"code": why.default_code}), status=why.status_code)
    answer["Retry-After"] = str(why.wait)
    return answer


def answer_unknown(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer a URL that matches no route at all, such as one with a line break."""
    if request.path.startswith(API):
        nothing = NotFound()
        return _problem(404, nothing.code, nothing.message)
    return page_not_found(request, exception)


def answer_malformed(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer a request that was refused before any view, such as an unknown host or a form that is too large."""
    if isinstance(exception, RequestDataTooBig):
        return _answer_too_much(request)
    if request.path.startswith(API):
        return _problem(400, "invalid", "The request is malformed, or its Host header names another server.")
    return bad_request(request, exception)


def _answer_too_much(request: HttpRequest) -> HttpResponse:
    """Answer that the body is too large; the page does not need the request, which is not read further."""
    if request.path.startswith(API):
        return _problem(TooLarge.status_code, TooLarge.default_code, "The body is too large.")
    return HttpResponse(render_to_string("413.html"), status=TooLarge.status_code)


def _problem(status: int, code: str, detail: str) -> JsonResponse:
    return JsonResponse(problem(status, code, detail), status=status, content_type=MEDIA_TYPE)
