"""A tenant next to a simulation: the same people, workflows and calls, all acts through the services on PostgreSQL."""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from io import BytesIO
from typing import Any
from uuid import UUID, uuid5

from django.db import connection, transaction

from engine.dispatch.call_pool import CallsUnderWay
from engine.dispatch.calls import Answered, Intent, deliver_results, perform_at_once
from engine.dispatch.drain import drain
from engine.errors import WorkflowError
from engine.kernel.program import Definition
from engine.kernel.signals import CallFailed, CallSucceeded
from engine.kernel.simulator.calls import answered
from engine.kernel.simulator.people import Person
from engine.kernel.tasks.answers import brought_values, ending_of
from engine.kernel.tasks.rules import FILE_KINDS
from engine.models import BusinessCalendar, Instance, Task, TaskQuestion, Template, TemplateVersion, Wait
from engine.services.instances.lifecycle import start_instance
from engine.services.instances.repair import retry_step, skip_step
from engine.services.instances.signals import send_keyed_signal, send_signal
from engine.services.tasks.assignment import assign_task
from engine.services.tasks.attachments import attach_file
from engine.services.tasks.handover import answer_question, ask_about_task, withdraw_question
from engine.services.tasks.lifecycle import claim_task, complete_task, release_task
from engine.services.tasks.redo import redo_task
from engine.services.tasks.suspension import skip_task
from engine.transports.base import CallResult, Failed, Succeeded
from tests.model.clock import MAKE
from workflowplatform.accounts.actor import Actor, actor_of
from workflowplatform.accounts.models import Membership, Role, Tenant, User
from workflowplatform.ids import keep_time

NAMES = UUID("6ba7b812-9dad-11d1-80b4-00c04fd430c8")
Place = tuple[str, str, str]


