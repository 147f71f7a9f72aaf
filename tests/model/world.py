"""A tenant for one example: its people, their acts through the services, and the workers that drain its queue."""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from typing import Any, TypeVar
from uuid import uuid4

from django.db import connection
from django.db.models.expressions import RawSQL

from engine.dispatch.crash_points import Boundary, arm
from engine.dispatch.drain import drain
from engine.errors import Conflict, NotFound, Refused, WorkflowError
from engine.models import Audit, Instance, Schedule, Signal, Task
from engine.runtime.projection import NEVER
from engine.services.people.accounts import create_person
from engine.services.people.tenants_and_roles import create_tenant
from engine.services.templates.versions import activate_version, save_draft
from tests.model import outside
from tests.model.clock import BEGINNING, Clock
from tests.model.glance import Glance
from tests.model.model import ADMITTED, Answer, Book, Offer, Person
from tests.model.templates import TEMPLATES
from workflowplatform.accounts.actor import Actor, actor_of
from workflowplatform.accounts.models import Membership, Tenant, User

Result = TypeVar("Result")

LEVELS: dict[str, tuple[int, tuple[str, ...]]] = {
    "gwen": (5, ()),
    "gus": (5, ()),
    "ada": (4, ("finance", "support")),
    "adam": (4, ("hr", "management")),
    "uri": (2, ("finance",)),
}
"""Everyone in the tenant. Gwen keeps her level, so that there is always an author."""
STRANGERS: dict[str, tuple[int, tuple[str, ...]]] = {"sam": (5, ()), "stan": (4, ("finance",))}
EVERYBODY = (*LEVELS, *STRANGERS)

ANSWERS: dict[type[WorkflowError], Answer] = {
    NotFound: Answer.MISSING,
    Refused: Answer.REFUSED,
    Conflict: Answer.CONFLICT,
}

TICK = timedelta(milliseconds=1)
"""What an act takes, so that no two happen at the very same moment and who came first is plain."""

_numbers = count(1)


def _in_order(instance_id: str) -> RawSQL:
    """Order instances by which came first: ids of one millisecond come in any order, and chance must be repeatable."""
    return RawSQL(f"(SELECT min(a.id) FROM wf_audit_acts a WHERE a.subject_id = {instance_id})", [])


def found(people: dict[str, tuple[int, tuple[str, ...]]]) -> tuple[Tenant, dict[str, User]]:
    """Found a tenant with these people; names are unique over all tenants, so each gets a number behind."""
    number = f"{os.getpid()}x{next(_numbers)}"
    tenant = create_tenant(actor=None, name=f"t{number}", title="Model")
    return tenant, {
        name: create_person(actor=None, tenant=tenant, name=f"{name}{number}", level=level, roles=roles)
        for name, (level, roles) in people.items()
    }


