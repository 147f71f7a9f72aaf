"""Two tenants with one row of everything each, and everybody who may ask: what the matrix walks over.

Whatever belongs to a tenant carries its name, so that an answer that shows a row of the other one can be told by a word.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from io import BytesIO
from typing import Any
from uuid import UUID

from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from engine.audit.chain import database_now
from engine.models import (
    Audit,
    BulkAct,
    CaseFile,
    DeadLetter,
    Instance,
    ListSettings,
    Notification,
    NotificationSettings,
    PendingAnswer,
    PushSubscription,
    Signal,
    StartDraft,
    Task,
    TaskQuestion,
    TemplateVersion,
)
from engine.services.instances.bulk_operations import begin_bulk_act
from engine.services.instances.lifecycle import start_instance
from engine.services.notifications.role_chats import set_role_chat
from engine.services.people.accounts import create_person
from engine.services.people.tenants_and_roles import create_role
from engine.services.people.tokens import create_token
from engine.services.retention.purge import set_retention
from engine.services.schedules.lifecycle import create_schedule
from engine.services.tasks.attachments import attach_file
from engine.services.tasks.bulk import BulkResult
from engine.services.tasks.bulk_reports import keep_report
from engine.services.tasks.comments import comment_task
from engine.services.tasks.drafts import save_task_draft
from engine.services.tasks.lifecycle import claim_task
from engine.services.tasks.mail_links import link_token
from engine.services.tasks.saved_filters import save_filter
from engine.services.templates.versions import save_draft
from engine.services.tenants.settings import put_calendar, put_secret
from engine.services.webhooks.subscriptions import create_webhook, ping_webhook
from engine.storage.attachments import file_path, keep
from tests.cast import Cast
from tests.workflows import activated, only_task
from workflowplatform.accounts.actor import Actor, actor_of
from workflowplatform.accounts.models import Absence, Kind, Role, Tenant, Token, User
from workflowplatform.accounts.scopes import Scope
from workflowplatform.ids import uuid7

OURS, THEIRS = "acme", "globex"
"""A and B of the matrix."""
LEVELS = (1, 2, 3, 4, 5, 6)
AWAY = datetime(2999, 1, 7, tzinfo=UTC)
USED_AT = datetime.now(UTC).replace(hour=23, minute=59, second=59)
FROM = "203.0.113.7"
"""The address that everybody asks from."""
"""When and where the tokens were used last: nobody writes it down again while the matrix compares rows."""

APPROVAL = """
workflow: {name}-approval
title: {Name} approval
starters: {{min_level: 2}}
input: {{type: object, required: [amount], properties: {{amount: {{type: number, title: Amount}}}}}}
reference: {{key: "${{'{NAME}-' + string(start.amount)}}"}}
steps:
  - id: review
    task:
      title: Review for {name}
      roles: [finance]
      min_level: 3
      attachments: {{types: [txt], max: 5}}
      outcomes: {{approve: {{title: Approve}}, reject: {{title: Reject, reject: true}}}}
      comment: never
      form: {{type: object, required: [note], properties: {{note: {{type: string, title: Note}}}}}}
"""
BREAKS = """
workflow: {name}-breaks
title: {Name} breaks
input: {{type: object, properties: {{over: {{type: integer}}}}}}
steps:
  - id: halve
    set: {{half: "${{100 / start.over}}"}}
"""
IDEA = "workflow: {name}-idea\ntitle: {Name} idea\nsteps:\n  - id: note\n    set: {{noted: true}}\n"


@dataclass(frozen=True)
class Who:
    """A caller: the person of a level of a tenant, by a session, by a token, or by a narrowed token."""

    name: str
    tenant: str = ""
    level: int = 0
    scopes: tuple[str, ...] = ()
    token: str = ""
    """What a program signs in with; pages are opened by the session of the same person."""
    user: Any = None


@dataclass(frozen=True)
class Rows:
    """What one tenant has: an id or a name for every argument of a route."""

    name: str
    tenant: Tenant
    pk: dict[str, Any] = field(default_factory=dict)
    """Primary keys by the label of their model, for the admin."""
    named: dict[str, Any] = field(default_factory=dict)
    """Values by the name of a route's argument."""

    def ids(self) -> Iterator[str]:
        """List whatever tells a row of this tenant apart from others."""
        for value in (*self.pk.values(), *self.named.values()):
            if isinstance(value, UUID) or (isinstance(value, str) and len(value) > 30):
                yield str(value)


@dataclass(frozen=True)
class Stage:
    """Both tenants, and everybody who asks."""

    ours: Rows
    theirs: Rows
    people: tuple[Who, ...]

    def rows_of(self, tenant: str) -> Rows:
        return self.ours if tenant == OURS else self.theirs


