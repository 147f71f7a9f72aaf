"""Carry out what a slice asks of people: assign new tasks, queue e-mails, escalate.

All of it happens in the transaction of the slice, after its rows are written, and only where an author asks for it. E-mails are
intents, like any outside call without a waiting step: a worker sends each at least once, under its key.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any

from django.db.models import Count, Q

from engine import access
from engine.access.absences import away_at, is_left_alone
from engine.access.task_rules import refuse_person
from engine.audit.chain import Act, record
from engine.kernel.effects import BarPeople, ChangeTask, NotifyPeople, PauseClock, ResumeClock
from engine.kernel.machine.idempotency_keys import bounded
from engine.kernel.signals import SignalType
from engine.kernel.steps.assignment import EXPERIENCE, MANAGER, choose
from engine.kernel.transitions import TaskStatus
from engine.models import PRIORITIES, Effect, Instance, Task, TaskCandidate, TaskEvent, Turn
from engine.runtime.definition_cache import definition_of
from engine.runtime.projection import NEVER, Stage
from engine.runtime.projection.stage import finds_person
from engine.runtime.signal_routing import queue_signal
from workflowplatform.accounts.actor import actor_of, engine_actor
from workflowplatform.accounts.models import Role, User
from workflowplatform.http.public_links import public_address
from workflowplatform.ids import uuid7
from workflowplatform.mail_texts import as_lines, as_words

MOST_MAILS = 100
"""To how many people one notice is sent at the most."""
MAIL_SECONDS = 30.0
SUBJECTS = {"notify": "New task", "remind": "Still waiting for you", "escalate": "Escalated"}

draw: Callable[[int], int] = random.SystemRandom().randrange
"""The draw that `assign_by: random` is lent; tests put another in its place."""


def carry_out_task_effects(stages: Sequence[Stage]) -> int:
    """Do to tasks what the slices ask for; return how many signals that made. Call after the batch is written."""
    _bind_new(stages)
    mails = 0
    for stage in stages:
        for effect in stage.result.effects:
            if isinstance(effect, NotifyPeople):
                mails += _notify(stage, effect)
            elif type(effect) in EFFECTS:
                EFFECTS[type(effect)](stage, effect)
    return mails


# Whose a new task is


def _bind_new(stages: Sequence[Stage]) -> None:
    """Assign new tasks to people, step by step in one order, so that slices that choose at once wait for each other."""
    wanted = [
        (str(stage.loaded.template_id), wait.step, stage, wait.token)
        for stage in stages
        for wait in stage.result.opened
        if wait.task and finds_person(wait.task)
    ]
    for _, step, stage, token in sorted(wanted, key=lambda one: (one[0], one[1], one[3])):
        _bind(stage, step, Task.objects.get(instance_id=stage.loaded.instance_id, token=token, status=TaskStatus.OPEN))


def _bind(stage: Stage, step: str, task: Task) -> None:
    if task.rules.assign_by == MANAGER:
        _bind_to_manager(stage, task)
    else:
        _bind_to_candidate(stage, step, task)


def _bind_to_manager(stage: Stage, task: Task) -> None:
    """Assign a task to the manager of the person who started its instance; else it is offered, and its history says why.

    A manager who is away has it only where a deputy stands in.
    """
    starter = stage.loaded.facts.started_by
    name = access.manager_named(task.tenant_id, starter) if starter else None
    person = _receiver(stage, task, name)
    if person is None or is_left_alone(person, task, stage.now):
        _note(stage, task, "offered", {"of": starter}, cause="no_manager")
        return
    Task.objects.filter(pk=task.pk).update(assignee=person)
    _note(stage, task, "assigned", {"assignee": person.username}, cause=MANAGER)


def _bind_to_candidate(stage: Stage, step: str, task: Task) -> None:
    turn = _turn(stage, step)
    fitting = _here(stage, {person.username: person for person in access.people_fit_for(task)})
    way = task.rules.assign_by
    assert way is not None
    people = list(fitting.values())
    loads = _loads(people) if way in ("least_loaded", "most_experienced") else {}
    done = _experience(stage, step, people) if way == "most_experienced" else {}
    name = choose(way, list(fitting), loads=loads, last=turn.person_name or None, draw=draw, done=done)
    if name is None:
        return
    Task.objects.filter(pk=task.pk).update(assignee=fitting[name])
    Turn.objects.filter(pk=turn.pk).update(person_name=name)
    _note(stage, task, "assigned", {"assignee": name}, cause=way)


def _here(stage: Stage, fitting: dict[str, User]) -> dict[str, User]:
    """Leave out those who are away, unless that leaves nobody."""
    away = away_at((person.pk for person in fitting.values()), stage.now)
    return {name: person for name, person in fitting.items() if person.pk not in away} or fitting


def _turn(stage: Stage, step: str) -> Turn:
    key = {"tenant_id": stage.loaded.tenant_id, "template_id": stage.loaded.template_id, "step": step}
    Turn.objects.bulk_create([Turn(**key)], ignore_conflicts=True)
    return Turn.objects.select_for_update(no_key=True).get(**key)


def _loads(people: Sequence[User]) -> dict[str, int]:
    held = Task.objects.open().filter(assignee__in=people).values_list("assignee__username")
    return dict(held.annotate(number=Count("pk")))


def _experience(stage: Stage, step: str, people: Sequence[User]) -> dict[str, int]:
    """Count the tasks of a step that each of these people answered lately, in any version of the template."""
    answered = Task.objects.filter(completed_by_id__in=[person.pk for person in people], step=step)
    lately = answered.filter(
        status=TaskStatus.COMPLETED,
        completed_at__gte=stage.now - EXPERIENCE,
        version__template_id=stage.loaded.template_id,
    )
    return dict(lately.values_list("completed_by_name").annotate(number=Count("pk")))


# What an escalation changes


def _change(stage: Stage, effect: ChangeTask) -> None:
    task = _open_task(stage, effect.token)
    if task is None:
        return
    if effect.late:
        _note(stage, task, "late", {"promised": task.sla_at.isoformat() if task.sla_at else None})
        return
    if effect.priority in PRIORITIES:
        task.priority = PRIORITIES.index(effect.priority)
    task.effective_roles = list(dict.fromkeys([*task.effective_roles, *effect.roles]))
    task.users = list(dict.fromkeys([*task.users, *effect.users]))
    person = _receiver(stage, task, effect.assignee)
    if person is not None:
        task.assignee, task.status, task.claimed_at = person, TaskStatus.OPEN, None
    task.save(update_fields=["priority", "effective_roles", "users", "assignee", "status", "claimed_at"])
    _offer_anew(task, effect, person)
    given = person and person.username
    new = {"priority": effect.priority, "roles": effect.roles, "users": effect.users, "assignee": given}
    _note(stage, task, "escalated", {name: value for name, value in new.items() if value})


def _open_task(stage: Stage, token: int) -> Task | None:
    tasks = Task.objects.open().filter(instance_id=stage.loaded.instance_id, token=token)
    return tasks.select_related("assignee").first()


def _receiver(stage: Stage, task: Task, name: str | None) -> User | None:
    """Find whom an escalation gives the task to; four eyes and levels hold here too, and a claim that picked stays."""
    picked = task.status == TaskStatus.CLAIMED and definition_of(stage.loaded.version_id).claims_decide
    if name is None or picked or task.status == TaskStatus.SUSPENDED:
        return None
    person = User.objects.filter(tenant_id=task.tenant_id, username=name, is_active=True).first()
    return person if person and refuse_person(actor_of(person), task) is None else None


def _offer_anew(task: Task, effect: ChangeTask, person: User | None) -> None:
    """Write the offers again: their order follows the priority, and more people may be asked."""
    rows = TaskCandidate.objects.filter(task_id=task.pk)
    asked = set(rows.values_list("principal", flat=True))
    asked |= set(Role.objects.filter(tenant_id=task.tenant_id, name__in=effect.roles).values_list("pk", flat=True))
    named = [*effect.users, *([person.username] if person else [])]
    asked |= set(User.objects.filter(tenant_id=task.tenant_id, username__in=named).values_list("pk", flat=True))
    rows.delete()
    rank, due_at = len(PRIORITIES) - task.priority, task.due_at or NEVER
    TaskCandidate.objects.bulk_create(
        TaskCandidate(tenant_id=task.tenant_id, task_id=task.pk, principal=principal, rank=rank, due_at=due_at)
        for principal in asked
    )


def _note(stage: Stage, task: Task, kind: str, new: Any, *, cause: str = "") -> None:
    engine = engine_actor(stage.loaded.tenant_id)
    TaskEvent.objects.create(
        tenant_id=task.tenant_id, instance_id=task.instance_id, task=task, kind=kind, at=stage.now,
        actor_name=engine.name, actor_level=engine.level, cause=cause, new=new,
    )  # fmt: skip
    act = Act(f"task_{kind}", step=task.step, iteration=task.iteration, cause=cause, new={**new, "token": task.token})
    record(Instance(pk=task.instance_id), act, actor=engine)


# Four eyes


def _bar(stage: Stage, effect: BarPeople) -> None:
    """Note whom four eyes bar from an open task now; if its claimer is barred, the task is released."""
    task = _open_task(stage, effect.token)
    if task is None:
        return
    task.excluded = list(effect.excluded)
    holder = task.assignee
    decides = definition_of(stage.loaded.version_id).claims_decide
    barred = holder is not None and not {holder.username, *holder.same_eyes}.isdisjoint(effect.excluded)
    if barred and task.status == TaskStatus.CLAIMED and not decides:
        task.assignee, task.status, task.claimed_at, task.follow_up_at = None, TaskStatus.OPEN, None, None
        _note(stage, task, "released", {"assignee": None}, cause="four_eyes")
    task.save(update_fields=["excluded", "assignee", "status", "claimed_at", "follow_up_at"])


# The clock of a task


def _pause(stage: Stage, effect: PauseClock) -> None:
    """Let a task be due at no time, and keep when it was: so no list calls it late and nobody is told that it is."""
    task = _open_task(stage, effect.token)
    if task is None:
        return
    stopped = {"clock_paused_at": stage.now, "clock_due_at": task.due_at, "clock_resumes_at": effect.until}
    Task.objects.filter(pk=task.pk).update(**stopped, due_at=None)
    _due_elsewhere(task, None)


def _resume(stage: Stage, effect: ResumeClock) -> None:
    task = _open_task(stage, effect.token)
    if task is None or task.clock_paused_at is None:
        return
    due_at, sla_at = (at and effect.pause.move(at) for at in (task.clock_due_at, task.sla_at))
    runs = {"clock_paused_at": None, "clock_due_at": None, "clock_resumes_at": None}
    Task.objects.filter(pk=task.pk).update(**runs, due_at=due_at, sla_at=sla_at)
    _due_elsewhere(task, due_at)
    if effect.ran_out:
        _note(stage, task, "clock_runs", {"due": due_at and due_at.isoformat()})


def _due_elsewhere(task: Task, due_at: datetime | None) -> None:
    """Write when a task is due where its offers are sorted by it."""
    offers = list(TaskCandidate.objects.filter(task_id=task.pk))
    TaskCandidate.objects.filter(task_id=task.pk).delete()
    for offer in offers:
        offer.due_at = due_at or NEVER
    TaskCandidate.objects.bulk_create(offers)


# E-mails


def _notify(stage: Stage, effect: NotifyPeople) -> int:
    task = _open_task(stage, effect.token)
    if task and task.status == TaskStatus.SUSPENDED and effect.why == "remind":
        return 0
    addresses = list(_addresses(task, effect))[:MOST_MAILS] if task else []
    for address in addresses:
        assert task
        _write_mail(stage.now, effect, task, address)
    if task and effect.why != "notify":
        _note(stage, task, "reminded", {"letters": len(addresses)}, cause=effect.why)
    return len(addresses)


def _addresses(task: Task, effect: NotifyPeople) -> Iterator[str]:
    """Yield each receiver's address once: those named, else whose task it is, else those who may take it."""
    found = [name for name in effect.to if "@" in name]
    if effect.to:
        found += _reachable(
            User.objects.filter(tenant_id=task.tenant_id, is_active=True).filter(
                Q(username__in=effect.to) | Q(memberships__role__name__in=effect.to)
            )
        )
    elif task.assignee:
        found += [task.assignee.email]
    else:
        found += _reachable(access.people_fit_for(task))
    yield from dict.fromkeys(address for address in found if address)


