"""Start forms that are begun and not sent: kept for their owner, with their files, until they become a request."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db.models import F
from django.test import Client

from engine.models import Audit, CaseFile, Instance, StartDraft
from engine.services.retention.purge import apply_retention
from engine.storage.attachments import file_path
from tests.cast import Cast
from tests.hooks import errors
from tests.inbox.conftest import SignIn
from tests.workflows import activated, only_task

OFFER = """
workflow: offer
title: Offer
starters: {min_level: 2}
input:
  type: object
  required: [what, offers]
  properties:
    what: {type: string, title: What}
    sum: {type: number, title: Sum, x-unit: €, maximum: 100}
    offers: {type: array, title: Offers, minItems: 1, items: {type: string, format: file}}
steps:
  - id: look
    task: {title: Look, roles: [finance], payload: {offers: "${start.offers}"}}
  - id: other
    task: {title: Other, roles: [finance]}
"""
START = "/inbox/start/offer/"
PDF = b"%PDF-1.7\nhello"
PNG = b"\x89PNG\r\n\x1a\n0"


@pytest.fixture(autouse=True)
def offer(cast: Cast) -> None:
    activated(cast.actor("gwen"), OFFER)


def fresh(client: Client, address: str = f"{START}?new") -> str:
    found = re.search(r'name="once" value="(\w+)"', client.get(address).content.decode())
    assert found
    return found[1]


def upload(client: Client, once: str, name: str = "offer.pdf", content: bytes = PDF) -> Any:
    sent = {"once": once, "file": SimpleUploadedFile(name, content)}
    return client.post(f"{START}files/", sent, HTTP_X_REQUESTED_WITH="upload")


def save(client: Client, once: str, **fields: Any) -> Any:
    named = {f"f.{name}": value for name, value in fields.items()}
    return client.post(f"{START}draft/", {"once": once, **named}, HTTP_X_REQUESTED_WITH="draft")


def start(client: Client, once: str, **fields: Any) -> Any:
    return client.post(START, {"once": once, **{f"f.{name}": value for name, value in fields.items()}})


def fetched(client: Client, address: str) -> Any:
    """Fetch a file to its end; its content is in `body`."""
    answer: Any = client.get(address)
    answer.body = b"".join(answer.streaming_content) if answer.streaming else answer.content
    for close in answer._resource_closers:  # not `close()`: that ends the test's connection as well
        close()
    return answer


def test_a_draft_is_offered_again_and_continues_where_one_left(browser: SignIn) -> None:
    uri = browser("uri")
    once = fresh(uri)
    assert save(uri, once, what="Desk", sum="1.2.3").status_code == 200
    asked = uri.get(START).content.decode()
    assert 'data-page="start_drafts"' in asked
    assert f'data-draft-number="{once}"' in asked
    page = uri.get(f"{START}?draft={once}").content.decode()
    assert 'value="Desk"' in page
    assert 'value="1.2.3"' in page
    assert f'name="once" value="{once}"' in page


def test_a_draft_is_its_owners_alone(cast: Cast, browser: SignIn) -> None:
    uri, gwen = browser("uri"), browser("gwen")
    once = fresh(uri)
    save(uri, once, what="Desk")
    file = upload(uri, once).json()
    assert fetched(uri, file["address"]).body == PDF
    for other in (gwen, browser("sam"), browser("zoe")):
        assert other.get(file["address"]).status_code == 404
        assert other.post(file["remove"]).status_code == 404
    assert "Desk" not in gwen.get(f"{START}?draft={once}").content.decode()
    assert "Desk" not in gwen.get(START).content.decode()
    assert start(gwen, once, what="x", offers="offer.pdf").status_code == 400
    assert CaseFile.objects.get().draft_id is not None


def test_a_request_takes_its_files_along(cast: Cast, browser: SignIn) -> None:
    uri = browser("uri")
    once = fresh(uri)
    upload(uri, once)
    upload(uri, once, "picture.png", PNG)
    answer = start(uri, once, what="Desk", offers="offer.pdf")
    assert answer.status_code == 302
    instance, file = Instance.objects.get(), CaseFile.objects.get()
    assert (file.instance_id, file.draft_id, file.name) == (instance.pk, None, "offer.pdf")
    assert instance.input["offers"] == ["offer.pdf"]
    assert not StartDraft.objects.exists()
    assert Audit.objects.filter(subject_id=instance.pk, action="add_files").count() == 1
    address = f"/inbox/instances/{instance.pk}/files/{file.pk}/"
    assert fetched(uri, address).body == PDF
    assert address in uri.get(f"/inbox/instances/{instance.pk}/").content.decode()
    assert browser("sam").get(address).status_code == 404


def test_a_task_shows_the_files_that_its_values_name(cast: Cast, browser: SignIn) -> None:
    uri, ada = browser("uri"), browser("ada")
    once = fresh(uri)
    upload(uri, once)
    start(uri, once, what="Desk", offers="offer.pdf")
    task, file = only_task(Instance.objects.get()), CaseFile.objects.get()
    address = f"/inbox/tasks/{task.pk}/request-files/{file.pk}/"
    assert address in ada.get(f"/inbox/tasks/{task.pk}/").content.decode()
    assert fetched(ada, address).body == PDF
    assert browser("sam").get(address).status_code == 404


def test_a_refused_start_keeps_draft_and_files(browser: SignIn) -> None:
    uri = browser("uri")
    once = fresh(uri)
    save(uri, once, what="Desk")
    upload(uri, once)
    refused = start(uri, once, what="Desk", sum="500", offers="offer.pdf")
    assert refused.status_code == 400
    assert 'data-file="offer.pdf"' in refused.content.decode()
    assert CaseFile.objects.get().draft_id == StartDraft.objects.get().pk
    assert start(uri, once, what="Desk", sum="5", offers="offer.pdf").status_code == 302


def test_a_file_that_nobody_added_cannot_be_named(browser: SignIn) -> None:
    uri = browser("uri")
    answer = start(uri, fresh(uri), what="Desk", offers="secret.pdf")
    assert errors(answer) == ["file"]
    assert not Instance.objects.exists()


def test_without_scripts_files_come_with_the_form(browser: SignIn) -> None:
    uri = browser("uri")
    sent = {"once": fresh(uri), "f.what": "Desk", "f.offers": SimpleUploadedFile("offer.pdf", PDF)}
    assert uri.post(START, sent).status_code == 302
    assert CaseFile.objects.get().instance == Instance.objects.get()


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [("offer.exe", b"MZ", "type"), ("offer.pdf", b"no pdf", "content"), ("empty.txt", b"", "empty")],
)
def test_a_file_that_is_not_taken_is_refused_by_name(browser: SignIn, name: str, content: bytes, code: str) -> None:
    uri = browser("uri")
    refused = upload(uri, fresh(uri), name, content)
    assert refused.status_code == 400
    assert refused.json()["code"] == code
    assert name in refused.json()["words"]
    assert not CaseFile.objects.exists()


def test_a_draft_saved_after_its_form_was_sent_is_refused(browser: SignIn) -> None:
    uri = browser("uri")
    once = fresh(uri)
    upload(uri, once)
    start(uri, once, what="Desk", offers="offer.pdf")
    assert save(uri, once, what="Desk").status_code == 409
    assert upload(uri, once).status_code == 409
    assert not StartDraft.objects.exists()


def test_two_windows_have_a_draft_each(browser: SignIn) -> None:
    uri = browser("uri")
    first, second = fresh(uri), fresh(uri)
    save(uri, first, what="Desk")
    save(uri, second, what="Chair")
    page = uri.get(START).content.decode()
    assert "Desk" in page
    assert "Chair" in page


def test_pictures_and_pdf_are_shown_and_nothing_in_them_runs(browser: SignIn) -> None:
    uri = browser("uri")
    once = fresh(uri)
    for name, content, kind in (("a.png", PNG, "image/png"), ("a.pdf", PDF, "application/pdf")):
        file = upload(uri, once, name, content).json()
        shown = fetched(uri, f"{file['address']}?show")
        assert shown["Content-Type"] == kind
        assert shown["Content-Disposition"].startswith("inline")
        assert shown["Content-Security-Policy"].startswith("default-src 'none'")
        assert shown["X-Content-Type-Options"] == "nosniff"
        assert fetched(uri, file["address"])["Content-Disposition"].startswith("attachment")
    text = upload(uri, once, "a.txt", b"<script>").json()
    assert fetched(uri, f"{text['address']}?show")["Content-Disposition"].startswith("attachment")


def test_discarding_a_draft_takes_its_files_away(browser: SignIn, django_capture_on_commit_callbacks: Any) -> None:
    uri = browser("uri")
    once = fresh(uri)
    upload(uri, once)
    file = CaseFile.objects.get()
    with django_capture_on_commit_callbacks(execute=True):
        assert uri.post(f"{START}draft/discard/", {"once": once}).status_code == 302
    assert not CaseFile.objects.exists()
    assert not file_path(file.tenant_id, file.pk).exists()


def test_drafts_are_kept_for_thirty_days(browser: SignIn) -> None:
    uri = browser("uri")
    once = fresh(uri)
    upload(uri, once)
    StartDraft.objects.update(saved_at=F("saved_at") - timedelta(days=29))
    assert apply_retention().start_drafts == 0
    StartDraft.objects.update(saved_at=F("saved_at") - timedelta(days=2))
    assert apply_retention().start_drafts == 1
    assert not CaseFile.objects.exists()