@dataclass
class RealTenant:
    """The real side: who and what there is, and what came of each act."""

    tenant: Tenant
    people: dict[str, User] = field(default_factory=dict)
    roles: dict[str, Role] = field(default_factory=dict)
    answers: dict[Place, deque[Mapping[str, Any]]] = field(default_factory=lambda: defaultdict(deque))
    """What calls are answered with, by workflow, step and item, in the order of the simulation."""
    unexpected: list[str] = field(default_factory=list)
    """Calls that the simulation did not make."""

    # Setting up

    @classmethod
    def found(cls, at: datetime) -> "RealTenant":
        """Create a tenant under a stopped clock; all of it is rolled back with the test's transaction."""
        with connection.cursor() as cursor:
            cursor.execute(MAKE)
            cursor.execute("SET LOCAL search_path = standing, pg_catalog, public")
        real = cls(Tenant.objects.create(name="conformance"))
        real.put_clock(at)
        return real

    def put_clock(self, at: datetime) -> None:
        """Put the database's clock to a moment."""
        with connection.cursor() as cursor:
            cursor.execute("UPDATE standing.clock SET at = %s", [at])
        keep_time(at)

    def install(self, definitions: Iterable[Definition]) -> None:
        """Install workflows as active versions; a version keeps its id over tests, so that it is compiled once."""
        templates = [self._template(one) for one in definitions]
        Template.objects.bulk_create(template for template, _ in templates)
        TemplateVersion.objects.bulk_create(version for _, version in templates)

    def _template(self, definition: Definition) -> tuple[Template, TemplateVersion]:
        canonical = {**definition.canonical, "trigger": "manual"}  # a stored test starts what an event or a clock would
        limit = (canonical.get("limits") or {}).get("concurrent")
        template = Template(tenant=self.tenant, name=definition.name, concurrent_limit=limit)
        return template, TemplateVersion(
            id=uuid5(NAMES, repr(canonical)),
            tenant=self.tenant,
            template=template,
            number=1,
            status="active",
            source="",
            canonical=canonical,
            event_name=(canonical.get("event") or {}).get("name", ""),
        )

    def add_calendar(self, name: str, content: Mapping[str, Any]) -> None:
        BusinessCalendar.objects.create(tenant=self.tenant, name=name, content=content)

    def add_role(self, name: str) -> Role:
        """Return a role; create it if it is missing."""
        if name not in self.roles:
            self.roles[name] = Role.objects.create(tenant=self.tenant, name=name)
        return self.roles[name]

    def add_person(self, person: Person) -> User:
        """Create or change a person to have this level and these roles."""
        if person.name not in self.people:
            self.people[person.name] = User.objects.create(
                tenant=self.tenant, username=person.name, level=person.level, email=""
            )
        user = self.people[person.name]
        if user.level != person.level:
            User.objects.filter(pk=user.pk).update(level=person.level)
            user.level = person.level
        if person.manager and user.manager_id is None:
            User.objects.filter(pk=user.pk).update(manager=self.add_person(Person(person.manager)))
            user.refresh_from_db()
        for name in person.roles:
            Membership.objects.get_or_create(tenant=self.tenant, user=user, role=self.add_role(name))
        return user

    # Acts: each answers what it did, or by which code it was refused

    def attempt(self, by: Person, act: Callable[[Actor], Any]) -> tuple[Any, str | None]:
        """Do an act as a person in a transaction of its own, then everything that is due."""
        actor = actor_of(self.add_person(by))
        try:
            with transaction.atomic():
                done = act(actor)
        except WorkflowError as refusal:
            return None, refusal.code
        self.work()
        return done, None

    def work(self) -> None:
        """Let a worker do everything that is due, calls answered by the test."""
        calls = Answering(self)
        drained = drain(calls)
        assert not drained.failed, "a signal could not be applied"
        assert not drained.has_more

    def start(self, by: Person, name: str, given: Any) -> tuple[UUID | None, str | None]:
        done, code = self.attempt(by, lambda actor: start_instance(actor=actor, template=name, input=given))
        return (done.instance.pk if done else None), code

    def complete(self, by: Person, task: Task, given: Mapping[str, Any]) -> str | None:
        """Answer as a person does with the form: files first, then the form's values with what was typed."""
        code = self._attach(by, task, given)
        if code is not None:
            return code
        values = {key: value for key, value in given.items() if key not in _beside(task)}
        ticked = given.get("ticked") if task.checklist else None
        return self.attempt(
            by,
            lambda actor: complete_task(
                actor=actor,
                task_id=task.pk,
                outcome=given.get("outcome"),
                values={**brought_values(task.form, task.payload), **values},
                comment=str(given.get("comment") or ""),
                ticked=[point.id for point in task.checklist] if ticked is None else ticked,
            ),
        )[1]

    def _attach(self, by: Person, task: Task, given: Mapping[str, Any]) -> str | None:
        names = given.get("attachments", []) if "attachments" in _beside(task) else []
        for name in names if isinstance(names, list) else [names]:
            kind = FILE_KINDS.get(ending_of(name))
            content = BytesIO((kind.begins[0] if kind and kind.begins else b"") + b"text")
            add = partial(attach_file, task_id=task.pk, name=name, content=content)
            code = self.attempt(by, lambda actor, add=add: add(actor=actor))[1]  # type: ignore[misc]
            if code is not None:
                return code
        return None

    def claim(self, by: Person, task: Task) -> str | None:
        return self.attempt(by, lambda actor: claim_task(actor=actor, task_id=task.pk))[1]

    def release(self, by: Person, task: Task) -> str | None:
        return self.attempt(by, lambda actor: release_task(actor=actor, task_id=task.pk))[1]

    def assign(self, by: Person, task: Task, name: str | None) -> str | None:
        return self.attempt(by, lambda actor: assign_task(actor=actor, task_id=task.pk, person=name))[1]

    def ask(self, by: Person, task: Task, name: str | None) -> str | None:
        return self.attempt(
            by, lambda actor: ask_about_task(actor=actor, task_id=task.pk, user=name or "", question="Which one?")
        )[1]

    def answer_question(self, by: Person, task: Task) -> str | None:
        """Answer the question about a task; the newest, if it was asked of them."""
        asked = TaskQuestion.objects.filter(task=task).order_by("-id").first()
        if asked is None:
            return "not_found"
        return self.attempt(by, lambda actor: answer_question(actor=actor, question_id=asked.pk, answer="This one."))[1]

    def withdraw(self, by: Person, task: Task) -> str | None:
        return self.attempt(by, lambda actor: withdraw_question(actor=actor, task_id=task.pk))[1]

    def skip(self, by: Person, task: Task, reason: str) -> str | None:
        return self.attempt(by, lambda actor: skip_task(actor=actor, task_id=task.pk, reason=reason))[1]

    def redo(self, by: Person, task: Task) -> str | None:
        return self.attempt(by, lambda actor: redo_task(actor=actor, task_id=task.pk))[1]

    def operate(self, by: Person, instance_id: UUID, act: Mapping[str, Any]) -> str | None:
        """Pass over a failed step, or run it again with another input."""
        step = str(act["operate"])
        if "input" in act:
            given = act["input"]
            return self.attempt(
                by, lambda actor: retry_step(actor=actor, instance_id=instance_id, step=step, input=given)
            )[1]
        return self.attempt(
            by,
            lambda actor: skip_step(
                actor=actor, instance_id=instance_id, step=step, output=act.get("with"), reason="a test"
            ),
        )[1]

    def signal(self, by: Person, instance_id: UUID, act: Mapping[str, Any]) -> tuple[int, str | None]:
        """Send a signal to one instance, or by key; say also how many heard it."""
        name, payload, key = str(act["signal"]), act.get("with"), act.get("key")
        if key is None:
            sent, code = self.attempt(
                by, lambda actor: send_signal(actor=actor, instance_id=instance_id, name=name, payload=payload)
            )
            return int(bool(sent and sent.delivered)), code
        cast, code = self.attempt(
            by,
            lambda actor: send_keyed_signal(
                actor=actor,
                name=name,
                key=str(key),
                payload=payload,
                ttl=act.get("ttl"),
                everybody=bool(act.get("all")),
            ),
        )
        return len(cast.delivered) if cast else 0, code

    # What is there

    def task(self, instance_id: UUID, token: int) -> Task:
        return Task.objects.get(instance_id=instance_id, token=token)

    def unknown(self, name: str, known: Iterable[UUID]) -> list[Instance]:
        """Return the instances of a workflow that nobody has been paired with, oldest first."""
        rows = Instance.objects.filter(tenant=self.tenant, template__name=name).exclude(pk__in=list(known))
        return sorted(rows, key=lambda one: (one.started_at, one.parent_token or 0, one.pk))

    def answer(self, intent: Intent, place: Place) -> CallResult:
        """Answer a call as the simulation's was."""
        if not self.answers[place]:
            self.unexpected.append(f"{place[1]}{place[2]}")
            return Failed("transport", "unexpected", "the simulation did not make this call")
        event = answered(0, intent.transport, self.answers[place].popleft())
        if isinstance(event, CallSucceeded):
            return Succeeded(event.value)
        assert isinstance(event, CallFailed)
        return Failed(event.error_class, event.code, event.message, event.value)


