"""Headers that every answer carries, whatever interface gave it, and those of what a browser could open directly."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from engine.services.people.tokens import create_token
from engine.services.templates.versions import activate_version, save_draft
from tests.cast import Cast
from tests.workflows import TIMER

pytestmark = pytest.mark.security("answers carry safe headers and are kept by nobody")

PAGES = ["/inbox/", "/accounts/login/", "/admin/", "/admin/engine/template/", "/api/v1/docs/",
         "/api/v1/health/", "/api/v1/tasks/", "/nothing-here", "/api/v1/nothing-here/"]  # fmt: skip


@pytest.mark.parametrize("address", PAGES)
def test_every_answer_carries_them(cast: Cast, address: str) -> None:
    client = Client()
    client.force_login(cast.gwen, backend="django.contrib.auth.backends.ModelBackend")
    answer = client.get(address)
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["X-Frame-Options"] == "DENY"
    assert answer["Referrer-Policy"] == "same-origin"
    assert answer["Cross-Origin-Opener-Policy"] == "same-origin"
    assert answer["Cross-Origin-Resource-Policy"] == "same-origin"
    policy = answer["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in policy
    assert "object-src 'none'" in policy
    assert "base-uri 'none'" in policy
    assert "'unsafe-eval'" not in policy
    scripts = next((part for part in policy.split(";") if "script-src" in part), "default-src 'self'")
    assert "unsafe-inline" not in scripts


def test_a_diagram_opened_directly_can_run_nothing(cast: Cast) -> None:
    save_draft(actor=cast.actor("gwen"), source=TIMER)
    activate_version(actor=cast.actor("gwen"), name="timer", number=1)
    token = create_token(actor=None, person=cast.gwen, name="trial")[1]
    answer: Any = Client().get(
        "/api/v1/templates/timer/versions/1/diagram.svg", headers={"Authorization": f"Token {token}"}
    )
    assert (answer.status_code, answer["Content-Type"].split(";")[0]) == (200, "image/svg+xml")
    assert "default-src 'none'" in answer["Content-Security-Policy"]
    assert "sandbox" in answer["Content-Security-Policy"]
    assert answer["X-Content-Type-Options"] == "nosniff"
