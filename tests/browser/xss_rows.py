"""One row, at least, of every table that keeps texts, and the addresses of the pages that show them.

Rows are written as they are, past the services, and none of them is due: workers of a running product leave them alone.
The XSS tests need them because a field without a row takes no payload, and a payload on no page proves nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.contrib import admin
from django.db import models
from django.urls import reverse
from django.utils import timezone

from engine.admin.authoring.pages import TABS as VERSION_TABS
from engine.admin.instance_page import TABS as INSTANCE_TABS
from engine.kernel.tasks.rules import SEVERAL
from engine.models import (
    Audit,
    BulkAct,
    BulkReport,
    BulkRow,
    BusinessCalendar,
    CaseFile,
    DeadLetter,
    DeliveryAttempt,
    Diagram,
    Effect,
    Erasure,
    Event,
    HeldReference,
    HostLock,
    IdempotencyKey,
    Instance,
    JournalRow,
    KeptSignal,
    ListSettings,
    Notification,
    NotificationSettings,
    PendingAnswer,
    Place,
    PushSubscription,
    Rate,
    RetentionRule,
    RetentionRun,
    RoleChat,
    RuntimeState,
    SavedFilter,
    Schedule,
    ScheduleFire,
    Secret,
    Signal,
    StartDraft,
    StoredStepRun,
    Task,
    TaskAttachment,
    TaskComment,
    TaskDraft,
    TaskEvent,
    TaskQuestion,
    Template,
    TemplateVersion,
    Turn,
    Wait,
    Webhook,
    WebhookDelivery,
)
from engine.models.base import NEVER
from engine.models.notification import KINDS
from engine.services.instances.lifecycle import start_instance
from engine.services.people.accounts import create_person
from engine.services.people.tokens import create_token
from engine.services.tasks.lifecycle import claim_task, complete_task
from engine.services.templates.versions import activate_version, save_draft
from tests.browser.payloads import PAYLOADS, authored
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.models import Absence, Kind, Role, SignInTally, Tenant, Token, User

ERROR = {"code": "broken", "class": "call", "message": "a message", "step": "look", "details": {"more": "a detail"}}
FINDING = {
    "code": "odd",
    "severity": "warning",
    "message": "a message",
    "line": 1,
    "column": 1,
    "path": "steps",
    "hint": "a hint",
}


def seed_rows(actor: Actor) -> list[str]:
    """Write the rows for a person of level 5; return the addresses of their pages."""
    now = timezone.now()
    assert actor.person_id is not None
    version = _write_template(actor)
    begun = [start_instance(actor=actor, template="marked", input={"free": PAYLOADS[n]}).instance for n in range(5)]
    offered, claimed, answered, failed, shared = begun
    _change_tasks(actor, claimed, answered, shared)
    for instance in begun:
        _write_instance(instance, now)
    Instance.objects.filter(pk=failed.pk).update(status="incident")
    Wait.objects.filter(instance=offered, token=900).update(kind="task", opened_at=now - timedelta(days=9))
    rows = [
        _write_bulk_act(actor, failed, now),
        _write_schedule(actor, version, now),
        *_write_webhook(actor, now),
        *_write_settings(actor, now),
        *_write_people(actor, now),
        *_write_messages(actor, offered, claimed, now),
        *Signal.objects.filter(instance=claimed),
        *DeadLetter.objects.filter(instance=claimed),
        *Audit.objects.filter(subject_id=claimed.pk),
    ]
    _write_ledgers(actor, version, claimed, now)
    TemplateVersion.objects.filter(template=version.template).update(findings=[FINDING])
    TemplateVersion.objects.filter(template=version.template).exclude(pk=version.pk).update(unavailable="a reason")
    return [*_pages_of_rows(rows), *_pages_of_versions(version), *_pages_of_instances(begun)]


def _write_template(actor: Actor) -> TemplateVersion:
    """Write three versions of a template full of payloads: archived, active, and a draft that is not clean."""
    for number in (1, 2):
        save_draft(actor=actor, source=authored(number))
        activate_version(actor=actor, name="marked", number=number)
    save_draft(actor=actor, source=authored().replace("task:", "task:\n      roles: [nobody_holds_it]", 1))
    active = TemplateVersion.objects.get(tenant_id=actor.tenant_id, template__name="marked", number=2)
    Template.objects.filter(pk=active.template_id).update(description="a text", tags=["a tag"])
    return active


def _change_tasks(actor: Actor, claimed: Instance, answered: Instance, shared: Instance) -> None:
    """Claim one task, answer another, let several people answer a third, and let every text of a task hold something."""
    now = timezone.now()
    claim_task(actor=actor, task_id=Task.objects.get(instance=claimed).pk)
    point = Task.objects.get(instance=answered).checklist[0].id
    answer = {"note": "a note", "sure": True}
    complete_task(
        actor=actor, task_id=Task.objects.get(instance=answered).pk, outcome="ok", values=answer, ticked=[point]
    )
    for task in Task.objects.filter(instance__template__name="marked"):
        Task.objects.filter(pk=task.pk).update(
            type="a type", route="a route", iteration="1", users=["uri"], business_reference="a reference",
            payload={"fact": "a value", "list": ["an entry"]}, excluded=["sam"], familiar=[actor.name], answered_by=["stan"],
            owner="an owner", ticked=[{"id": point, "by": "ada", "at": now.isoformat()}],
            comment="a comment" if task.is_over else "",
        )  # fmt: skip
        _write_task_work(actor, task, now)
    Task.objects.filter(instance=answered).update(completed_for_name="ada")
    Task.objects.filter(instance=claimed).update(waiting_for_name="ada", waiting_since=now)
    # People who are named in a task must exist to see its form: these two name nobody.
    Task.objects.filter(instance__in=(claimed, shared)).update(users=[], excluded=[], familiar=[])
    several = Task.objects.get(instance=shared)
    Task.objects.filter(pk=several.pk).update(extra={**several.extra, SEVERAL: True})


def _write_task_work(actor: Actor, task: Task, now: datetime) -> None:
    """Write a draft, a comment and a file."""
    own = {"tenant_id": task.tenant_id, "task": task}
    TaskDraft.objects.create(
        **own, values={"note": "a note"}, outcome="ok", comment="a comment", saved_by_name=actor.name, saved_at=now
    )
    TaskComment.objects.create(**own, instance=task.instance, text="a text", author_name="ada", at=now)
    TaskQuestion.objects.create(
        **own, instance=task.instance, text="a question", asked_by_id=actor.person_id, asked_by_name="ada",
        asked_of_id=actor.person_id, asked_of_name="ada", asked_at=now,
    )  # fmt: skip
    TaskQuestion.objects.create(
        **own, instance=task.instance, text="a question", asked_by_id=actor.person_id, asked_by_name="ada",
        asked_of_id=actor.person_id, asked_of_name="ada", asked_at=now, answer="an answer", answered_by_name="ada",
        ended_at=now,
    )  # fmt: skip
    TaskAttachment.objects.create(
        **own, instance=task.instance, name="a.txt", content_type="text/plain", size=1, sha256="0" * 64,
        added_by_name="ada", added_at=now,
    )  # fmt: skip
    draft = StartDraft.objects.create(
        tenant_id=task.tenant_id, template=task.version.template, owner_id=actor.person_id, number=task.pk.hex,
        values={"free": "a value"}, saved_at=now,
    )  # fmt: skip
    for of in ({"draft": draft}, {"instance": task.instance}):
        CaseFile.objects.create(
            tenant_id=task.tenant_id, name="a.txt", content_type="text/plain", size=1, sha256="0" * 64,
            added_by_name="ada", added_at=now, **of,
        )  # fmt: skip
    TaskEvent.objects.create(
        **own, instance=task.instance, kind="assigned", at=now, actor_name="ada", cause="a cause", old={"name": "a value"},
        new={"name": "a value"},
    )  # fmt: skip


def _write_instance(instance: Instance, now: datetime) -> None:
    """Fill in what an instance may keep, and write its steps, waits, calls, signals and dead letters."""
    own = {"tenant_id": instance.tenant_id, "instance": instance}
    words = {"step": "look", "path": "steps/look", "iteration": "1"}
    Instance.objects.filter(pk=instance.pk).update(
        reference=f"MARK-{instance.pk}", title="a title", reference_parts={"part": "a value"}, outcome="an outcome", error=ERROR,
        state={"key": "a value"}, output={"key": "a value"}, started_by_name="ada",
    )  # fmt: skip
    RuntimeState.objects.filter(pk=instance.pk).update(
        business_reference="a reference", resume_pointer={"key": "a value"}, last_error_code="broken",
        last_error_json=ERROR, last_executed_by="a host",
    )  # fmt: skip
    for run, status in enumerate(("failed", "skipped"), 900):
        StoredStepRun.objects.create(
            **own, **words, run=run, kind="http", status=status, started_at=now, ended_at=now, reason="a reason",
            input={"key": "a value"}, output={"key": "a value"}, error=ERROR if status == "failed" else None,
        )  # fmt: skip
    if not Instance.objects.get(pk=instance.pk).is_over:
        Wait.objects.create(
            **own, **words, token=900, kind="signal", run=900, name="a name", key="a key", opened_at=now
        )
    Effect.objects.create(
        **own, token=901, path="steps/look", transport="http", request={"url": "a url"}, key="a key", status="failed",
        result={"key": "a value"}, intended_at=now, ended_at=now,
    )  # fmt: skip
    Signal.objects.create(**own, type="ExternalSignal", occurred_at=now, due_at=NEVER, payload={"key": "a value"})
    envelope = {"type": "ExternalSignal", "payload": {"key": "a value"}, "sender": "a sender"}
    DeadLetter.objects.create(**own, envelope=envelope, reason="a reason", node="a host", at=now)
    for seq, kind, subject in (
        (900, "instance", instance.pk),
        (instance.audit_seq + 900, "tenant", instance.tenant_id),
    ):
        JournalRow.objects.get_or_create(
            tenant_id=instance.tenant_id, subject_kind=kind, subject_id=subject, seq=seq,
            defaults={
                "at": now, "actor_name": "ada", "action": "change_tenant", "step": "look", "iteration": "1",
                "cause": "a cause", "old": {"key": "a value"}, "new": {"key": "a value"}, "hash": "0" * 64,
            },
        )  # fmt: skip
    Place.objects.create(**own, run=900, key="a key", most=1, asked_at=now, let_in_at=now)


def _write_bulk_act(actor: Actor, instance: Instance, now: datetime) -> BulkAct:
    """Write an operation that was stopped, with a refused row."""
    act = BulkAct.objects.create(
        tenant_id=actor.tenant_id, action="skip", reason="a reason", arguments={"output": "a value"}, total=1,
        started_by_id=actor.person_id, started_by_name=actor.name, started_at=now, ended_at=now, stopped_by_name="ada",
    )  # fmt: skip
    BulkRow.objects.create(
        tenant_id=actor.tenant_id, bulk_act=act, place=1, subject_id=instance.pk, subject_name="a name", status="refused",
        message="a message", at=now,
    )  # fmt: skip
    return act


def _write_schedule(actor: Actor, version: TemplateVersion, now: datetime) -> Schedule:
    """Write a paused schedule that skipped a slot."""
    schedule = Schedule.objects.create(
        tenant_id=actor.tenant_id, template=version.template, status="paused", cron="0 9 * * 1", input={"free": "a value"},
        owner_id=actor.person_id, owner_name=actor.name,
    )  # fmt: skip
    ScheduleFire.objects.create(
        tenant_id=actor.tenant_id, schedule=schedule, slot=now, outcome="skipped", reason="a reason", at=now
    )
    return schedule


def _write_webhook(actor: Actor, now: datetime) -> list[models.Model]:
    """Write a disabled webhook and a delivery that failed."""
    webhook = Webhook.objects.create(
        tenant_id=actor.tenant_id, title="a title", url="https://hooks.example/in", events=["task.opened"],
        templates=["marked"], status="disabled", reason="a reason", owner_id=actor.person_id, owner_name=actor.name,
        secret=b"0", after_xid=0, after_id=0,
    )  # fmt: skip
    delivery = WebhookDelivery.objects.create(
        tenant_id=actor.tenant_id, webhook=webhook, event="task.opened", body='{"type": "x", "data": {"title": "a title"}}',
        status="failed", due_at=NEVER, created_at=now, ended_at=now,
    )  # fmt: skip
    DeliveryAttempt.objects.create(
        tenant_id=actor.tenant_id, delivery=delivery, number=1, began_at=now, ended_at=now, status=500, error="an error",
        answer="an answer",
    )  # fmt: skip
    return [webhook, delivery]


def _write_settings(actor: Actor, now: datetime) -> list[models.Model]:
    """Write a calendar, a secret, a retention rule with its last run, a saved filter, and the tenant's origins."""
    own = {"tenant_id": actor.tenant_id}
    Tenant.objects.filter(pk=actor.tenant_id).update(http_allow=["https://api.example"])
    RetentionRun.objects.create(
        **own, began_at=now, ended_at=now, asked_by="ada", error="an error", counts={"audit": 1}
    )
    Absence.objects.create(
        **own, person_id=actor.person_id, starts_at=now + timedelta(days=30), ends_at=now + timedelta(days=31),
        roles=["a role"], templates=["a template"], note="a note", entered_by="ada",
    )  # fmt: skip
    SavedFilter.objects.create(
        **own,
        owner_id=actor.person_id,
        owner_name=actor.name,
        name="a name",
        query="view=open",
        shared=True,
        created_at=now,
    )
    ListSettings.objects.create(**own, person_id=actor.person_id, start_view="mine", columns={"mine": ["column.note"]})
    BulkReport.objects.create(
        **own,
        person_id=actor.person_id,
        action="claim",
        query="view=mine",
        results=[{"task": str(actor.tenant_id), "code": "four_eyes", "message": "a message"}],
        done=0,
        left=1,
        created_at=now,
    )
    content = {"timezone": "UTC", "hours": {"mon": ["09:00-17:00"]}, "holidays": ["2030-01-01"], "half_days": {}}
    return [
        BusinessCalendar.objects.create(**own, name="marked_office", title="a title", content=content),
        Secret.objects.create(
            **own, name="marked_key", ciphertext=b"0", origins=["https://api.example"], changed_by_name="ada"
        ),
        RetentionRule.objects.filter(**own).first() or RetentionRule.objects.create(**own, completed_for="P9Y"),
    ]


