"""Two people, an absence and four eyes on every route: REST, inbox, many at once, the next one, a link in a mail.

One table: each route is tried by a deputy in each situation, and is taken back before the next. What a deputy may do changes
something; what they may not do changes nothing, whatever the answer says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction
from django.http import HttpResponse
from django.test import Client

from engine.models import RuntimeState, Task, TaskAttachment, TaskComment, TaskDraft, TaskEvent, TaskQuestion
from engine.services.people.accounts import create_person, grant_role
from engine.services.tasks.lifecycle import claim_task, complete_task
from engine.services.tasks.mail_links import form_hash, link_token
from tests.api.conftest import Caller, caller_of
from tests.cast import Cast
from tests.services.test_deputies import away
from tests.workflows import activated, only_task, started
from workflowplatform.accounts.levels import TO_OPERATE
from workflowplatform.accounts.models import Absence, User

DEPUTIES = {"lea": 3, "mira": 4}
LOOK = """
workflow: everywhere
title: Everywhere
starters: {min_level: 2}
steps:
  - id: look
    task:
      title: Look
      OFFER
      min_level: 2
      allow: [skip, redo]
      not_same_as: [start]
      checklist: [{id: read, title: Read it, required: false}]
      attachments: {types: [txt]}
      form: {type: object, properties: {note: {type: string}}}
  - id: after
    task: {title: After, users: [gwen]}
"""
OFFERS = {"by_name": "users: [ada, gwen]", "by_role": "roles: [finance]"}


@dataclass
class Deputy:
    """A deputy with both ways in, and the task that is Ada's."""

    name: str
    task: Task
    rest: Caller
    page: Client

    def post(self, act: str, body: Any = None) -> HttpResponse:
        return self.rest.post(f"tasks/{self.task.pk}/{act}/", body)

    def send(self, act: str, **fields: Any) -> HttpResponse:
        return self.page.post(f"/inbox/tasks/{self.task.pk}/{act}/", fields)

    def bulk(self, action: str, **more: Any) -> HttpResponse:
        return self.rest.post("tasks/bulk/", {"action": action, "ids": [str(self.task.pk)], **more})

    def press(self) -> HttpResponse:
        """Answer by a link of one's own, as from a mail of before."""
        token = link_token(person=User.objects.get(username=self.name), task=self.task)
        return Client().post(f"/inbox/answer/{token}/", {"form": form_hash(self.task), "outcome": "done"})


Act = Callable[[Deputy], HttpResponse]


def note() -> SimpleUploadedFile:
    return SimpleUploadedFile("note.txt", b"seen", "text/plain")


ANYWHERE: Mapping[str, Act] = {
    "REST claim": lambda one: one.post("claim"),
    "REST complete": lambda one: one.post("complete", {"outcome": "done"}),
    "REST skip": lambda one: one.post("skip", {"reason": "no need"}),
    "REST draft": lambda one: one.post("draft", {"values": {"note": "half"}}),
    "REST tick": lambda one: one.post("tick", {"point": "read"}),
    "REST file": lambda one: one.page.post(
        f"/api/v1/tasks/{one.task.pk}/attachments/",
        {"file": note()},
        headers={"Authorization": f"Token {one.rest.token}"},
    ),
    "REST bulk claim": lambda one: one.bulk("claim"),
    "REST bulk complete": lambda one: one.bulk("complete", outcome="done"),
    "inbox claim": lambda one: one.send("claim"),
    "inbox complete": lambda one: one.send("complete", outcome="done"),
    "inbox skip": lambda one: one.send("skip", reason="no need"),
    "inbox draft": lambda one: one.send("draft", **{"f.note": "half"}),
    "inbox file": lambda one: one.send("files", file=note()),
    "inbox bulk claim": lambda one: one.page.post("/inbox/bulk/", {"action": "claim", "task": one.task.pk}),
    "inbox bulk complete": lambda one: one.page.post(
        "/inbox/bulk/", {"action": "complete", "task": one.task.pk, "outcome": "done"}
    ),
    "mail link": lambda one: one.press(),
}
OFFERED: Mapping[str, Act] = {
    **ANYWHERE,
    "REST next": lambda one: one.rest.post("tasks/next/", {"template": "everywhere"}),
    "inbox next": lambda one: one.page.post("/inbox/next/"),
}
HELD: Mapping[str, Act] = {
    **{name: act for name, act in ANYWHERE.items() if not name.endswith("claim")},
    "REST snooze": lambda one: one.post("snooze", {"until": "2999-01-07T09:00:00Z"}),
    "REST delegate": lambda one: one.post("delegate", {"user": "gwen"}),
    "REST ask": lambda one: one.post("ask", {"user": "uri", "question": "Which?"}),
    "inbox snooze": lambda one: one.send("snooze", moment="2999-01-07T09:00"),
    "inbox delegate": lambda one: one.send("hand_over", choice="delegate", person="gwen"),
    "inbox ask": lambda one: one.send("hand_over", choice="ask", asked="uri", question="Which?"),
}
MOVED: Mapping[str, Act] = {
    "REST release": lambda one: one.post("release"),
    "REST assign": lambda one: one.post("assign", {"user": "gwen"}),
    "REST bulk release": lambda one: one.bulk("release"),
    "REST bulk assign": lambda one: one.bulk("assign", user="gwen"),
    "inbox release": lambda one: one.send("release"),
    "inbox assign": lambda one: one.send("assign", person="gwen"),
    "inbox bulk release": lambda one: one.page.post("/inbox/bulk/", {"action": "release", "task": one.task.pk}),
}
"""What an operator may do to anybody's task, too: from level 4 on no deputyship is needed for it."""


