"""Answer load balancers and supervisors: `/livez` and `/readyz`, in plain text.

They come before everything else: a probe comes by address, without TLS, sign-in or a name that `ALLOWED_HOSTS` knows.
What makes a process ready is what the health says; the words behind it are for operators, so this only names the part.
"""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from engine.services import health

READING = ("GET", "HEAD")


class ProbesMiddleware:
    """Comes first, before hosts are checked and plain HTTP is redirected."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        probe = PROBES.get(request.path_info)
        return probe() if probe and request.method in READING else self.get_response(request)


def livez() -> HttpResponse:
    """Answer that the process lives: whatever it depends on, restarting it would not help."""
    return _text("ok", 200)


def readyz() -> HttpResponse:
    """Answer 200 if requests can be served and work is done; otherwise 503 with the parts at fault."""
    faults = [part for part, _words in health.look_at_services().faults]
    return _text("not ready: " + ", ".join(faults), 503) if faults else _text("ok", 200)


def _text(words: str, status: int) -> HttpResponse:
    headers = {"Cache-Control": "no-store"}
    return HttpResponse(f"{words}\n", status=status, content_type="text/plain; charset=utf-8", headers=headers)


PROBES = {"/livez": livez, "/readyz": readyz}
