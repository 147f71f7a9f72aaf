"""Four eyes on every route: the starter of a case never gets the task that another must do, whichever way they try."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from engine.access.task_rules import FOUR_EYES_STARTED, Sentence
from engine.errors import WorkflowError
from engine.models import Task, TaskAttachment, TaskDraft
from engine.services.people.accounts import create_person
from engine.services.tasks.assignment import assign_task, take_next_task
from tests.cast import Cast
from tests.inbox.conftest import SignIn
from tests.workflows import activated, only_task, started

PAY = """
workflow: pay
title: Pay
input: {type: object, properties: {what: {type: string}}}
steps:
  - id: approve
    task:
      title: Approve the payment
      roles: [finance]
      users: [gwen]
      not_same_as: [start]
      attachments: {types: [pdf], max_size: 1KB, max: 3}
      form: {type: object, properties: {note: {type: string}}}
"""


def pdf() -> SimpleUploadedFile:
    return SimpleUploadedFile("bill.pdf", b"%PDF-1.7 fine")


def inbox(act: str, **fields: Any) -> Callable[[Client, Task], Any]:
    return lambda client, task: client.post(f"/inbox/tasks/{task.pk}/{act}/", fields)


def rest(act: str, **body: Any) -> Callable[[Client, Task], Any]:
    return lambda client, task: client.post(f"/api/v1/tasks/{task.pk}/{act}/", body, content_type="application/json")


def many(**fields: str) -> Callable[[Client, Task], Any]:
    return lambda client, task: client.post("/inbox/bulk/", {"task": str(task.pk), **fields}, follow=True)


def rest_many(**body: Any) -> Callable[[Client, Task], Any]:
    def send(client: Client, task: Task) -> Any:
        return client.post("/api/v1/tasks/bulk/", {**body, "ids": [str(task.pk)]}, content_type="application/json")

    return send


REFUSED = 'data-code="four_eyes"'

DOORS: Mapping[str, tuple[str, Callable[[Client, Task], Any], int, str]] = {
    # route: who tries, how, the status, the text
    "inbox, claim": ("ada", inbox("claim"), 403, REFUSED),
    "inbox, complete without a claim": ("ada", inbox("complete", outcome="done"), 403, REFUSED),
    "inbox, draft": ("ada", inbox("draft", **{"f.note": "mine"}), 403, REFUSED),
    "inbox, file": ("ada", lambda client, task: inbox("files", file=pdf())(client, task), 403, REFUSED),
    "inbox, assigned by another": ("gwen", inbox("assign", person="ada"), 403, REFUSED),
    "inbox, several claimed": ("ada", many(action="claim"), 200, REFUSED),
    "inbox, several given by another": ("gwen", many(action="assign", person="ada"), 200, REFUSED),
    "inbox, next task": ("ada", lambda client, task: client.post("/inbox/next/"), 302, ""),
    "REST, claim": ("ada", rest("claim"), 403, "four_eyes"),
    "REST, complete without a claim": ("ada", rest("complete", outcome="done"), 403, "four_eyes"),
    "REST, draft": ("ada", rest("draft", values={"note": "mine"}), 403, "four_eyes"),
    "REST, file": (
        "ada",
        lambda client, task: client.post(f"/api/v1/tasks/{task.pk}/attachments/", {"file": pdf()}),
        403,
        "four_eyes",
    ),
    "REST, assigned by another": ("gwen", rest("assign", user="ada"), 403, "four_eyes"),
    "REST, several claimed": ("ada", rest_many(action="claim"), 200, "four_eyes"),
    "REST, several given by another": ("gwen", rest_many(action="assign", user="ada"), 200, "four_eyes"),
    "REST, next task": (
        "ada",
        lambda client, task: client.post("/api/v1/tasks/next/", {}, content_type="application/json"),
        204,
        "",
    ),
    "admin": (
        "ada",
        lambda client, task: client.post(f"/admin/engine/task/{task.pk}/change/", {"assignee": str(task.tenant_id)}),
        403,
        "",
    ),
}  # fmt: skip


@pytest.fixture
def own(cast: Cast) -> Task:
    """Return the task that follows what Ada herself started."""
    activated(cast.actor("gwen"), PAY)
    return only_task(started(cast.actor("ada"), "pay", what="bill"))


def beginning(sentence: Sentence, name: str) -> str:
    """Return what a rule says up to the moment that it names."""
    return sentence.said({"when": "|"}, name).split("|")[0]


def assert_untouched(task: Task) -> None:
    now = Task.objects.get(pk=task.pk)
    assert (now.status, now.assignee_id, now.completed_at) == ("open", None, None)
    assert not TaskDraft.objects.exists()
    assert not TaskAttachment.objects.exists()


@pytest.mark.parametrize("door", DOORS)
def test_who_took_part_gets_in_by_no_door(own: Task, browser: SignIn, door: str) -> None:
    person, tried, status, words = DOORS[door]
    answer = tried(browser(person), own)
    assert answer.status_code == status, answer.content.decode()[:500]
    assert words in answer.content.decode()
    if words == REFUSED:
        assert beginning(FOUR_EYES_STARTED, "" if person == "ada" else "Ada") in answer.content.decode()
    assert_untouched(own)


def test_who_did_not_take_part_gets_in(own: Task, browser: SignIn, cast: Cast) -> None:
    """Keep the table honest: the same route works for another person."""
    assert DOORS["REST, claim"][1](browser("gwen"), own).status_code == 200
    own.refresh_from_db()
    assert own.assignee_id == cast.gwen.pk


@pytest.mark.parametrize("door", [name for name, row in DOORS.items() if row[0] == "ada" and "next" not in name])
@pytest.mark.parametrize("who", ["below the level", "of another tenant"])
def test_others_do_not_even_see_it(cast: Cast, own: Task, browser: SignIn, door: str, who: str) -> None:
    create_person(actor=None, tenant=cast.acme, name="mod", level=3, roles=("finance",), email="mod@acme.example")
    client = Client()
    client.force_login(cast.stan if who == "of another tenant" else type(cast.ada).objects.get(username="mod"))
    answer = DOORS[door][1](client, own)
    said = answer.content.decode()
    assert answer.status_code in (302, 403, 404) if "several" not in door else answer.status_code == 200, said[:300]
    assert "Approve the payment" not in said
    assert_untouched(own)


def test_services_refuse_it_too(cast: Cast, own: Task) -> None:
    with pytest.raises(WorkflowError) as refusal:
        assign_task(actor=cast.actor("gwen"), task_id=own.pk, person="ada")
    assert refusal.value.code == "four_eyes"
    assert take_next_task(actor=cast.actor("ada")) is None
    assert_untouched(own)
