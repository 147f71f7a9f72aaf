"""Links in messages with which one person answers one task once, without a sign-in.

The address holds the link's id, signed: it is not kept, and a new SECRET_KEY with the old one among the fallbacks keeps it valid.
A link gives no session and no right of its own: an answer over it is its person's answer, under all the rules, marked in
the audit. It ends with its use and with the task.
"""

import hashlib
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.core.signing import BadSignature, Signer
from django.db import transaction
from django.utils.translation import gettext as _

from engine import access
from engine.audit.chain import database_now
from engine.db.transactions import in_one_transaction
from engine.errors import Conflict, NotFound
from engine.kernel.json_text import write_json
from engine.models import Task, TaskLink
from engine.models.audit import VIA_LINK
from engine.services.tasks.lifecycle import CompletedTask, complete_task
from workflowplatform.accounts.actor import Actor, actor_of
from workflowplatform.accounts.models import User
from workflowplatform.database.tenancy import crossing

SALT = "workflow.task_link"


@dataclass(frozen=True, slots=True)
class OpenedLink:
    """A link whose signature holds, and whose it is as they are now."""

    link: TaskLink
    person: User
    actor: Actor


def link_token(*, person: User, task: Task) -> str:
    """Return the signed token of a person's link to a task, made where there is none; a used one stays used."""
    key = {"tenant_id": task.tenant_id, "person_id": person.pk, "task_id": task.pk}
    fresh = TaskLink(**key, form_hash=form_hash(task), created_at=database_now())
    TaskLink.objects.bulk_create([fresh], ignore_conflicts=True)
    return _signer().sign(TaskLink.objects.get(**key).pk.hex)


def form_hash(task: Task) -> str:
    """Name what a task asks: an answer to another form than the one shown is not taken."""
    return hashlib.sha256(write_json([task.form, task.outcomes]).encode()).hexdigest()


def allows_link(task: Task) -> bool:
    """Return whether the task can be answered by a link: not where it asks for a sign-in or must have a file."""
    files = task.rules.files
    return not task.rules.secure and not (files is not None and files.required)


def open_link(token: str) -> OpenedLink:
    """Return a link and its person, or NotFound for one that was never given out. Reading it changes nothing."""
    try:
        link_id = UUID(hex=_signer().unsign(token))
    except (BadSignature, ValueError):
        raise NotFound from None
    with crossing("mail link"):
        link = TaskLink.objects.select_related("person").filter(pk=link_id, person__is_active=True).first()
        if link is None:
            raise NotFound
        return OpenedLink(link, link.person, replace(actor_of(link.person), via=VIA_LINK))


def _signer() -> Signer:
    return Signer(salt=SALT)


@in_one_transaction
def answer_by_link(*, opened: OpenedLink, **answer: Any) -> CompletedTask:
    """Answer the task of a link as its person, once: two who press at the same moment answer it once."""
    link = TaskLink.objects.select_for_update(no_key=True).get(pk=opened.link.pk)
    if link.used_at is not None:
        raise Conflict(_("You already answered with this link. Nothing was sent again."), code="answered")
    done = complete_task(actor=opened.actor, task_id=link.task_id, **answer)
    TaskLink.objects.filter(pk=link.pk).update(used_at=database_now())
    return done


def task_behind(opened: OpenedLink) -> Task:
    """Return the task of a link, as its person sees it, or NotFound."""
    with transaction.atomic():
        return access.task_of(opened.actor, opened.link.task_id)