def _write_people(actor: Actor, now: datetime) -> list[models.Model]:
    """Write a service account with a token, and a person whose address was changed and who is to be erased."""
    tenant = Tenant.objects.get(pk=actor.tenant_id)
    robot = create_person(actor=actor, tenant=tenant, name="marked_robot", level=2, kind=Kind.SERVICE)
    person = create_person(actor=actor, tenant=tenant, name="marked_person", level=2, email="m@acme.example")
    User.objects.filter(pk__in=(robot.pk, person.pk)).update(
        full_name="a name", same_eyes=["ada"], made_by="ada", email_changed_by="ada", email_changed_at=now
    )
    Erasure.objects.create(
        tenant=tenant, person_id=person.pk, pseudonym="a pseudonym", reason="a reason", asked_by_name="ada", asked_at=now,
        counts={"people": 1},
    )  # fmt: skip
    token, _ = create_token(actor=actor, person=robot, name="a token")
    Token.objects.filter(pk=token.pk).update(used_from=["127.0.0.1"], made_by="ada")
    return [tenant, robot, person, token, tenant.roles.all()[0]]


def _write_messages(actor: Actor, offered: Instance, claimed: Instance, now: datetime) -> list[models.Model]:
    """Write a message of each kind, where they go, a chat that failed, and an answer that was kept and refused."""
    own = {"tenant_id": actor.tenant_id, "person_id": actor.person_id}
    told = [
        Notification.objects.create(
            **own, kind=kind, channel="mail", key=f"a key {kind}", task=Task.objects.get(instance=about), instance=about,
            actor_name="ada", text="a text", error="an error", status="failed", due_at=NEVER, created_at=now,
        )
        for kind in KINDS for about in [offered if kind == "offered" else claimed]
    ]  # fmt: skip
    NotificationSettings.objects.create(
        **own,
        mail={"assigned": "daily"},
        push=["assigned"],
        bounced_at=now,
        bounced_address="an address",
        bounce="a word",
    )
    other = User.objects.get(username="marked_person")
    NotificationSettings.objects.create(
        tenant_id=actor.tenant_id, person=other, bounced_at=now, bounced_address="an address", bounce="a word"
    )
    PushSubscription.objects.create(
        **own, endpoint="https://push.example/1", public_key="0", auth="0", browser="a browser", created_at=now
    )
    PendingAnswer.objects.create(
        **own, task=Task.objects.get(instance=claimed), batch_id=actor.tenant_id, outcome="ok", values={"note": "a note"},
        comment="a comment", ticked=["a point"], given_at=now, due_at=NEVER, refused_at=now, refusal="a refusal",
        refusal_text="a reason",
    )  # fmt: skip
    role = Role.objects.filter(tenant_id=actor.tenant_id).order_by("name").first()
    chat = RoleChat.objects.create(
        tenant_id=actor.tenant_id, role=role, chat="teams", address=b"0", failed_at=now, failure="a failure"
    )
    return [*told[:2], chat]


