"""Four eyes by every way × every route: a person who took part in a step, in any way, gets the other task by no route."""

from collections.abc import Callable, Mapping
from threading import Barrier, Thread
from typing import Any

import pytest
from django.db import connections
from django.test import Client

from engine.dispatch.drain import drain
from engine.errors import WorkflowError
from engine.models import Audit, Instance, RuntimeState, StepRun, Task, TaskEvent
from engine.services.audit.verification import verify_folds
from engine.services.instances.lifecycle import start_instance
from engine.services.instances.repair import retry_step, skip_step
from engine.services.instances.signals import send_signal
from engine.services.people.accounts import create_person
from engine.services.tasks.assignment import assign_task
from engine.services.tasks.lifecycle import claim_task, complete_task
from engine.services.tasks.suspension import skip_task
from tests.cast import Cast
from tests.inbox.conftest import SignIn
from tests.workflows import activated
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.models import User

pytestmark = pytest.mark.security("four eyes hold on every route")

X = "{id: x, task: {title: Prepare, roles: [finance]}}"
Y = "{id: y, task: {title: Release, roles: [finance], allow: [skip], not_same_as: [x]}}"
KID = "workflow: kid\nsteps: [{id: first, task: {title: F, roles: [finance]}}, {id: last, task: {title: L, roles: [finance]}}]"


def beside(other: str) -> str:
    return f"- parallel: {{branches: {{a: [{other}], b: [{Y}]}}}}"


def done(name: str, step: str = "x") -> Callable[[Cast, Instance], None]:
    def act(cast: Cast, instance: Instance) -> None:
        task = Task.objects.open().filter(step=step).order_by("id").first()
        assert task is not None
        complete_task(actor=cast.actor(name), task_id=task.pk)
        drain()

    return act


def skipped(cast: Cast, instance: Instance) -> None:
    task = Task.objects.open().get(step="x")
    skip_task(actor=cast.actor("ada"), task_id=task.pk, reason="not needed")


def told(cast: Cast, instance: Instance) -> None:
    send_signal(actor=cast.actor("gwen"), instance_id=instance.pk, name="s", payload={})


def held(cast: Cast, instance: Instance) -> None:
    claim_task(actor=cast.actor("ada"), task_id=Task.objects.open().get(step="y").pk)


def passed(cast: Cast, instance: Instance) -> None:
    skip_step(actor=cast.actor("ada"), instance_id=instance.pk, step="x", reason="by hand", output={"note": "ok"})


Way = tuple[str, tuple[Callable[[Cast, Instance], None], ...]]
WAYS: Mapping[str, Way] = {
    "both open at once": (beside(X), (done("ada"),)),
    "held before, both open at once": (beside(X), (held, done("ada"))),
    "an earlier round": (f"- repeat: {{times: 2, steps: [{X}]}}\n  - {Y}", (done("ada"), done("fay"))),
    "an item": (f"- for_each: {{each: [1, 2], steps: [{X}]}}\n  - {Y}", (done("ada"), done("fay"))),
    "answered with others": (
        f"- {{id: x, task: {{title: X, roles: [finance], complete_when: done >= 2}}}}\n  - {Y}",
        (done("ada"), done("fay")),
    ),
    "in on_error": (
        f"- {{id: c, fail: {{code: no, message: no}}, on_error: [{{steps: [{X}]}}]}}\n  - {Y}",
        (done("ada"),),
    ),
    "in a handler": (
        f"- {{id: host, task: {{title: H, roles: [finance]}}, on: [{{signal: s, steps: [{X}]}}]}}\n  - {Y}",
        (told, done("ada"), done("fay", "host")),
    ),
    "inside a group": (
        f"- {{id: x, group: {{steps: [{{id: inner, task: {{title: I, roles: [finance]}}}}]}}}}\n  - {Y}",
        (done("ada", "inner"),),
    ),
    "in a child that has ended": (
        f"- {{id: x, workflow: {{name: kid}}}}\n  - {Y}",
        (done("ada", "first"), done("fay", "last")),
    ),
    "in a child under way": (beside("{id: x, workflow: {name: kid}}"), (done("ada", "first"),)),
    "skipped it": (beside("{id: x, task: {title: X, roles: [finance], allow: [skip]}}"), (skipped,)),
    "operated past it": (
        '- {id: x, task: {title: "${start.nothing}", roles: [finance]}}\n  - ' + Y,
        (passed,),
    ),
}

PAGE, API = "/inbox/tasks/{task}/", "/api/v1/tasks/{task}/"


def post(path: str, **fields: Any) -> Callable[[Client, Task], Any]:
    def send(client: Client, task: Task) -> Any:
        body = {name: [str(task.pk)] if value == "IDS" else value for name, value in fields.items()}
        kind = {"content_type": "application/json"} if path.startswith("/api") else {}
        return client.post(path.format(task=task.pk), body, **kind)

    return send


def many(**fields: str) -> Callable[[Client, Task], Any]:
    return lambda client, task: client.post("/inbox/bulk/", {"task": str(task.pk), **fields}, follow=True)


