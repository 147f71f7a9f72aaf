"""Files of tasks: what is accepted, where it is stored, who may download it and how."""

from datetime import timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from engine import access
from engine.errors import WorkflowError
from engine.models import Task, TaskAttachment
from engine.services.people.tokens import create_token
from engine.services.tasks.attachments import attach_file, detach_file, open_attachment, sweep_files
from engine.services.tasks.lifecycle import complete_task
from engine.storage.attachments import clean_name, file_path
from tests.cast import Cast
from tests.workflows import activated, only_task, started
from workflowplatform.accounts.actor import Actor

FILES = """
workflow: files
title: Files
steps:
  - id: prove
    task: {title: Prove, roles: [finance], attachments: {types: [pdf, "image/*"], max_size: 1KB, max: 2, required: true}}
"""
PDF = b"%PDF-1.7 a bill"


@pytest.fixture
def task(gwen: Actor, settings: Any, tmp_path: Path) -> Task:
    """Return a task of finance that wants a file."""
    settings.DATA_DIR = tmp_path
    activated(gwen, FILES)
    return only_task(started(gwen, "files"))


def refusal_of(act: Any, **given: Any) -> tuple[str, str]:
    """Return the code of a refusal, and that of its first field."""
    with pytest.raises(WorkflowError) as refusal:
        act(**given)
    return refusal.value.code, getattr(refusal.value, "first_code", "")


def add(actor: Actor, task: Task, name: str = "bill.pdf", content: bytes = PDF) -> TaskAttachment:
    return attach_file(actor=actor, task_id=task.pk, name=name, content=BytesIO(content))


def test_a_file_is_kept_under_its_id_and_comes_back(ada: Actor, adam: Actor, task: Task, tmp_path: Path) -> None:
    assert refusal_of(complete_task, actor=ada, task_id=task.pk) == ("invalid", "required")
    added = add(ada, task, "../../etc/bill.pdf")
    assert (added.name, added.content_type, added.size) == ("bill.pdf", "application/pdf", len(PDF))
    place = file_path(task.tenant_id, added.pk)
    assert place.is_relative_to(tmp_path)
    assert place.stat().st_mode & 0o077 == 0
    found, content = open_attachment(actor=adam, task_id=task.pk, attachment_id=added.pk)
    with content:
        assert (found, content.read()) == (added, PDF)
    assert complete_task(actor=ada, task_id=task.pk).task.status == "completed"


WRONG = (
    ("bill.exe", b"MZ", "type"),
    ("bill", PDF, "type"),
    ("bill.pdf", b"<script>", "content"),
    ("bill.pdf", PDF * 100, "size"),
    ("bill.pdf", b"", "empty"),
    ("bill.txt", b"text", "type"),
)


def test_a_wrong_file_is_refused_by_name(ada: Actor, task: Task) -> None:
    for name, content, why in WRONG:
        given = {"actor": ada, "task_id": task.pk, "name": name, "content": BytesIO(content)}
        assert refusal_of(attach_file, **given) == ("invalid", why)
    assert not TaskAttachment.objects.exists()


def test_files_without_a_task_are_swept_away_but_young_ones_stay(ada: Actor, task: Task) -> None:
    kept, lost = add(ada, task), add(ada, task)
    TaskAttachment.objects.filter(pk=lost.pk).delete()
    assert sweep_files() == 0
    assert sweep_files(older_than=timedelta(0)) == 1
    assert file_path(task.tenant_id, kept.pk).exists()
    assert not file_path(task.tenant_id, lost.pk).exists()


def test_only_who_may_act_adds_and_takes_away(ada: Actor, adam: Actor, sam: Actor, task: Task) -> None:
    given = {"task_id": task.pk, "name": "bill.pdf", "content": BytesIO(PDF)}
    assert refusal_of(attach_file, actor=adam, **given)[0] == "not_candidate"
    assert refusal_of(attach_file, actor=sam, **given)[0] == "not_found"
    first, _ = add(ada, task), add(ada, task, "photo.png", b"\x89PNG\r\n\x1a\n...")
    assert refusal_of(attach_file, actor=ada, **given)[0] == "limit"
    assert refusal_of(detach_file, actor=adam, task_id=task.pk, attachment_id=first.pk)[0] == "not_candidate"
    assert refusal_of(open_attachment, actor=sam, task_id=task.pk, attachment_id=first.pk)[0] == "not_found"
    detach_file(actor=ada, task_id=task.pk, attachment_id=first.pk)
    assert [one.name for one in access.attachments_of(adam, task.pk)] == ["photo.png"]


def test_over_rest_a_file_is_a_download_that_nothing_shows(cast: Cast, task: Task) -> None:
    client, path = Client(), f"/api/v1/tasks/{task.pk}/attachments/"
    headers = {"Authorization": f"Token {create_token(actor=None, person=cast.ada, name='t')[1]}"}
    for _ in range(2):
        file = SimpleUploadedFile("bill.pdf", PDF, "text/html")
        sent = client.post(path, {"file": file}, headers={**headers, "Idempotency-Key": "one"})
        assert sent.status_code == 201
    assert [row["name"] for row in client.get(path, headers=headers).json()] == ["bill.pdf"]
    got = client.get(f"{path}{sent.json()['id']}/", headers=headers)
    assert b"".join(got.streaming_content) == PDF  # type: ignore[attr-defined]
    assert got["Content-Type"] == "application/octet-stream"
    assert got["Content-Disposition"] == 'attachment; filename="bill.pdf"'
    assert (got["X-Content-Type-Options"], got["Content-Security-Policy"]) == ("nosniff", "default-src 'none'; sandbox")
    assert client.post(path, {}, headers=headers).json()["errors"][0]["path"] == "file"


def test_names_keep_nothing_that_could_lead_elsewhere() -> None:
    assert clean_name('..\\..\\a/b\r\n\0"c<d>.pdf') == "bcd.pdf"
    assert clean_name("...") == ""