def _write_ledgers(actor: Actor, version: TemplateVersion, instance: Instance, now: datetime) -> None:
    """Write one row of each table that only the engine reads."""
    own = {"tenant_id": actor.tenant_id}
    later = now + timedelta(days=9)
    HeldReference.objects.create(**own, template=version.template, reference="a reference", instance=instance)
    HostLock.objects.create(name="marked", holder="a host", acquired_at=now, expires_at=later)
    IdempotencyKey.objects.create(
        **own,
        actor_id=actor.person_id,
        route="a route",
        key="a key",
        body_sha256="0",
        status=200,
        answer={"key": "a value"},
    )
    KeptSignal.objects.create(
        **own, name="a name", key="a key", payload={"key": "a value"}, sent_by_name="ada", sent_at=now, expires_at=later
    )
    Event.objects.create(
        **own, kind="event", name="a name", external_id="1", key="a key", payload={"key": "a value"},
        answer={"key": "a value"}, actor_name="ada", at=now,
    )  # fmt: skip
    Rate.objects.create(**own, key="a key", free_at=now)
    Turn.objects.create(**own, template=version.template, step="look", person_name="ada")
    SignInTally.objects.create(key="a key", at=now)
    Diagram.objects.get_or_create(**own, version=version, defaults={"sha256": "0", "made_with": "a drawer"})