def written() -> Any:
    """Return everything that an act on a task leaves, to be compared."""
    counted = (TaskEvent, TaskDraft, TaskAttachment, TaskQuestion, TaskComment)
    versions = RuntimeState.objects.order_by("pk").values_list("pk", "state_version")
    tasks = Task.objects.order_by("pk").values_list("pk", "status", "assignee_id", "ticked", "follow_up_at")
    return [*tasks], [*versions], [model.objects.count() for model in counted]


@contextmanager
def taken_back() -> Iterator[None]:
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def tried(deputy: Deputy, routes: Mapping[str, Act]) -> dict[str, bool]:
    """Try every route; return for each whether it changed anything. None of them may break."""
    changed = {}
    for name, act in routes.items():
        with taken_back():
            before, answer = written(), act(deputy)
            assert answer.status_code < 500, name
            changed[name] = written() != before
    return changed


def all_of(routes: Mapping[str, Act], may: bool) -> dict[str, bool]:
    return dict.fromkeys(routes, may)


@pytest.fixture(params=sorted(DEPUTIES))
def name(request: pytest.FixtureRequest, cast: Cast) -> str:
    """Return a deputy of level 3 or 4 who has Ada's roles."""
    level = DEPUTIES[request.param]
    create_person(
        actor=None, tenant=cast.acme, name=request.param, level=level, roles=("finance", "support"), email="d@a.example"
    )
    return str(request.param)


def deputy_of(cast: Cast, name: str, task: Task) -> Deputy:
    page = Client(raise_request_exception=False)
    page.force_login(User.objects.get(username=name))
    return Deputy(name, task, caller_of(name), page)


def task_of(cast: Cast, starter: str, offer: str = "by_name", *, held: bool = False) -> Task:
    """Start a case whose task is Ada's, or Gwen's, to whom it can be handed."""
    grant_role(actor=None, person=cast.gwen, role="finance")
    activated(cast.actor("gwen"), LOOK.replace("OFFER", OFFERS[offer]))
    task = only_task(started(cast.actor(starter), "everywhere"))
    return claim_task(actor=cast.actor("ada"), task_id=task.pk) if held else task


# What a deputy may do


def test_deputy_does_on_every_route_what_is_offered_to_the_absent(cast: Cast, name: str) -> None:
    deputy = deputy_of(cast, name, task_of(cast, "uri"))
    away(cast.actor("gwen"), "ada", name)
    assert tried(deputy, OFFERED) == all_of(OFFERED, may=True)


def test_deputy_does_on_every_route_what_the_absent_holds(cast: Cast, name: str) -> None:
    """Also where the absence begins while the task is open."""
    deputy = deputy_of(cast, name, task_of(cast, "uri", held=True))
    assert tried(deputy, HELD) == all_of(HELD, may=False)
    away(cast.actor("gwen"), "ada", name)
    assert tried(deputy, {**HELD, **MOVED}) == all_of({**HELD, **MOVED}, may=True)


def test_deputy_of_a_role_does_on_every_route_what_the_absent_holds(cast: Cast, name: str) -> None:
    deputy = deputy_of(cast, name, task_of(cast, "uri", "by_role", held=True))
    away(cast.actor("gwen"), "ada", name)
    assert tried(deputy, HELD) == all_of(HELD, may=True)


def test_deputy_of_a_deputy_does_it_too(cast: Cast, name: str) -> None:
    between = "nora"
    create_person(
        actor=None, tenant=cast.acme, name=between, level=3, roles=("finance", "support"), email="n@a.example"
    )
    deputy = deputy_of(cast, name, task_of(cast, "uri"))
    away(cast.actor("gwen"), "ada", between)
    assert tried(deputy, OFFERED) == all_of(OFFERED, may=False)
    away(cast.actor("gwen"), between, name)
    assert tried(deputy, OFFERED) == all_of(OFFERED, may=True)