def _reachable(people: Any) -> list[str]:
    return list(people.exclude(email="").order_by("username").distinct().values_list("email", flat=True)[:MOST_MAILS])


def send_reminder(task: Task, now: datetime) -> int:
    """Remind the people whom a task waits for, by hand; return how many e-mails that makes."""
    effect = NotifyPeople(task.token, task.step, "remind", f"{task.pk}:remind:{now.isoformat()}")
    addresses = list(_addresses(task, effect))[:MOST_MAILS]
    for address in addresses:
        _write_mail(now, effect, task, address)
    return len(addresses)


def _write_mail(now: datetime, effect: NotifyPeople, task: Task, address: str) -> None:
    """Write the intent of one e-mail; a token below zero names no wait."""
    token = -(uuid7().int >> 65)
    subject = effect.subject or f"{SUBJECTS[effect.why]}: {as_words(task.title)}"
    Effect.objects.create(
        tenant_id=task.tenant_id, instance_id=task.instance_id, token=token, path=task.path, transport="email",
        request={"to": [address], "subject": subject, "text": effect.text or _text(task)},
        key=bounded(f"{effect.key}:{address}"), timeout_seconds=MAIL_SECONDS, intended_at=now,
    )  # fmt: skip
    queue_signal(task.tenant_id, task.instance_id, SignalType.CALL_DUE, now, token=token)


def _text(task: Task) -> str:
    due = f"Due: {task.due_at:%Y-%m-%d %H:%M} UTC" if task.due_at else ""
    lines = [
        as_words(task.title),
        as_lines(task.description),
        as_words(task.business_reference or ""),
        due,
        public_address(f"/inbox/tasks/{task.pk}/"),
    ]
    return "\n".join(line for line in lines if line)


EFFECTS: dict[type, Callable[[Stage, Any], None]] = {
    ChangeTask: _change,
    BarPeople: _bar,
    PauseClock: _pause,
    ResumeClock: _resume,
}
"""What is done to a task's row."""
