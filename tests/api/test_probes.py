"""Probes of load balancers: by any name, without TLS or sign-in, and of one mind with the health."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client

from engine.services import health
from tests.api.conftest import ROOT

pytestmark = pytest.mark.django_db
STRANGER = "10.0.0.7:8000"


@pytest.fixture(autouse=True)
def looked_at_anew(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    monkeypatch.setattr(health, "_fits", False)
    settings.SECURE_SSL_REDIRECT = True


@pytest.mark.parametrize("probe", ["/livez", "/readyz"])
def test_a_probe_is_answered_by_any_name_and_without_tls(probe: str) -> None:
    answer = Client().get(probe, headers={"host": STRANGER})
    assert (answer.status_code, answer.content, answer["Cache-Control"]) == (200, b"ok\n", "no-store")
    assert answer.cookies == {}
    assert Client().head(probe, headers={"host": STRANGER}).status_code == 200


def test_other_methods_and_addresses_go_on_as_before() -> None:
    assert Client().post("/readyz", headers={"host": STRANGER}).status_code == 400
    assert Client().get("/readyz/").status_code in (301, 404)


def test_a_process_is_not_ready_while_the_database_lacks_its_migrations() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'engine' AND name LIKE '0081%'")
    answer = Client().get("/readyz")
    assert (answer.status_code, answer.content) == (503, b"not ready: schema\n")
    assert Client().get("/livez").status_code == 200
    assert Client().get(f"{ROOT}health/", secure=True).json()["status"] == health.DOWN


def test_migrations_of_a_later_release_do_not_matter() -> None:
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO django_migrations (app, name, applied) VALUES ('engine', '9999_later', now())")
    assert Client().get("/readyz").status_code == 200
