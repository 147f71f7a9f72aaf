"""Bring the cast on stage, and sign its people in to the admin."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db.models import Model
from django.test import Client
from django.utils.html import strip_tags

from engine.audit.chain import database_now
from engine.models import Audit, DeadLetter, Instance, Notification, Signal, Task, TemplateVersion
from engine.services.instances.bulk_operations import begin_bulk_act
from engine.services.instances.lifecycle import start_instance
from engine.services.notifications.role_chats import set_role_chat
from engine.services.people.tokens import create_token
from engine.services.retention.purge import set_retention
from engine.services.schedules.lifecycle import create_schedule
from engine.services.templates.versions import activate_version, save_draft
from engine.services.tenants import settings as tenant_settings
from engine.services.webhooks.subscriptions import create_webhook, ping_webhook
from tests.cast import Cast, ada, adam, cast, committed_cast, gwen, sam, uri, zoe
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.models import Role

__all__ = ["ada", "adam", "cast", "committed_cast", "gwen", "sam", "uri", "zoe"]

EXPENSE = """\
workflow: expense
title: Expense approval
input:
  type: object
  required: [amount]
  properties:
    amount: {type: number}
reference: {key: "${'EXP-' + string(start.amount)}"}
steps:
  - id: band
    set: {band: "${start.amount > 1000 ? 'high' : 'low'}"}
  - id: review
    task:
      title: Review the expense
      roles: [finance]
      outcomes: {approve: {title: Approve}, reject: {title: Reject, reject: true}}
"""

BREAKS = """
workflow: breaks
title: Breaks
input: {type: object, properties: {over: {type: integer}}}
steps:
  - id: halve
    set: {half: "${100 / start.over}"}
  - id: after
    set: {done: true}
"""

SignIn = Callable[[str], Client]


@pytest.fixture
def sign_in(cast: Cast) -> SignIn:
    """Return a browser in which a person is signed in."""

    def signed_in(name: str) -> Client:
        client = Client()
        client.force_login(getattr(cast, name), backend="django.contrib.auth.backends.ModelBackend")
        return client

    return signed_in


@pytest.fixture
def expense(gwen: Actor) -> TemplateVersion:
    """Give Acme an active template."""
    save_draft(actor=gwen, source=EXPENSE)
    return activate_version(actor=gwen, name="expense", number=1)


@pytest.fixture
def case(ada: Actor, expense: TemplateVersion) -> Instance:
    """Give Acme an instance that waits for finance."""
    return start_instance(actor=ada, template="expense", input={"amount": 1200}).instance


@pytest.fixture
def task(case: Instance) -> Task:
    """Return the task that the instance waits for."""
    found: Task = case.tasks.get()  # type: ignore[attr-defined]
    return found


def words_of(response: Any) -> str:
    """Return a page as text."""
    return str(response.content.decode())


def sight_of(response: Any) -> str:
    """Return what a page says without its markup: a short name may be part of an id in a URL by chance."""
    return strip_tags(words_of(response))


def label(model: type[Model]) -> str:
    return model._meta.label_lower


@pytest.fixture
def acmes(cast: Cast, task: Task) -> dict[str, Model]:
    """Return one row of Acme's for every page of the admin."""
    instance = task.instance
    token, _ = create_token(actor=None, person=cast.ada, name="acmes-token")
    signal = Signal.objects.create(
        tenant=cast.acme,
        instance=instance,
        type="TimerDue",
        occurred_at=instance.started_at,
        due_at=instance.started_at,
    )
    letter = DeadLetter.objects.create(
        tenant=cast.acme, instance=instance, envelope={}, reason="acmes-letter", node="n", at=instance.started_at
    )
    gwen = cast.actor("gwen")
    kept: list[Model] = [
        begin_bulk_act(actor=gwen, action="suspend", subject_ids=[instance.pk], reason="acmes-reason"),
        create_schedule(actor=gwen, template=instance.template.name, cron="0 9 * * 1", input={"amount": 5}),
        set_retention(actor=gwen, completed_for="P9Y"),
        tenant_settings.put_secret(actor=gwen, name="acmes_key", value="acmes-value"),
        tenant_settings.put_calendar(actor=gwen, name="acmes_office", content={"hours": {"mon": ["09:00-17:00"]}}),
    ]
    webhook, _ = create_webhook(actor=gwen, url="https://acmes.example/in", events=["task.opened"], title="acmes-hook")
    kept += [webhook, ping_webhook(actor=gwen, webhook_id=webhook.pk)]
    now = database_now()
    message = Notification.objects.create(
        tenant=cast.acme, person=cast.ada, kind="mentioned", channel="mail", key="acmes-key", text="acmes-text",
        status="failed", due_at=now, created_at=now, sent_at=now, error="acmes-error",
    )  # fmt: skip
    chat = set_role_chat(actor=gwen, role="finance", chat="slack", address="https://hooks.acmes.example/chat")
    assert chat is not None
    rows: list[Model] = [
        *kept, message, chat,
        cast.acme, cast.ada, Role.objects.get(tenant=cast.acme, name="finance"), token, instance.template, instance.version,
        instance, task, signal, letter, Audit.objects.filter(subject_id=cast.ada.pk)[0],
    ]  # fmt: skip
    return {label(type(row)): row for row in rows}