ROUTES: Mapping[str, tuple[str, Callable[[Client, Task], Any], int]] = {
    "REST claim": ("ada", post(API + "claim/"), 403),
    "REST complete": ("ada", post(API + "complete/"), 403),
    "REST skip": ("ada", post(API + "skip/", reason="no"), 403),
    "REST draft": ("ada", post(API + "draft/", values={}), 403),
    "REST assign": ("gwen", post(API + "assign/", user="ada"), 403),
    "REST bulk claim": ("ada", post("/api/v1/tasks/bulk/", action="claim", ids="IDS"), 200),
    "REST bulk complete": ("ada", post("/api/v1/tasks/bulk/", action="complete", ids="IDS", outcome="done"), 200),
    "REST next": ("ada", post("/api/v1/tasks/next/"), 204),
    "inbox claim": ("ada", post(PAGE + "claim/"), 403),
    "inbox complete": ("ada", post(PAGE + "complete/", outcome="done"), 403),
    "inbox assign": ("gwen", post(PAGE + "assign/", person="ada"), 403),
    "inbox skip": ("ada", post(PAGE + "skip/", reason="no"), 403),
    "inbox snooze": ("ada", post(PAGE + "snooze/", until="2040-01-01T10:00"), 403),
    "inbox draft": ("ada", post(PAGE + "draft/"), 403),
    "inbox bulk claim": ("ada", many(action="claim"), 200),
    "inbox bulk assign": ("gwen", many(action="assign", person="ada"), 200),
    "inbox together": ("ada", many(action="complete", outcome="done"), 200),
    "REST bulk assign": ("gwen", post("/api/v1/tasks/bulk/", action="assign", ids="IDS", user="ada"), 200),
    "admin": ("ada", post("/admin/engine/task/{task}/change/", assignee="ada"), 403),
    "inbox next": ("ada", post("/inbox/next/"), 302),
}  # fmt: skip


@pytest.fixture
def staged(cast: Cast) -> Cast:
    create_person(actor=None, tenant=cast.acme, name="fay", level=4, roles=("finance",), email="fay@acme.example")
    create_person(actor=None, tenant=cast.acme, name="fred", level=4, roles=("finance",), email="fred@acme.example")
    activated(cast.actor("gwen"), KID)
    return cast


def reached(staged: Cast, way: str) -> Task:
    """Bring a case to where Ada took part, and give the task that another must do."""
    steps, acts = WAYS[way]
    activated(staged.actor("gwen"), f"workflow: w\nsteps:\n  {steps}\n")
    instance = start_instance(actor=staged.actor("gwen"), template="w", input={}).instance
    for act in acts:
        act(staged, instance)
    Task.objects.open().exclude(step="y").update(min_level=6)  # what else is open is nobody's here
    return Task.objects.open().get(step="y")


@pytest.mark.parametrize("way", WAYS)
def test_who_took_part_gets_the_other_task_by_no_route_and_others_do(staged: Cast, browser: SignIn, way: str) -> None:
    task = reached(staged, way)
    for route, (person, send, status) in ROUTES.items():
        answer = send(browser(person), task)
        assert answer.status_code == status, (route, answer.status_code, answer.content.decode()[:300])
        now = Task.objects.get(pk=task.pk)
        assert (now.status, now.assignee_id) == ("open", None), route
    for name, is_offered in (("ada", False), ("fred", True)):
        assert offers_of(name, task) is is_offered, name
    assert complete_task(actor=staged.actor("fred"), task_id=task.pk).task.status == "completed"
    assert verify_folds().broken == ()


def offers_of(name: str, task: Task) -> bool:
    """Return whether a person's list of available tasks has the task."""
    client = Client()
    client.force_login(User.objects.get(username=name))
    found = client.get("/api/v1/tasks/?view=available").json()["results"]
    return str(task.pk) in [one["id"] for one in found]


def test_why_names_what_was_done_and_when(staged: Cast, browser: SignIn) -> None:
    task = reached(staged, "an earlier round")
    rules = browser("ada").get(f"/api/v1/tasks/{task.pk}/why/").json()
    said = next(rule for rule in rules["reasons"] if rule["code"] == "four_eyes")
    day = RuntimeState.objects.get(pk=task.instance_id).snapshot["people"]["x"]["ada"][:4]
    assert "Prepare" in said["text"]
    assert day in said["text"]


def test_a_claim_is_given_back_when_its_holder_becomes_barred(staged: Cast) -> None:
    task = reached(staged, "held before, both open at once")
    assert (task.status, task.assignee_id) == ("open", None)
    given_back = TaskEvent.objects.filter(task=task, kind="released").get()
    assert given_back.cause == "four_eyes"


# Operating past a decision (a failed task)

