"""Answer what no view could, a defect of ours or an address that no route takes, in the form of the door at which it showed."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.defaults import page_not_found, server_error

from engine.api.errors import MEDIA_TYPE, problem
from engine.errors import NotFound

API = "/api/"
WORDS = "Something broke on our side. What was asked was not done; asking again with the same Idempotency-Key is safe."


def answer_defect(request: HttpRequest) -> HttpResponse:
    """Answer programs with a problem and people with a page."""
    if request.path.startswith(API):
        return _problem(500, "defect", WORDS)
    return server_error(request)


def answer_unknown(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer an address that not even the last route takes, such as one with a line's end inside."""
    if request.path.startswith(API):
        nothing = NotFound()
        return _problem(404, nothing.code, nothing.message)
    return page_not_found(request, exception)


def _problem(status: int, code: str, detail: str) -> JsonResponse:
    return JsonResponse(problem(status, code, detail), status=status, content_type=MEDIA_TYPE)
