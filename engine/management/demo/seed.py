"""Fill an empty platform with tenants, people, templates and cases, through the same services that everyone uses.

An advisory lock lets one process work at a time. Each transaction is complete in itself: after an interruption the next run
creates what is missing, down to the last deed. The last case marks the demo as complete: once it exists nothing is created
again, whatever people change or delete.
"""

import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime, timedelta
from secrets import token_urlsafe
from typing import Any

from django.db import connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from engine.audit.chain import database_now
from engine.audit.cursor import settled_position
from engine.db.advisory_locks import TRY_LOCK, lock_name
from engine.errors import Conflict
from engine.gallery import gallery
from engine.management.demo.clock import shifted_clock
from engine.management.demo.past import past_stories
from engine.management.demo.player import play, play_past
from engine.management.demo.stories import acme_stories, globex_stories, last_acme_stories, mark_story
from engine.models import Instance, Schedule, Template, Webhook
from engine.services.people.absences import enter_absence, list_absences
from engine.services.people.accounts import change_manager, create_person
from engine.services.people.tenants_and_roles import create_role, create_tenant
from engine.services.schedules.lifecycle import create_schedule
from engine.services.templates.versions import activate_version, save_draft
from engine.services.tenants.settings import list_calendars, list_secrets, put_calendar, put_secret
from engine.services.webhooks.deliveries import collect
from engine.services.webhooks.subscriptions import create_webhook, list_webhooks, pause_webhook
from workflowplatform.accounts.actor import Actor, actor_of
from workflowplatform.accounts.models import Role, Tenant, User
from workflowplatform.database.tenancy import acting_for
from workflowplatform.servers.demo_people import PEOPLE

LOCK = lock_name("demo")
ASK_AGAIN = 0.1

TENANTS = {"acme": "Acme", "globex": "Globex", "platform": "Platform"}
MORE_ROLES = {"accounting": "Accounting", "sales": "Sales", "engineering": "Engineering"}
"""Roles to which the gallery offers work, besides those that every tenant has from the start."""
ROLES = {
    "ada": ("finance", "support", "accounting", "engineering"),
    "adam": ("hr", "management", "sales"),
    "mira": ("finance", "accounting", "hr"),
    "jonas": ("support", "engineering", "management", "sales"),
    "sam": ("management", "finance", "hr", "support"),
    "stan": ("management", "finance", "hr", "support"),
}
LEADS = {
    "gwen": {"ada": "gwen", "adam": "gwen", "mira": "ada", "jonas": "adam", "uri": "ada"},
    "sam": {"stan": "sam"},
}
"""Managers, by the head of the organisation who names them. Nobody manages Gwen, Sam and Zoe."""
DEPUTIES = {"ada": ("finance", "accounting"), "adam": ("hr",)}
"""Deputies of Mira while she is away, and for which of her roles."""
AWAY = (timedelta(days=-1), timedelta(days=11))
WRITTEN_BEFORE = timedelta(days=60)
GLOBEX_TEMPLATES = ("expense-approval", "leave-request", "equipment-repair")
BEFORE = {"expense-approval": ("due: P2D", "due: P5D")}
AFTER = {"travel-request": ("roles: [management]", "roles: [board]")}
"""What an archived version said, and what an author is trying in a draft: words to replace, by template."""
LEDGER: Mapping[str, Any] = {
    "title": "Ledger of the finance team",
    "url": "https://ledger.acme.example/hooks",
    "events": ["instance.started", "instance.incident", "task.completed"],
}
"""A paused webhook: its address cannot exist. What it would send can be looked at, and nothing fails."""
OFFICE = {
    "timezone": "Europe/Berlin",
    "hours": {day: ["09:00-17:00"] for day in ("mon", "tue", "wed", "thu", "fri")},
}
CHECK = {"device": "Fire extinguishers", "problem": "The monthly check.", "place": "All floors"}
HASHERS = 2
"""Passwords hashed side by side: hashing is most of the work, and it leaves Python free."""


def furnish() -> bool:
    """Create the demo; return False when it is there already."""
    with _alone():
        if Instance.objects.filter(tenant__name="acme", reference=mark_story().reference).exists():
            return False
        with ThreadPoolExecutor(max_workers=HASHERS) as pool:
            _furnish_with(People(pool))
    return True


def _furnish_with(people: "People") -> None:
    _furnish_past(people)
    _make_settings(people.actor("gwen"), people.actor("ada"))
    play(acme_stories(), people.actor)
    play(globex_stories(), people.actor)
    since = settled_position().xid
    play(last_acme_stories(), people.actor, finish=False)
    _make_webhook(people.actor("gwen"), since)
    play([mark_story()], people.actor, finish=False)


def _furnish_past(people: "People") -> None:
    """Write the templates two months ago, and play what people asked for in the last thirty days."""
    now = database_now()
    with shifted_clock() as clock:
        clock.set(now - WRITTEN_BEFORE)
        _make_templates(people.actor("gwen"), gallery())
        _make_templates(people.actor("sam"), {name: gallery()[name] for name in GLOBEX_TEMPLATES})
        people.wait_for_all()
        _make_leads(people)
        play_past(past_stories(now), people.actor, clock, now)
        clock.set(now - timedelta(days=2))
        _make_absences(people, now)


@contextmanager
def _alone() -> Iterator[None]:
    """Admit one process at a time, by the lock of a transaction that does nothing else; it is freed when the process dies.

    Behind a pooler only a transaction has a session for itself. It polls instead of waiting inside the database, where a wait
    for a lock is bounded.
    """
    lock_holder = connection.copy()
    try:
        lock_holder.set_autocommit(False)
        while not _is_let_in(lock_holder):
            time.sleep(ASK_AGAIN)
        yield
    finally:
        lock_holder.close()


