"""Furnish an empty house: tenants, people, templates and cases, all through the services that everybody uses.

One furnisher works at a time (an advisory lock), in transactions that are each whole: whoever is interrupted is
followed by one who makes what is missing, down to the last deed. The last case, started when all else is done, is the
mark that all is there; after it nothing is ever made again, whatever people change or take away.
"""

import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from django.db import connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from engine.audit.cursor import horizon
from engine.errors import Conflict
from engine.gallery import gallery
from engine.management.demo.player import tell
from engine.management.demo.stories import acme_stories, globex_stories, last_acme_stories, mark_story
from engine.models import Instance, Template, Webhook
from engine.services.people.accounts import create_person, create_role, create_tenant
from engine.services.templates.versions import activate_version, save_draft
from engine.services.webhooks.deliveries import collect
from engine.services.webhooks.subscriptions import create_webhook, list_webhooks, pause_webhook
from workflowplatform.accounts.actor import Actor, actor_of
from workflowplatform.accounts.models import Role, Tenant, User
from workflowplatform.database.tenancy import acting_for
from workflowplatform.servers.demo_people import PEOPLE

LOCK = 0x776F726B
"""Any number that nobody else locks."""
ASK_AGAIN = 0.1

TENANTS = {"acme": "Acme", "globex": "Globex", "house": "House"}
MORE_ROLES = {"accounting": "Accounting", "sales": "Sales", "engineering": "Engineering"}
"""What the gallery offers work to, beside the roles that every tenant has from the start."""
ROLES = {
    "ada": ("finance", "support", "accounting", "engineering"),
    "adam": ("hr", "management", "sales"),
    "sam": ("management",),
    "stan": ("finance", "hr", "support"),
}
GLOBEX_TEMPLATES = ("expense-approval", "leave-request", "equipment-repair")
BEFORE = {"expense-approval": ("due: P2D", "due: P5D")}
AFTER = {"travel-request": ("roles: [management]", "roles: [board]")}
"""What once was different, and what an author is trying: the words that change, by template."""
LEDGER: Mapping[str, Any] = {
    "title": "Ledger of the finance team",
    "url": "https://ledger.acme.example/hooks",
    "events": ["instance.started", "instance.incident", "task.completed"],
}
"""A webhook that is paused, for its address cannot exist: what it would tell can be looked at, and nothing fails."""
HASHERS = 2
"""Passwords hashed side by side: hashing is most of the work, and it leaves Python free."""


def furnish() -> bool:
    """Make the demo; answer False when it was there already."""
    with _alone():
        if _is_furnished():
            return False
        with ThreadPoolExecutor(max_workers=HASHERS) as pool:
            _furnish_with(People(pool))
    return True


def _furnish_with(people: "People") -> None:
    _make_templates(people.actor("gwen"), gallery())
    tell(acme_stories(), people.actor)
    _make_templates(people.actor("sam"), {name: gallery()[name] for name in GLOBEX_TEMPLATES})
    tell(globex_stories(), people.actor)
    people.wait_for_all()
    since = horizon().xid
    tell(last_acme_stories(), people.actor, finish=False)
    _make_webhook(people.actor("gwen"), since)
    tell([mark_story()], people.actor, finish=False)


@contextmanager
def _alone() -> Iterator[None]:
    """Let one furnisher in at a time, by the lock of a transaction that does nothing else; death of the process unlocks.

    Behind a pooler only a transaction has a session for itself. It asks again and again instead of waiting inside the database,
    where a wait for a lock is bounded.
    """
    doorkeeper = connection.copy()
    try:
        doorkeeper.set_autocommit(False)
        while not _is_let_in(doorkeeper):
            time.sleep(ASK_AGAIN)
        yield
    finally:
        doorkeeper.close()


def _is_let_in(doorkeeper: BaseDatabaseWrapper) -> bool:
    with doorkeeper.cursor() as cursor:
        cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [LOCK])
        return bool(cursor.fetchone()[0])


def _is_furnished() -> bool:
    return Instance.objects.filter(tenant__name="acme", reference=mark_story().reference).exists()


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
    """Return the demo names that exist; one that belongs to somebody else's tenant cannot be had."""
    homes = {name: tenant for name, tenant, *_ in PEOPLE}
    taken = dict(User.objects.filter(username__in=homes).values_list("username", "tenant__name"))
    for name, tenant in taken.items():
        if tenant != homes[name]:
            raise Conflict(f"The demo needs the name {name}, and that is somebody in {tenant}.", code="name")
    return set(taken)


def _tenant(name: str, title: str) -> Tenant:
    return Tenant.objects.filter(name=name).first() or create_tenant(actor=None, name=name, title=title)


def _make_roles(tenant: Tenant) -> None:
    there = set(Role.objects.filter(tenant=tenant).values_list("name", flat=True))
    for name, title in MORE_ROLES.items():
        if name not in there:
            create_role(actor=None, tenant=tenant, name=name, title=title)


def _make_person_there(tenant: Tenant, name: str, level: int) -> None:
    """Say for which tenant that thread works: it knows nothing of what this one was told."""
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
    """Put the templates in force that the author's tenant does not have yet."""
    there = set(Template.objects.filter(tenant_id=actor.tenant_id).values_list("name", flat=True))
    for name, source in sources.items():
        if name not in there:
            _make_versions(actor, name, source)


def _make_versions(actor: Actor, name: str, source: str) -> None:
    """Put a template in force; some have an archived version before it, or a draft after it that is not clean."""
    for text in (*_changed(source, BEFORE.get(name)), source):
        version = save_draft(actor=actor, source=text)
        activate_version(actor=actor, name=name, number=version.number)
    for text in _changed(source, AFTER.get(name)):
        save_draft(actor=actor, source=text)


@transaction.atomic
def _make_webhook(author: Actor, since: int) -> None:
    """Leave what happened last to be told to an address that nobody has: no worker ever sees the webhook but paused."""
    if list_webhooks(actor=author).exists():
        return
    webhook, _ = create_webhook(actor=author, **LEDGER)
    Webhook.objects.filter(pk=webhook.pk).update(after_xid=since)
    collect()
    pause_webhook(actor=author, webhook_id=webhook.pk)


def _changed(source: str, change: tuple[str, str] | None) -> list[str]:
    return [source.replace(*change)] if change else []
