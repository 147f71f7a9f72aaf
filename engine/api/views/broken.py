"""Answer a defect of ours in the form of the door at which it showed."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.defaults import server_error

from engine.api.errors import MEDIA_TYPE, problem

API = "/api/"
WORDS = "Something broke on our side. What was asked was not done; asking again with the same Idempotency-Key is safe."


def answer_defect(request: HttpRequest) -> HttpResponse:
    """Answer programs with a problem and people with a page."""
    if request.path.startswith(API):
        return JsonResponse(problem(500, "defect", WORDS), status=500, content_type=MEDIA_TYPE)
    return server_error(request)
