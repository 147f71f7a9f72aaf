"""Keep answers out of caches: what a page or an answer of the API shows is for one person at one moment.

Static files are answered further out and may be kept.
"""

from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase

HEADER, WORD = "Cache-Control", "no-store"


class NoStoreMiddleware:
    """Mark every answer as one that neither a browser nor a proxy is to store."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        answer = self.get_response(request)
        if WORD not in answer.get(HEADER, ""):
            answer[HEADER] = f"private, {WORD}"
        return answer
