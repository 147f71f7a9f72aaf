"""Erase a person: work and history of an erased person stay, under a pseudonym.

Deleted are name, e-mail address, password, tokens, sessions, sign-in records, roles, saved filters, drafts, offers of tasks and
idempotency keys. Tasks, comments, files, events and the audit stay, under the pseudonym (engine.services.people.pseudonyms).
Texts and business data that mention the person are listed for the operator and never changed.

One person of level 5 or above asks and another agrees, or the operator at the command line acts alone. First the person is
deactivated, in a transaction of its own; history follows in batches; at last, with the person's row locked, what was written
meanwhile and the row itself. An interrupted erasure can be run again: the name stays in the person's row until the last step.
"""

import secrets
import time
from dataclasses import dataclass

from django.db import connection
from django.db.models import Q

from engine.audit.chain import Act, database_now, record
from engine.db.transactions import in_one_transaction
from engine.errors import Conflict, Invalid, Refused
from engine.kernel.forms import FieldError
from engine.models import (
    Erasure,
    Schedule,
    Task,
    TaskCandidate,
)
from engine.services.people.account_rules import to_manage
from engine.services.people.accounts import deactivate_person
from engine.services.people.person_export import Mention, find_mentions
from engine.services.people.pseudonyms import names_of, replace_names
from engine.services.people.redaction import Names
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.models import User

PATIENCE = 15.0
"""Seconds that an erasure waits for transactions of the person that began before they were shut out."""


@dataclass(frozen=True, slots=True)
class Erased:
    """What an erasure did, and what it leaves to the operator."""

    erasure: Erasure
    mentions: tuple[Mention, ...]


@in_one_transaction
def ask_erasure(*, actor: Actor | None, person: User, reason: str) -> Erasure:
    """Ask for a person's erasure; another person of level 5 or above must agree."""
    acting, person = to_manage(actor, person)
    _refuse_own(acting, person)
    if not reason.strip():
        raise Invalid("Enter a reason.", [FieldError("reason", "required", "Enter a reason for erasing this person.")])
    found = Erasure.objects.filter(tenant_id=person.tenant_id, person_id=person.pk).first()
    if found is not None:
        raise Conflict("This person is already erased, or their erasure was already requested.", code="erasure")
    refuse_needed(person)
    record(person, Act("ask_erasure", cause=reason), actor=acting)
    return Erasure.objects.create(
        tenant_id=person.tenant_id, person_id=person.pk, pseudonym=_new_pseudonym(), reason=reason,
        asked_by_id=acting.person_id, asked_by_name=acting.name, asked_at=database_now(),
    )  # fmt: skip


@in_one_transaction
def withdraw_erasure(*, actor: Actor | None, person: User, reason: str = "") -> None:
    """Withdraw the request to erase a person, as long as nobody has agreed."""
    acting, person = to_manage(actor, person)
    if not Erasure.objects.filter(pk=_open_erasure(person).pk, agreed_by_name="").delete()[0]:
        raise Conflict("This erasure was approved and is running. It cannot be cancelled.", code="erasure")
    record(person, Act("refuse_erasure", cause=reason), actor=acting)


def agree_erasure(*, actor: Actor | None, person: User) -> Erased:
    """Agree to an erasure that another person asked for, and carry it out."""
    acting = _agree(actor, person)
    deactivate_person(actor=actor, person=person)
    _outwait()
    erasure = _open_erasure(person)
    names = names_of(person, erasure.pseudonym)
    replace_names(erasure, names)
    mentions = tuple(find_mentions(person))
    _finish(erasure, names, acting)
    return Erased(Erasure.objects.get(pk=erasure.pk), mentions)


@in_one_transaction
def _agree(actor: Actor | None, person: User) -> Actor:
    acting, person = to_manage(actor, person)
    _refuse_own(acting, person)
    erasure = _open_erasure(person)
    if actor is not None and erasure.asked_by_id == actor.person_id:
        raise Refused("Another person of level 5 or above must approve this.", code="four_eyes")
    refuse_needed(person)
    Erasure.objects.filter(pk=erasure.pk).update(agreed_by_name=acting.name)
    return acting


