"""What a request costs the web process in CPU: lists of 50, and the fixed part of every request.

The fixed part is a request to a view that does nothing, through everything in front of it: middlewares, token, throttles and,
for a POST, the Idempotency-Key. The database works in processes of its own and is not counted.
"""

import os
import time
from collections.abc import Callable
from io import BytesIO
from typing import Any

from django.core.handlers.wsgi import WSGIHandler
from django.test import override_settings
from django.urls import include, path
from rest_framework.request import Request
from rest_framework.response import Response

from benchmarks.bench_tenant import BenchTenant, set_up_tenant
from benchmarks.report import Report, at_most
from engine.api.idempotency import once
from engine.api.views.base import ApiView
from engine.services.instances.lifecycle import start_instance
from engine.services.people.tokens import create_token
from workflowplatform.accounts.models import User

ROWS = 50
LISTS = ("tasks/", "tasks/?view=available", "instances/")
POOL = {"WORKFLOW_POOL_SIZE": "20"}


class Nothing(ApiView):
    """A view that costs nothing by itself."""

    def get(self, request: Request) -> Response:
        return Response({})

    @once
    def post(self, request: Request) -> Response:
        return Response({})


urlpatterns = [
    path("api/v1/nothing/", Nothing.as_view()),
    path("", include("workflowplatform.urls")),
]


class Web:
    """The product's handler with all its middleware, in this process."""

    def __init__(self, token: str) -> None:
        self._handler, self._token = WSGIHandler(), token

    def __call__(self, method: str, address: str, *, key: str = "") -> bytes:
        """Send a request as a program does, and return the body."""
        where, _, query = address.partition("?")
        body = b"{}" if method == "POST" else b""
        environ: dict[str, Any] = {
            "REQUEST_METHOD": method, "PATH_INFO": f"/api/v1/{where}", "QUERY_STRING": query, "SCRIPT_NAME": "",
            "SERVER_NAME": "127.0.0.1", "SERVER_PORT": "8000", "SERVER_PROTOCOL": "HTTP/1.1", "REMOTE_ADDR": "127.0.0.1",
            "HTTP_HOST": "127.0.0.1:8000", "HTTP_AUTHORIZATION": f"Token {self._token}", "HTTP_ACCEPT": "*/*",
            "CONTENT_TYPE": "application/json", "CONTENT_LENGTH": str(len(body)), "wsgi.input": BytesIO(body),
            "wsgi.url_scheme": "http", "wsgi.errors": None,
        }  # fmt: skip
        if key:
            environ["HTTP_IDEMPOTENCY_KEY"] = key
        told: list[str] = []
        answer = self._handler(environ, lambda status, headers: told.append(status))
        text = b"".join(answer)
        answer.close()
        assert told[0].startswith("200"), (address, told, text[:300])
        return text


def asked_of(web: Web) -> dict[str, Callable[[], object]]:
    """Return what is measured, by name."""
    return {
        "GET, fixed": lambda: web("GET", "nothing/"),
        "POST, fixed, with a key": lambda: web("POST", "nothing/", key=os.urandom(8).hex()),
        **{f"GET {address}": lambda address=address: web("GET", address) for address in LISTS},  # type: ignore[misc]
    }


def cost_of(act: Callable[[], object], times: int) -> float:
    """Return the milliseconds of CPU of one request."""
    for _ in range(10):
        act()
    began = time.process_time()
    for _ in range(times):
        act()
    return 1000 * (time.process_time() - began) / times


def token_of(bench: BenchTenant) -> str:
    """Return a token of the person who may do most of the tasks."""
    return create_token(actor=None, person=User.objects.get(pk=bench.clerk.person_id), name="bench")[1]


@override_settings(ROOT_URLCONF="benchmarks.web")
def costs(token: str, times: int) -> dict[str, float]:
    """Measure each request."""
    return {name: cost_of(act, times) for name, act in asked_of(Web(token)).items()}


def start_some(bench: BenchTenant) -> None:
    """Start more than a page of instances, each with a task."""
    for number in range(ROWS + 10):
        start_instance(actor=bench.starter, template="w1", input={"amount": 1000 + number})


def run(short: bool) -> Report:
    """Measure requests over rows of the measured workflow."""
    bench = set_up_tenant()
    start_some(bench)
    found = costs(token_of(bench), 50 if short else 300)
    goals = tuple(
        at_most(f"{name}: CPU of the web process", 2.5 if "fixed" in name else 10, cost, "ms")
        for name, cost in found.items()
    )
    rows = tuple((name, f"{cost:.2f}") for name, cost in found.items())
    notes = (f"Lists of {ROWS} rows. CPU of the process that answers, by time.process_time.",)
    return Report("web", "What a request costs the web process", ("request", "CPU ms"), rows, goals, notes)