def _pages_of_rows(rows: Iterable[models.Model]) -> list[str]:
    """Return the lists of the admin, and the page and the history of each row."""
    lists = [
        reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist") for model in admin.site._registry
    ]
    names = [(f"admin:{row._meta.app_label}_{row._meta.model_name}", row.pk) for row in rows]
    own = [reverse(f"{name}_{page}", args=[pk]) for name, pk in names for page in ("change", "history")]
    return [*lists, *own, reverse("admin:engine_incidents"), reverse("admin:engine_workers")]


def _pages_of_versions(active: TemplateVersion) -> list[str]:
    versions = TemplateVersion.objects.filter(template=active.template)
    names = [name for name, _ in VERSION_TABS]
    return [
        *(
            reverse(f"admin:engine_templateversion_{name}", args=[one.pk])
            for one in versions
            for name in (*names, "history")
        ),
        reverse("inbox:start_form", args=["marked"]),
    ]


def _pages_of_instances(instances: Iterable[Instance]) -> list[str]:
    """Return every tab of an instance, its tasks, and both in the inbox."""
    pages = ["/inbox/", "/inbox/?view=team", "/inbox/started/", "/inbox/start/", "/inbox/questions/", "/inbox/away/"]
    pages += [reverse("inbox:change_away", args=[absence.pk]) for absence in Absence.objects.all()]
    pages += [reverse("inbox:notifications"), reverse("inbox:filters"), reverse("inbox:bulk_reports")]
    pages += [reverse("inbox:change_filter", args=[saved.pk]) for saved in SavedFilter.objects.all()]
    pages += [reverse("inbox:bulk_report", args=[report.pk]) for report in BulkReport.objects.all()]
    for instance in instances:
        own = reverse("admin:engine_instance_change", args=[instance.pk])
        pages += [f"{own}?tab={tab}&timeline=whole" for tab in INSTANCE_TABS]
        pages += [reverse("admin:engine_instance_history", args=[instance.pk])]
        pages += [reverse(f"inbox:{name}", args=[instance.pk]) for name in ("instance", "print")]
        for task in Task.objects.filter(instance=instance):
            pages += [reverse("admin:engine_task_change", args=[task.pk]), reverse("inbox:task", args=[task.pk])]
    return pages