def set_stage(cast: Cast) -> Stage:
    """Furnish both tenants alike, and give everybody a token."""
    tenants = {OURS: cast.acme, THEIRS: cast.globex}
    levels = {name: _people(tenant) for name, tenant in tenants.items()}
    rows = {name: _furnish(tenant, levels[name]) for name, tenant in tenants.items()}
    people = [Who("anonymous")]
    people += [_program(f"{name}{level}", person) for name in tenants for level, person in levels[name].items()]
    people += [_program(f"scope {scope}", levels[OURS][5], scope.value) for scope in Scope]
    robot = create_person(actor=None, tenant=cast.acme, name="acme-robot", level=4, kind=Kind.SERVICE)
    people.append(_program("service", robot, Scope.READ.value, Scope.START.value))
    Token.objects.update(last_used_at=USED_AT, used_from=[FROM])
    return Stage(rows[OURS], rows[THEIRS], tuple(people))


def _people(tenant: Tenant) -> dict[int, User]:
    made = {}
    for level in LEVELS:
        name = f"{tenant.name}-level-{level}"
        roles = ("finance",) if level == 3 else ()
        made[level] = create_person(
            actor=None, tenant=tenant, name=name, level=level, roles=roles, email=f"{name}@{tenant.name}.example"
        )
    return made


def _program(name: str, person: User, *scopes: str) -> Who:
    _, plain = create_token(actor=None, person=person, name=f"of {name}", scopes=scopes)
    return Who(name, person.tenant.name, person.level, scopes, plain, person)


def _written(source: str, tenant: Tenant) -> str:
    return source.format(name=tenant.name, Name=tenant.name.capitalize(), NAME=tenant.name.upper())


def _furnish(tenant: Tenant, people: dict[int, User]) -> Rows:
    """Leave one row of everything, and two where lists are put in order."""
    name = tenant.name
    god, starter, answers = actor_of(people[5]), actor_of(people[2]), actor_of(people[3])
    active = activated(god, _written(APPROVAL, tenant))
    activated(god, _written(BREAKS, tenant))
    draft = save_draft(actor=god, source=_written(IDEA, tenant))
    cases = [start_instance(actor=starter, template=f"{name}-approval", input={"amount": n}).instance for n in (7, 9)]
    broken = start_instance(actor=god, template=f"{name}-breaks", input={"over": 0}).instance
    task = _begun_task(answers, cases[0], name)
    rows = Rows(name, tenant)
    rows.named.update(
        task_id=task.pk,
        attachment_id=attach_file(
            actor=answers, task_id=task.pk, name=f"{name}.txt", content=BytesIO(f"a file of {name}".encode())
        ).pk,
        instance_id=cases[0].pk,
        incident_id=broken.pk,
        filter_id=save_filter(actor=god, name=f"{name} filter", query="view=mine", shared=True).pk,
        report_id=keep_report(actor=answers, action="claim", query="view=mine", results=[BulkResult(task.pk, task)]).pk,
        template=f"{name}-approval",
        draft=f"{name}-idea",
        person=people[2].username,
        uidb64=urlsafe_base64_encode(force_bytes(people[2].pk)),
        worker=people[3].username,
        free_task_id=only_task(cases[1]).pk,
    )
    question = TaskQuestion.objects.create(
        tenant=tenant,
        instance=cases[1],
        task=only_task(cases[1]),
        text=f"Which one of {name}?",
        asked_by_name=god.name,
        asked_of_id=people[2].pk,
        asked_of_name=people[2].username,
        asked_at=database_now(),
        opened_at=database_now(),
    )
    rows.named["question_id"] = question.pk
    rows.named["batch_id"] = PendingAnswer.objects.create(
        tenant=tenant,
        task=only_task(cases[1]),
        person=people[2],
        batch_id=uuid7(),
        outcome="approve",
        values={"note": f"an answer of {name}"},
        form_hash="",
        given_at=database_now(),
        due_at=database_now() + timedelta(hours=1),
    ).batch_id
    rows.pk.update(_pages_of(tenant, people, cases[0], broken, active, draft))
    rows.named.update(_set_up(tenant, god, rows))
    rows.named.update(_files_of_requests(tenant, people[2], active, cases[0]))
    return rows


def _files_of_requests(tenant: Tenant, person: User, version: TemplateVersion, case: Instance) -> dict[str, Any]:
    """Leave a start form that was begun, with a file, and a file that came with a case."""
    at = database_now()
    draft = StartDraft.objects.create(
        tenant=tenant, template_id=version.template_id, owner_id=person.pk, number="begun1", saved_at=at
    )
    made = {}
    for name, of in (("draft_file_id", {"draft": draft}), ("file_id", {"instance": case})):
        pk, content = uuid7(), f"a request's file of {tenant.name}".encode()
        sha256 = keep(file_path(tenant.pk, pk), content)
        CaseFile.objects.create(
            id=pk, tenant=tenant, name=f"{tenant.name}.txt", content_type="text/plain", size=len(content), sha256=sha256,
            added_by_id=person.pk, added_by_name=person.username, added_at=at, **of,
        )  # fmt: skip
        made[name] = pk
    return made


def _begun_task(actor: Actor, case: Instance, name: str) -> Task:
    task = claim_task(actor=actor, task_id=only_task(case).pk)
    save_task_draft(actor=actor, task_id=task.pk, values={"note": f"begun in {name}"})
    comment_task(actor=actor, task_id=task.pk, text=f"said in {name}")
    return task