# What a deputy may not do


def asked_by_the_deputy(cast: Cast, name: str, *, held: bool) -> Task:
    task = task_of(cast, name, held=held)
    away(cast.actor("gwen"), "ada", name)
    return task


def asked_by_the_absent(cast: Cast, name: str, *, held: bool) -> Task:
    task = task_of(cast, "ada")
    if held:
        Task.objects.filter(pk=task.pk).update(assignee=cast.ada)  # as if she had it from before she took part
    away(cast.actor("gwen"), "ada", name)
    return task


def for_another_template(cast: Cast, name: str, *, held: bool) -> Task:
    task = task_of(cast, "uri", held=held)
    away(cast.actor("gwen"), "ada", name, templates=["another"])
    return task


def not_yet_away(cast: Cast, name: str, *, held: bool) -> Task:
    task = task_of(cast, "uri", held=held)
    away(cast.actor("gwen"), "ada", name, days=(1, 5))
    return task


def back_again(cast: Cast, name: str, *, held: bool) -> Task:
    task = task_of(cast, "uri", held=held)
    away(cast.actor("gwen"), "ada", name)
    Absence.objects.update(ends_at=Task.objects.get(pk=task.pk).created_at)
    return task


def without_the_role(cast: Cast, name: str, *, held: bool) -> Task:
    task = task_of(cast, "uri", "by_role", held=True)
    away(cast.actor("gwen"), "ada", name)
    cast.acme.people.get(username=name).memberships.filter(role__name="finance").delete()
    return task


def a_deputy_for_others(cast: Cast, name: str, *, held: bool) -> Task:
    task = task_of(cast, "uri", held=held)
    away(cast.actor("gwen"), "uri", name)
    return task


SITUATIONS = (
    asked_by_the_deputy, asked_by_the_absent, for_another_template, not_yet_away, back_again, without_the_role,
    a_deputy_for_others,
)  # fmt: skip


@pytest.mark.parametrize("situation", SITUATIONS, ids=[one.__name__ for one in SITUATIONS])
def test_deputy_does_on_no_route_what_is_not_theirs(cast: Cast, name: str, situation: Callable[..., Task]) -> None:
    """One deputy meets the task held, the other, who sees all tasks and operates, meets it offered."""
    held = DEPUTIES[name] < TO_OPERATE
    deputy = deputy_of(cast, name, situation(cast, name, held=held))
    routes = {**HELD, **MOVED} if held else OFFERED
    assert tried(deputy, routes) == all_of(routes, may=False)


def test_nobody_is_handed_what_they_asked_for_by_way_of_an_absence(cast: Cast, name: str) -> None:
    """The deputy is not barred, and hands the absent person's task to the one who started the case: on no route."""
    deputy = deputy_of(cast, name, task_of(cast, "gwen", held=True))
    away(cast.actor("gwen"), "ada", name)
    routes = {route: act for route, act in {**HELD, **MOVED}.items() if "assign" in route or "delegate" in route}
    assert tried(deputy, routes) == all_of(routes, may=False)


def test_both_are_kept_from_what_follows_whichever_route_was_taken(cast: Cast, name: str) -> None:
    activated(cast.actor("gwen"), LOOK.replace("OFFER", OFFERS["by_name"]).replace(
        "{title: After, users: [gwen]}", "{title: After, users: [ada, lea, mira], min_level: 2, not_same_as: [look]}"
    ))  # fmt: skip
    answering = [route for route in OFFERED if "complete" in route or "skip" in route or route == "mail link"]
    away(cast.actor("gwen"), "ada", name)
    for route in answering:
        with taken_back():
            case = started(cast.actor("uri"), "everywhere")
            OFFERED[route](deputy_of(cast, name, only_task(case)))
            after = only_task(case)
            assert (after.step, set(after.excluded)) == ("after", {"ada", name}), route


def test_done_again_by_the_deputy_who_answered_and_not_after_the_absence_by_level(cast: Cast, name: str) -> None:
    task = task_of(cast, "uri")
    away(cast.actor("gwen"), "ada", name)
    complete_task(actor=cast.actor(name), task_id=task.pk, outcome="done")
    deputy = deputy_of(cast, name, task)
    routes: Mapping[str, Act] = {"REST redo": lambda one: one.post("redo"), "inbox redo": lambda one: one.send("redo")}
    assert tried(deputy, routes) == all_of(routes, may=True)
    other = deputy_of(cast, "uri", task)
    assert tried(other, routes) == all_of(routes, may=False)