FAILED = """
workflow: failed
steps:
  - {id: x, task: {title: Prepare, roles: [finance]}}
  - {id: y, task: {title: "${start.nothing}", roles: [finance], outcomes: [ok, no], not_same_as: [start, x]}}
  - {id: after, if: "get(result, 'y.outcome', '') == 'ok'", then: [{id: pay, set: {paid: true}}]}
"""


@pytest.fixture
def stuck(staged: Cast) -> Instance:
    """Return an incident at a four-eyes task: Adam started it, Ada did the step that it names."""
    activated(staged.actor("gwen"), FAILED)
    instance = start_instance(actor=staged.actor("adam"), template="failed", input={}).instance
    complete_task(actor=staged.actor("ada"), task_id=Task.objects.open().get().pk)
    instance.refresh_from_db()
    assert instance.status == "incident"
    return instance


@pytest.mark.parametrize("name", ["ada", "adam"])
def test_who_is_barred_cannot_operate_past_the_task(staged: Cast, stuck: Instance, name: str, browser: SignIn) -> None:
    with pytest.raises(WorkflowError) as refusal:
        skip_step(
            actor=staged.actor(name), instance_id=stuck.pk, reason="go on", output={"outcome": "ok", "by": "gwen"}
        )
    assert refusal.value.code == "four_eyes"
    body = {"step": "y", "reason": "go on", "output": {"outcome": "ok"}}
    answer = browser(name).post(f"/api/v1/instances/{stuck.pk}/skip/", body, content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (403, "four_eyes")
    stuck.refresh_from_db()
    assert stuck.status == "incident"


def test_a_skip_invents_no_answer_and_leaves_reason_and_output(staged: Cast, stuck: Instance) -> None:
    output = {"outcome": "ok", "by": "gwen", "at": "now", "comment": "fine", "note": "by phone"}
    skip_step(actor=staged.actor("fred"), instance_id=stuck.pk, reason="they called", output=output)
    stuck.refresh_from_db()
    assert (stuck.status, stuck.state) == ("completed", {})
    assert RuntimeState.objects.get(pk=stuck.pk).snapshot["results"]["y"] == {"note": "by phone"}
    assert StepRun.objects.get(instance=stuck, step="y").status == "skipped"
    act = Audit.objects.get(subject_id=stuck.pk, action="skip_step", step="y")
    assert (act.actor_name, act.cause, act.new) == ("fred", "they called", {"output": {"note": "by phone"}})
    assert not Audit.objects.filter(subject_id=stuck.pk, action="complete_step", step="y").exists()
    assert verify_folds().broken == ()


def test_a_retry_without_another_input_is_nobodys_decision(staged: Cast, stuck: Instance) -> None:
    retry_step(actor=staged.actor("ada"), instance_id=stuck.pk)
    stuck.refresh_from_db()
    assert stuck.status == "incident"


# Two at once


@pytest.mark.django_db(transaction=True)
def test_one_person_in_a_case_and_its_child_at_once_does_not_slip_through(staged: Cast) -> None:
    """Ada answers in the child and releases in the parent at the same moment: never both."""
    activated(staged.actor("gwen"), f"workflow: w\nsteps:\n  {beside('{id: x, workflow: {name: kid}}')}\n")
    for _round in range(8):
        instance = start_instance(actor=staged.actor("gwen"), template="w", input={}).instance
        child = Instance.objects.get(parent=instance)
        tasks = [Task.objects.open().get(instance=child), Task.objects.open().get(instance=instance)]
        answers = _at_once(staged.actor("ada"), tasks)
        assert sorted(answers) == ["done", "four_eyes"]


def _at_once(actor: Actor, tasks: list[Task]) -> list[str]:
    barrier, answers = Barrier(len(tasks)), [""] * len(tasks)

    def act(place: int, task: Task) -> None:
        barrier.wait()
        try:
            complete_task(actor=actor, task_id=task.pk)
            answers[place] = "done"
        except WorkflowError as refusal:
            answers[place] = refusal.code
        finally:
            connections.close_all()

    threads = [Thread(target=act, args=(place, task)) for place, task in enumerate(tasks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def test_it_holds_either_way_round_for_a_child_too(staged: Cast) -> None:
    activated(staged.actor("gwen"), f"workflow: w\nsteps:\n  {beside('{id: x, workflow: {name: kid}}')}\n")
    start_instance(actor=staged.actor("gwen"), template="w", input={})
    complete_task(actor=staged.actor("ada"), task_id=Task.objects.open().get(step="y").pk)
    inner = Task.objects.open().get(step="first")
    with pytest.raises(WorkflowError) as refusal:
        complete_task(actor=staged.actor("ada"), task_id=inner.pk)
    assert refusal.value.code == "four_eyes"
    complete_task(actor=staged.actor("fay"), task_id=inner.pk)


def test_assigning_by_escalation_or_person_keeps_the_rule(staged: Cast) -> None:
    task = reached(staged, "in a child under way")
    with pytest.raises(WorkflowError) as refusal:
        assign_task(actor=staged.actor("gwen"), task_id=task.pk, person="ada")
    assert refusal.value.code == "four_eyes"