def _pages_of(
    tenant: Tenant, people: dict[int, User], case: Instance, broken: Instance, active: TemplateVersion, draft: Any
) -> dict[str, Any]:
    """Return the key of one row for every page of the admin."""
    god = actor_of(people[5])
    token, _ = create_token(actor=None, person=people[2], name=f"{tenant.name}-token")
    role = create_role(actor=god, tenant=tenant, name=f"{tenant.name}-role")
    schedule = create_schedule(actor=god, template=active.template.name, cron="0 9 * * 1", input={"amount": 5})
    at = database_now()
    signal = Signal.objects.create(tenant=tenant, instance=case, type="TimerDue", occurred_at=at, due_at=at)
    act: BulkAct = begin_bulk_act(actor=god, action="suspend", subject_ids=[case.pk], reason=f"{tenant.name} reason")
    return {
        "accounts.tenant": tenant.pk,
        "accounts.user": people[2].pk,
        "accounts.role": role.pk,
        "accounts.token": token.pk,
        "token_key": token.token_key,
        "engine.template": active.template_id,
        "engine.templateversion": active.pk,
        "draft": draft.pk,
        "engine.instance": case.pk,
        "incident": broken.pk,
        "engine.task": only_task(case).pk,
        "engine.signal": signal.pk,
        "engine.deadletter": _letter(tenant, broken).pk,
        "engine.bulkact": act.pk,
        "engine.audit": Audit.objects.filter(tenant=tenant, subject_id=case.pk)[0].pk,
        "engine.schedule": schedule.pk,
        "engine.retentionrule": set_retention(actor=god, completed_for="P9Y").pk,
    }


def _letter(tenant: Tenant, case: Instance) -> DeadLetter:
    at = database_now()
    envelope = {
        "id": str(uuid7()), "type": "TimerDue", "expected_version": None, "waiting_token": 99,
        "occurred_at": at.isoformat(), "payload": {"of": tenant.name},
    }  # fmt: skip
    reason = f"{tenant.name} broke"
    return DeadLetter.objects.create(tenant=tenant, instance=case, envelope=envelope, reason=reason, node="n", at=at)


def _told(tenant: Tenant, god: Actor, rows: Rows) -> dict[str, Any]:
    """Let a person be told by mail, which came back, in a browser, by a link, and their role in a chat."""
    person, now = User.objects.get(username=rows.named["person"]), database_now()
    role = Role.objects.get(pk=rows.pk["accounts.role"])
    chat = set_role_chat(actor=god, role=role.name, chat="slack", address=f"https://hooks.{tenant.name}.example/chat")
    assert chat is not None
    message = Notification.objects.create(
        tenant=tenant, person=person, kind="mentioned", channel="mail", key="one", text=f"said at {tenant.name}",
        status="failed", due_at=now, created_at=now, sent_at=now, error=f"{tenant.name} is full",
    )  # fmt: skip
    bounce = {"bounced_at": now, "bounced_address": person.email, "bounce": f"{tenant.name} is full"}
    NotificationSettings.objects.create(tenant=tenant, person=person, **bounce)
    PushSubscription.objects.create(
        tenant=tenant, person=person, endpoint=f"https://push.{tenant.name}.example/1", created_at=now
    )
    ListSettings.objects.create(tenant=tenant, person_id=person.pk, columns={"mine": ["reference"]})
    link_token(person=person, task=Task.objects.get(pk=rows.named["task_id"]))
    return {"engine.rolechat": chat.pk, "engine.notification": message.pk}


def _set_up(tenant: Tenant, god: Actor, rows: Rows) -> dict[str, Any]:
    name = tenant.name
    secret = put_secret(actor=god, name=f"{name}_key", value=f"{name}-hush")
    calendar = put_calendar(actor=god, name=f"{name}_office", content={"hours": {"mon": ["09:00-17:00"]}})
    webhook, _ = create_webhook(
        actor=god, url=f"https://hooks.{name}.example/in", events=["task.opened"], title=f"{name} hook"
    )
    delivery = ping_webhook(actor=god, webhook_id=webhook.pk)
    away = Absence.objects.create(
        tenant=tenant,
        person=User.objects.get(username=rows.named["person"]),
        starts_at=AWAY,
        ends_at=AWAY + timedelta(days=1),
        entered_by=god.name,
    )
    rows.pk.update(
        {
            "accounts.absence": away.pk,
            "engine.secret": secret.pk,
            "engine.businesscalendar": calendar.pk,
            "engine.webhook": webhook.pk,
            "engine.webhookdelivery": delivery.pk,
            **_told(tenant, god, rows),
        }
    )
    return {
        "secret": secret.name,
        "calendar": calendar.name,
        "role": Role.objects.get(pk=rows.pk["accounts.role"]).name,
        "key": rows.pk["token_key"],
        "schedule_id": rows.pk["engine.schedule"],
        "letter_id": rows.pk["engine.deadletter"],
        "webhook_id": webhook.pk,
        "delivery_id": delivery.pk,
        "act_id": rows.pk["engine.bulkact"],
        "absence_id": rows.pk["accounts.absence"],
    }
