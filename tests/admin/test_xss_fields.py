"""No text of a model or of a request body is missing from the XSS corpus."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.db import models
from django.test.utils import isolate_apps
from rest_framework import serializers

from engine.api.request_bodies import Text
from tests.admin.conftest import SignIn
from tests.browser.payloads import code_of
from tests.browser.xss_fields import (
    BY_THE_PLATFORM,
    LEFT,
    NOT_SEEN,
    NOT_STORED,
    STORED,
    WRITTEN,
    bodies_without_a_row,
    body_texts,
    named,
    seen_wrongly,
    text_fields,
    without_a_row,
)

pytestmark = pytest.mark.security("texts never become markup")


def test_every_text_of_a_model_has_one_row() -> None:
    known = {named(field) for field in text_fields()}
    assert without_a_row(known) == set(), "write payloads into it (WRITTEN), or say why not (LEFT)"
    assert {*WRITTEN, *LEFT} - known == set(), "a row for a field that is gone"
    assert set(WRITTEN) & set(LEFT) == set()
    assert len(set(WRITTEN)) == len(WRITTEN)


def test_every_text_of_a_request_body_has_one_row() -> None:
    known = set(body_texts())
    assert bodies_without_a_row(known) == set(), "say where it is kept (STORED), or why it is not (NOT_STORED)"
    assert {*STORED, *NOT_STORED} - known == set(), "a row for a field that is gone"
    assert set(STORED) & set(NOT_STORED) == set()
    assert without_a_row(STORED.values()) == set()


@isolate_apps("engine")
def test_a_new_text_of_a_model_is_missed() -> None:
    class Remark(models.Model):
        text = models.TextField()

        class Meta:
            app_label = "engine"

        def __str__(self) -> str:
            return self.text

    assert without_a_row([named(Remark._meta.get_field("text"))]) == {"engine.remark.text"}


def test_a_new_text_of_a_request_body_is_missed() -> None:
    class AnyBody(serializers.Serializer[Any]):
        """Not a Body: the other tests of this process list all of those."""

    class RemarkBody(AnyBody):
        remarks = serializers.ListField(child=Text())
        level = serializers.IntegerField()

    class LongerRemarkBody(RemarkBody):
        pass

    assert RemarkBody in LongerRemarkBody.__mro__
    assert bodies_without_a_row(body_texts(AnyBody)) == {"RemarkBody.remarks"}


def test_tables_said_to_have_no_page_are_not_in_the_admin() -> None:
    without_a_page = {name.rpartition(".")[0] for name, reason in LEFT.items() if "has no page" in reason}
    listed = {model._meta.label_lower for model in admin.site._registry}
    assert without_a_page
    assert without_a_page & listed == set()


def test_a_stale_reason_is_found() -> None:
    """A field that a page shows has no reason to be unseen, and one without a reason must be seen."""
    right = {code_of(name) for name in WRITTEN if name not in NOT_SEEN}
    hidden = next(iter(NOT_SEEN))
    assert seen_wrongly(right, code_of) == {}
    assert set(seen_wrongly(right | {code_of(hidden)}, code_of)) == {hidden}
    drawn = next(name for name in WRITTEN if name not in NOT_SEEN)
    assert set(seen_wrongly(right - {code_of(drawn)}, code_of)) == {drawn}


def test_a_reason_for_a_field_that_is_gone_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(NOT_SEEN, "engine.gone.field", "no page draws it")
    assert set(seen_wrongly({code_of(name) for name in WRITTEN if name not in NOT_SEEN}, code_of)) == {
        "engine.gone.field"
    }


def test_what_only_the_platform_writes_is_no_part_of_a_request() -> None:
    """A field that REST stores is written by people, so it is no word or structure of the platform's own."""
    own = {name for name, reason in LEFT.items() if reason in BY_THE_PLATFORM}
    assert own
    assert own & set(STORED.values()) == set()


@pytest.mark.django_db
def test_django_keeps_no_log_of_its_own(acmes: dict[str, models.Model], sign_in: SignIn) -> None:
    """LEFT leaves the admin's log out because nothing writes it."""
    role = acmes["accounts.role"]
    sign_in("gwen").post(f"/admin/accounts/role/{role.pk}/change/", {"title": "Money"})
    role.refresh_from_db()
    assert str(role) == "Money"
    assert not LogEntry.objects.exists()