def _beside(task: Task) -> set[str]:
    """Return the keys of an answer that are no values of the form."""
    fields = (task.form or {}).get("properties") or {}
    words = {"outcome", "comment", "by"} | ({"ticked"} if task.checklist else set())
    return words | ({"attachments"} - set(fields))


class Answering(CallsUnderWay):
    """Calls of a worker, taken on and delivered as always, but answered by the test."""

    def __init__(self, real: RealTenant) -> None:
        super().__init__()
        self.real = real
        self.made: list[Answered] = []

    def begin(self, intents: Sequence[Intent]) -> None:
        """Answer at once; the results wait for the next look."""
        for intent in perform_at_once(intents):
            self.made.append((intent, self._result(intent)))

    def _result(self, intent: Intent) -> CallResult:
        if not intent.is_awaited:
            return Succeeded({})
        wait = Wait.objects.select_related("instance__template").get(instance_id=intent.instance_id, token=intent.token)
        return self.real.answer(intent, (wait.instance.template.name, wait.step, wait.iteration))

    def settle(self, *, taking: bool = False) -> int:
        """Deliver what was answered, one after the other; what follows waits for the next look."""
        made, self.made = self.made, []
        for one in made:
            deliver_results([one])
        return len(made)


def told_real(instance: Instance) -> dict[str, Any]:
    """Return the state of an instance."""
    waits = Wait.objects.filter(instance=instance, side=False).values_list("kind", flat=True)
    tasks = Task.objects.open().filter(instance=instance).select_related("assignee")
    error = instance.error or {}
    return {
        "status": instance.status,
        "outcome": instance.outcome or None,
        "state": instance.state,
        "output": instance.output,
        "error": (error.get("class"), error.get("code")) if error else None,
        "reference": instance.reference,
        "waits": dict(Counter(waits)),
        "tasks": sorted((_told_task(task) for task in tasks), key=repr),
    }


def _told_task(task: Task) -> dict[str, Any]:
    return {
        "step": f"{task.step}{task.iteration}",
        "status": task.status,
        "assignee": task.assignee.username if task.assignee else None,
        "title": task.title,
        "values": task.payload,
        "roles": task.effective_roles,
        "users": task.users,
        "priority": task.priority_name,
        "due": task.due_at.astimezone(UTC) if task.due_at else None,
    }
