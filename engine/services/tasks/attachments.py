"""Add files to tasks, fetch them and take them away."""

import time
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import IO
from uuid import UUID

import structlog
from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from engine import access
from engine.audit.chain import database_now
from engine.db.transactions import in_one_transaction
from engine.errors import Conflict, Invalid, NotFound, Refused
from engine.kernel.tasks.answers import ending_of, files_taken
from engine.kernel.tasks.rules import FILE_KINDS, FileRules
from engine.models import CaseFile, Task, TaskAttachment
from engine.services.tasks.history import note_act
from engine.services.tasks.lifecycle import claim_instance, refuse_foreign, require_may_act
from engine.storage.attachments import (
    all_files,
    clean_name,
    file_path,
    keep,
    read_up_to,
    refuse_file,
)
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_OPERATE
from workflowplatform.ids import uuid7

log = structlog.get_logger(__name__)


@in_one_transaction
def attach_file(*, actor: Actor, task_id: UUID, name: str, content: IO[bytes]) -> TaskAttachment:
    """Add a file to a task by the author's rules; a wrong one is refused by name."""
    task = claim_instance(actor, task_id)
    require_may_act(actor, task)
    refuse_foreign(actor)
    rules = _rules(task)
    name = clean_name(name)
    read = read_up_to(content, rules.max_size)
    wrong = refuse_file(rules, name, read)
    if wrong is not None:
        raise Invalid(wrong.message, [wrong])
    if TaskAttachment.objects.filter(task_id=task.pk).count() >= rules.max:
        message = _("There are %(most)s files already; take one away first.") % {"most": rules.max}
        raise Conflict(message, code="limit", limit=rules.max)
    return _attach(actor, task, name, read)


def _rules(task: Task) -> FileRules:
    rules = files_taken(task.rules, task.form)
    if rules is None:
        raise Refused(_("The author of this workflow wants no files here."), code="refused")
    return rules


def _attach(actor: Actor, task: Task, name: str, content: bytes) -> TaskAttachment:
    now, attachment_id = database_now(), uuid7()
    sha256 = keep(file_path(task.tenant_id, attachment_id), content)
    note_act(actor, task, "attached", now, new={"name": name, "size": len(content), "sha256": sha256})
    return TaskAttachment.objects.create(
        id=attachment_id,
        tenant_id=task.tenant_id,
        instance_id=task.instance_id,
        task_id=task.pk,
        name=name,
        content_type=FILE_KINDS[ending_of(name)].media_type,
        size=len(content),
        sha256=sha256,
        added_by_id=actor.person_id,
        added_by_name=actor.name,
        added_at=now,
    )


def open_attachment(*, actor: Actor, task_id: UUID, attachment_id: UUID) -> tuple[TaskAttachment, IO[bytes]]:
    """Return a file of a task that the actor sees, opened to be read."""
    found = _attachment(actor, task_id, attachment_id)
    try:
        return found, file_path(found.tenant_id, found.pk).open("rb")
    except FileNotFoundError:
        log.error("a file of a task is not in this host's data folder", attachment=str(found.pk))
        raise NotFound from None


def _attachment(actor: Actor, task_id: UUID, attachment_id: UUID) -> TaskAttachment:
    found = access.attachments_of(actor, task_id).filter(pk=attachment_id).first()
    if found is None:
        raise NotFound
    return found


@in_one_transaction
def detach_file(*, actor: Actor, task_id: UUID, attachment_id: UUID) -> None:
    """Take a file away while the task is open: one's own, or from level 4 on anybody's."""
    task = claim_instance(actor, task_id)
    found = _attachment(actor, task_id, attachment_id)
    require_may_act(actor, task)
    if found.added_by_id != actor.person_id:
        access.require_level(actor, TO_OPERATE, gettext_noop("remove another person's file"))
    note_act(actor, task, "detached", database_now(), old={"name": found.name, "sha256": found.sha256})
    place = file_path(found.tenant_id, found.pk)
    found.delete()
    transaction.on_commit(lambda: place.unlink(missing_ok=True))


def sweep_files(*, older_than: timedelta = timedelta(days=1)) -> int:
    """Remove files that belong to no task any more, as after retention or a transaction that failed; return how many.

    Young files are left: the transaction that keeps one may still be open.
    """
    youngest = time.time() - older_than.total_seconds()
    places = {place.stem: place for place in all_files() if place.stat().st_mtime <= youngest}
    known = {
        str(pk)
        for model in (TaskAttachment, CaseFile)
        for pk in model.objects.filter(pk__in=places).values_list("pk", flat=True)
    }
    orphans = [place for name, place in places.items() if name not in known]
    for place in orphans:
        place.unlink(missing_ok=True)
    return len(orphans)


def files_of(instance_ids: Sequence[UUID]) -> list[Path]:
    """Return where the files of some instances and their tasks are."""
    found = (model.objects.filter(instance_id__in=instance_ids) for model in (TaskAttachment, CaseFile))
    return [file_path(*row) for rows in found for row in rows.values_list("tenant_id", "pk")]


def remove_files(places: Sequence[Path]) -> None:
    """Remove files whose rows are gone; one that stays behind is found by `sweep_files`."""
    for place in places:
        place.unlink(missing_ok=True)
