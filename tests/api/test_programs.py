"""Programs take a shorter way through the middlewares, and get what they would get on the long one."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.core.handlers.base import BaseHandler
from django.test import Client, override_settings

from tests.api.conftest import ROOT, Callers, caller_of
from tests.api.scene import set_scene
from tests.cast import Cast
from workflowplatform.http.programs import innermost

SHORT = "workflowplatform.http.programs.ProgramMiddleware"
LONG_WAY = [name for name in settings.MIDDLEWARE if name != SHORT]
OF_BROWSERS = {"Vary", "Content-Language"}
"""Headers that the long way adds because an answer to a browser depends on its cookies and language."""
PATHS = ("tasks/", "instances/", "nothing/", "stats/", "schema/", "docs/", "health/", "audit/export/", "tasks")


def headers_of(path: str, token: str) -> tuple[int, dict[str, str]]:
    answer = Client(raise_request_exception=False).get(ROOT + path, headers={"Authorization": token})
    return answer.status_code, {name: value for name, value in answer.headers.items() if name not in OF_BROWSERS}


@pytest.mark.parametrize("path", PATHS)
def test_both_ways_answer_with_the_same_headers(call: Callers, cast: Cast, path: str) -> None:
    set_scene(cast)
    for token in (f"Token {call('gwen').token}", f"token {call('gwen').token}", "Token wrong", "Token", "Tokens x"):
        short = headers_of(path, token)
        with override_settings(MIDDLEWARE=LONG_WAY):
            assert headers_of(path, token) == short, token


def test_a_wrong_token_is_refused_whatever_session_comes_along(cast: Cast) -> None:
    browser = Client()
    browser.force_login(cast.gwen, backend="django.contrib.auth.backends.ModelBackend")
    assert browser.get(ROOT + "tasks/").status_code == 200
    assert browser.get(ROOT + "tasks/", headers={"Authorization": "Token wrong"}).status_code == 401


def test_a_session_counts_for_nothing_beside_a_token(cast: Cast) -> None:
    set_scene(cast)
    browser, uri = Client(), caller_of("uri")
    browser.force_login(cast.sam, backend="django.contrib.auth.backends.ModelBackend")
    found = browser.get(ROOT + "instances/", headers={"Authorization": f"Token {uri.token}"}).json()["results"]
    assert [row["started_by"] for row in found] == ["uri"]


def test_a_host_that_is_not_ours_is_refused_on_the_short_way_too(cast: Cast) -> None:
    token = caller_of("gwen").token
    answer = Client().get(ROOT + "tasks/", headers={"Authorization": f"Token {token}", "Host": "elsewhere.example"})
    assert answer.status_code == 400


def test_the_short_way_ends_at_the_views() -> None:
    handler = BaseHandler()
    with override_settings(MIDDLEWARE=settings.MIDDLEWARE[settings.MIDDLEWARE.index(SHORT) :]):
        handler.load_middleware()
    assert innermost(handler._middleware_chain).__wrapped__.__name__ == "_get_response"  # type: ignore[attr-defined]