def _is_let_in(lock_holder: BaseDatabaseWrapper) -> bool:
    with lock_holder.cursor() as cursor:
        cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        cursor.execute(TRY_LOCK, [LOCK])
        return bool(cursor.fetchone()[0])


# People and templates


class People:
    """The demo's people, made in the background: hashing their passwords takes as long as all the rest."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        there = _names_taken()
        tenants = {name: _tenant(name, title) for name, title in TENANTS.items()}
        _make_roles(tenants["acme"])
        self._made = {
            name: pool.submit(_make_person_there, tenants[tenant], name, level)
            for name, tenant, level, _ in PEOPLE
            if name not in there
        }
        self._actors: dict[str, Actor] = {}

    def actor(self, name: str) -> Actor:
        """Return a person as the one who acts, as soon as they are there."""
        if name not in self._actors:
            if name in self._made:
                self._made[name].result()
            self._actors[name] = actor_of(User.objects.get(username=name))
        return self._actors[name]

    def wait_for_all(self) -> None:
        """Return when everybody is there."""
        for made in self._made.values():
            made.result()


def _names_taken() -> set[str]:
    """Return the demo names that exist; refuse if one of them belongs to another tenant."""
    homes = {name: tenant for name, tenant, *_ in PEOPLE}
    taken = dict(User.objects.filter(username__in=homes).values_list("username", "tenant__name"))
    for name, tenant in taken.items():
        if tenant != homes[name]:
            raise Conflict(f"The demo needs the name {name}, but a person in {tenant} has it.", code="name")
    return set(taken)


def _tenant(name: str, title: str) -> Tenant:
    return Tenant.objects.filter(name=name).first() or create_tenant(actor=None, name=name, title=title)


def _make_roles(tenant: Tenant) -> None:
    there = set(Role.objects.filter(tenant=tenant).values_list("name", flat=True))
    for name, title in MORE_ROLES.items():
        if name not in there:
            create_role(actor=None, tenant=tenant, name=name, title=title)


def _make_person_there(tenant: Tenant, name: str, level: int) -> None:
    """Set the tenant in the pool's thread, which does not inherit it from the thread that started it."""
    with acting_for(tenant.pk):
        _make_person(tenant, name, level)


def _make_person(tenant: Tenant, name: str, level: int) -> None:
    """Create one person in a thread of the pool, which has a connection of its own."""
    try:
        create_person(
            actor=None,
            tenant=tenant,
            name=name,
            level=level,
            roles=ROLES.get(name, ()),
            password=f"demo-{name}",
            email=f"{name}@{tenant.name}.example",
        )
    finally:
        connection.close()


@transaction.atomic
def _make_templates(actor: Actor, sources: Mapping[str, str]) -> None:
    """Create and activate the templates that the author's tenant does not have yet."""
    there = set(Template.objects.filter(tenant_id=actor.tenant_id).values_list("name", flat=True))
    for name, source in sources.items():
        if name not in there:
            _make_versions(actor, name, source)


def _make_versions(actor: Actor, name: str, source: str) -> None:
    """Activate a template; some have an archived version before it, or a draft with findings after it."""
    for text in (*_changed(source, BEFORE.get(name)), source):
        version = save_draft(actor=actor, source=text)
        activate_version(actor=actor, name=name, number=version.number)
    for text in _changed(source, AFTER.get(name)):
        save_draft(actor=actor, source=text)


@transaction.atomic
def _make_settings(author: Actor, operator: Actor) -> None:
    """Write a calendar and a secret, and let the clock start a check of the equipment once a month."""
    if not list_calendars(actor=author).exists():
        put_calendar(actor=author, name="office", content=OFFICE, title="Office hours")
    if not list_secrets(actor=author).exists():
        put_secret(actor=author, name="bank_key", value=token_urlsafe(24), origins=["https://bank.acme.example"])
    if not Schedule.objects.filter(tenant_id=author.tenant_id).exists():
        create_schedule(
            actor=operator, template="equipment-repair", cron="0 8 1 * *", timezone="Europe/Berlin", input=CHECK
        )


@transaction.atomic
def _make_leads(people: "People") -> None:
    for head, leads in LEADS.items():
        for person in User.objects.filter(username__in=leads, manager=None).order_by("username"):
            change_manager(actor=people.actor(head), person=person, manager=leads[person.username])


@transaction.atomic
def _make_absences(people: "People", now: datetime) -> None:
    """Send Mira away since yesterday; two colleagues stand in for her, each for some of her roles."""
    mira = people.actor("mira")
    if list_absences(actor=mira).exists():
        return
    first, last = ((now + days).date() for days in AWAY)
    for deputy, roles in DEPUTIES.items():
        enter_absence(
            actor=mira, person="mira", deputy=deputy, starts_at=first, ends_at=last, roles=list(roles), note="Holiday"
        )


@transaction.atomic
def _make_webhook(author: Actor, since: int) -> None:
    """Create a webhook with the last events to send, and pause it in the same transaction, so that no worker ever sends them."""
    if list_webhooks(actor=author).exists():
        return
    webhook, _ = create_webhook(actor=author, **LEDGER)
    Webhook.objects.filter(pk=webhook.pk).update(after_xid=since)
    collect()
    pause_webhook(actor=author, webhook_id=webhook.pk)


def _changed(source: str, change: tuple[str, str] | None) -> list[str]:
    return [source.replace(*change)] if change else []