def seek_erasure(*, actor: Actor, person: User, reason: str) -> Erased:
    """Ask for an erasure, or agree to the one that another person asked for."""
    if _is_asked_for(actor, person):
        return agree_erasure(actor=actor, person=person)
    return Erased(ask_erasure(actor=actor, person=person, reason=reason), ())


@in_one_transaction
def _is_asked_for(actor: Actor, person: User) -> bool:
    """Return whether this erasure was asked for; only people who may ask learn that."""
    to_manage(actor, person)
    return Erasure.objects.filter(person_id=person.pk, done_at__isnull=True).exists()


def erase_person(*, person: User, reason: str) -> Erased:
    """Erase a person at once, as the operator at the command line; finish an erasure that was asked for or interrupted."""
    if not Erasure.objects.filter(person_id=person.pk, done_at__isnull=True).exists():
        ask_erasure(actor=None, person=person, reason=reason)
    return agree_erasure(actor=None, person=person)


def _refuse_own(actor: Actor, person: User) -> None:
    if actor.person_id == person.pk:
        raise Refused("You cannot erase yourself; ask another administrator.", code="self")


def _open_erasure(person: User) -> Erasure:
    found = Erasure.objects.filter(person_id=person.pk, done_at__isnull=True).first()
    if found is None:
        raise Conflict("This erasure was not requested, or is already done.", code="erasure")
    return found


def refuse_needed(person: User) -> None:
    """Refuse while open tasks are offered to this person alone, or the person owns active schedules."""
    alone = [
        task
        for task in _open_for(person)
        if not TaskCandidate.objects.filter(task_id=task.pk).exclude(principal=person.pk).exists()
    ]
    if alone:
        named = ", ".join(f"{task.title} ({task.pk})" for task in alone[:10])
        raise Conflict(
            f"{len(alone)} open tasks are offered to this person alone: {named}. Assign them to another person first.",
            code="needed",
        )
    schedules = Schedule.objects.filter(owner_id=person.pk, status="active")
    if schedules.exists():
        named = ", ".join(str(schedule.pk) for schedule in schedules[:10])
        raise Conflict(
            f"This person owns schedules that run: {named}. Cancel them, or give them to another person first.",
            code="needed",
        )


def _open_for(person: User) -> list[Task]:
    theirs = Q(assignee_id=person.pk) | Q(pk__in=TaskCandidate.objects.filter(principal=person.pk).values("task_id"))
    return list(Task.objects.open().filter(theirs))


def _new_pseudonym() -> str:
    while True:
        name = f"former-{secrets.token_hex(3)}"
        taken = Erasure.objects.filter(pseudonym=name).exists() or User.objects.filter(username=name).exists()
        if not taken:
            return name


def _outwait() -> None:
    """Wait for transactions that began before the person was deactivated: they may still write the name."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_snapshot_xmax(pg_current_snapshot())::text")
        limit = cursor.fetchone()[0]
        until = time.monotonic() + PATIENCE
        while not connection.in_atomic_block:
            cursor.execute("SELECT pg_snapshot_xmin(pg_current_snapshot()) >= %s::xid8", [limit])
            if cursor.fetchone()[0]:
                return
            if time.monotonic() > until:
                raise Conflict(
                    "Other transactions are still running. The person is already locked out. Try again in a moment.",
                    code="busy",
                )
            time.sleep(0.1)


@in_one_transaction
def _finish(erasure: Erasure, names: Names, acting: Actor) -> None:
    """Erase what was written meanwhile and the person's own row; its lock blocks every act of theirs."""
    person = User.objects.select_for_update().get(pk=names.person_id)
    record(person, Act("erase_person", cause=erasure.reason, new={"erasure": str(erasure.pk)}), actor=acting)
    replace_names(erasure, names)
    person.refresh_from_db()
    person.username, person.full_name, person.email = names.pseudonym, "", ""
    person.time_zone, person.language, person.invited_at = "UTC", "", None
    person.session_epoch += 1
    person.set_unusable_password()
    person.save()
    Erasure.objects.filter(pk=erasure.pk).update(done_at=database_now())