@dataclass
class World:
    """Everything one example acts upon. `sound` is false from an act on until all invariants held after it."""

    clock: Clock
    strangers: dict[str, User]
    tenant: Tenant = field(init=False)
    people: dict[str, User] = field(init=False)
    book: Book = field(default_factory=Book)
    sound: bool = True
    glance: Glance = field(default_factory=Glance)
    """What was there when the invariants last looked."""
    verified: int = 0
    """Up to where the audit was followed."""
    hidden: set[Any] = field(default_factory=set)
    """What people of the other tenant have looked for and not found."""

    def __post_init__(self) -> None:
        self._sweep()
        self.clock.set(BEGINNING)
        outside.forget()
        self.tenant, locals_ = found(LEVELS)
        self.people = locals_ | self.strangers

    @staticmethod
    def _sweep() -> None:
        """Take what an earlier example left in the queue: it is not this one's, and its tenant is never looked at again."""
        with connection.cursor() as cursor:
            cursor.execute("TRUNCATE wf_signals, wf_schedules CASCADE")

    # Who

    def actor(self, name: str) -> Actor:
        """Return who acts when this person acts now."""
        return actor_of(User.objects.get(pk=self.people[name].pk))

    def person(self, name: str) -> Person:
        """Return the same as the model sees them."""
        user = User.objects.get(pk=self.people[name].pk)
        roles = Membership.objects.filter(user=user).values_list("role__name", flat=True)
        return Person(user.username, user.level, frozenset(roles), foreign=user.tenant_id != self.tenant.pk)

    # Acts

    def attempt(self, who: str, expected: Answer, act: Callable[[Actor], Result], *acts: str) -> Result | None:
        """Let a person act; the answer must be the expected one, and the audit must have the act if it was done, or nothing."""
        actor, before = self.actor(who), self.last_row()
        self.sound = False
        self.clock.advance(TICK)
        result, answer = _answer(act, actor)
        assert answer is expected, f"{who} (level {actor.level}) expected {expected!r}, got {answer!r}"
        fresh = Audit.objects.filter(tenant_id=self.tenant.pk, id__gt=before)
        if answer is not Answer.DONE:
            assert not fresh.exists(), f"a refused act left {list(fresh)}"
            return None
        recorded = {(row.action, row.actor_name, row.actor_level) for row in fresh}
        missing = {(action, actor.name, actor.level) for action in acts} - recorded
        assert not missing, f"the audit lacks {missing}; it has {recorded}"
        return result

    def last_row(self) -> int:
        """Return where this tenant's audit ends."""
        newest = Audit.objects.filter(tenant_id=self.tenant.pk).order_by("-id").values_list("id", flat=True).first()
        return newest or 0

    def author(self, name: str) -> None:
        """Activate a template, with those that it needs, as Gwen would."""
        for needed in (*TEMPLATES[name].before, name):
            if self.book.in_force(needed) is None:
                self.create("gwen", needed, Answer.DONE)
                self.activate("gwen", needed, len(self.book.versions[needed]), Answer.DONE)

    def create(self, who: str, name: str, expected: Answer) -> None:
        """Save a draft."""
        source = TEMPLATES[name].source
        self.attempt(who, expected, lambda actor: save_draft(actor=actor, source=source), "create_template")
        if expected is Answer.DONE:
            self.book.versions.setdefault(name, []).append("draft")

    def activate(self, who: str, name: str, number: int, expected: Answer) -> None:
        """Activate a version."""
        act = lambda actor: activate_version(actor=actor, name=name, number=number)  # noqa: E731
        self.attempt(who, expected, act, "activate_template")
        if expected is Answer.DONE:
            self.book.move(name, number, "active")

    # Workers

    def work(self) -> None:
        """Let a worker do everything that is due."""
        self.sound = False
        drained = drain()
        assert not drained.failed, "a signal could not be applied"

    def work_and_die(self, boundary: Boundary) -> bool:
        """Let a forked worker drain until it dies at a boundary; tell whether it ever came there."""
        self.sound = False
        self.book.kills += 1
        connection.close()  # two processes must not talk over one connection
        child = os.fork()
        if not child:
            _drain_in_child(boundary)
        _, status = os.waitpid(child, 0)
        assert status in (0, 9), f"the worker ended with {status}"
        return status == 9

    def copy(self, signal: Signal) -> None:
        """Deliver a queued signal once more, as a sender would that was not sure."""
        self.sound = False
        self.book.copies += 1
        signal.pk = uuid4()
        signal.save(force_insert=True)

    # What is there

    def instances(self, *statuses: str) -> list[Instance]:
        """Return the tenant's instances in these statuses, oldest first."""
        rows = Instance.objects.filter(tenant_id=self.tenant.pk).select_related("template")
        rows = rows.annotate(place=_in_order("wf_instances.id")).order_by("place")
        return list(rows.filter(status__in=statuses) if statuses else rows)

    def tasks(self) -> list[Task]:
        """Return all tasks, those still open first."""
        tasks = Task.objects.filter(tenant_id=self.tenant.pk).select_related("assignee", "instance")
        tasks = tasks.annotate(place=_in_order("wf_tasks.instance_id")).order_by("place", "token")
        return sorted(tasks, key=lambda task: task.status not in ("open", "claimed"))

    def schedules(self) -> list[Schedule]:
        return list(Schedule.objects.filter(tenant_id=self.tenant.pk).select_related("template").order_by("created_at"))

    def room(self, name: str) -> int | None:
        """Return how many more instances a template's limit admits."""
        limit = TEMPLATES[name].limit
        if limit is None:
            return None
        own = [one for one in self.instances(*ADMITTED) if one.template.name == name and one.parent_token is None]
        return max(0, limit - len(own))

    def due_ahead(self, instances: Iterable[Instance] | None = None) -> list[Signal]:
        """Return the queued signals that time alone brings, soonest first."""
        signals = Signal.objects.filter(tenant_id=self.tenant.pk, due_at__lt=NEVER)
        signals = signals.annotate(place=_in_order("wf_signals.instance_id"))
        signals = signals.order_by("due_at", "place", "type", "waiting_token")
        return list(signals if instances is None else signals.filter(instance__in=instances))

    def offer(self, task: Task) -> Offer:
        """Return a task as the model sees it."""
        return Offer(
            status=task.status,
            floor=task.min_level,
            roles=frozenset(task.effective_roles),
            excluded=frozenset(task.excluded),
            assignee=task.assignee.username if task.assignee else None,
            answered_by=task.completed_by_name or None,
            suspended=task.instance.status == "suspended",
        )

    def pass_to(self, signal: Signal) -> None:
        """Put the clock to the moment at which a signal falls due, unless that is past."""
        self.clock.set(max(self.clock.at, signal.due_at))

    def pass_time(self, seconds: float) -> None:
        self.sound = False
        self.clock.advance(timedelta(seconds=seconds))


def _answer(act: Callable[[Actor], Result], actor: Actor) -> tuple[Any, Answer]:
    try:
        return act(actor), Answer.DONE
    except WorkflowError as refusal:
        answer = ANSWERS.get(type(refusal))
        if answer is None:
            raise
        return None, answer


def _drain_in_child(boundary: Boundary) -> None:
    """Work in a forked process and never come back from it."""
    arm(boundary)
    try:
        drain()
        os._exit(0)
    finally:
        os._exit(1)
