"""Keep other sites from embedding what this one answers: pages, files, static files and REST answers alike."""

from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase

HEADER = "Cross-Origin-Resource-Policy"


def own_resources(answer: Callable[[HttpRequest], HttpResponseBase]) -> Callable[[HttpRequest], HttpResponseBase]:
    """Mark every answer as one that only pages of this origin may load."""

    def answered(request: HttpRequest) -> HttpResponseBase:
        response = answer(request)
        response.headers.setdefault(HEADER, "same-origin")
        return response

    return answered
