"""What people may do with a request of their own: withdraw it, comment, add a file, remind the people it waits for.

Withdrawing is the starter's alone, and ends with the first answer of another person; operators cancel (`cancel_instance`).
People who see a case may comment on it and add files to it.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import IO
from uuid import UUID

from django.db.models import Q
from django.utils.translation import gettext as _

from engine import access
from engine.audit.chain import Act, database_now, record
from engine.db.transactions import in_one_transaction
from engine.errors import Conflict, Invalid, NotFound, Refused, Unreadable
from engine.kernel.tasks.answers import ending_of
from engine.kernel.tasks.rules import FILE_KINDS, FileRules
from engine.kernel.transitions import TaskStatus
from engine.models import Instance, Task, TaskAttachment, TaskComment, TaskEvent
from engine.models.status_labels import status_word
from engine.runtime import claims
from engine.runtime.definition_cache import definition_of
from engine.runtime.task_effects import send_reminder
from engine.services.instances.lifecycle import end_by_hand, require_reason
from engine.services.notifications.case_comments import notify_of_comment
from engine.services.tasks.comments import refuse_text
from engine.services.tasks.history import note_act
from engine.storage.attachments import clean_name, file_path, keep, read_up_to, refuse_file
from workflowplatform.accounts.actor import Actor
from workflowplatform.ids import uuid7

ONCE_IN = timedelta(hours=24)
REMINDED = "reminded"
BY_STARTER = "starter"
"""The cause of a reminder that the starter sent."""
CASE_FILES = FileRules(tuple(FILE_KINDS), 10 * 1024 * 1024, 20, required=False)
"""What may be added to a case as a whole."""
WAITING = (TaskStatus.OPEN, TaskStatus.CLAIMED)


def refuse_withdrawing(actor: Actor, instance: Instance) -> Refused | Conflict | None:
    """Return why the actor cannot withdraw a case now, or None."""
    if instance.started_by_id is None or instance.started_by_id != actor.person_id:
        return Refused(_("Only the person who started this can withdraw it."), code="starter")
    if instance.is_over:
        message = _("This case is %(status)s already.") % {"status": status_word(instance.status)}
        return Conflict(message, code="status", status=instance.status)
    if instance.parent_token is not None:
        return Refused(_("This belongs to another case. Withdraw that one."), code="withdraw")
    try:
        starter = definition_of(instance.version_id).canonical.get("starter") or {}
    except Unreadable as refusal:
        return refusal
    if not starter.get("withdraw", True):
        return Refused(_("The author of this workflow does not let requests be withdrawn."), code="withdraw")
    if _is_answered(instance):
        return Conflict(_("This can't be withdrawn any more: it has been answered."), code="answered")
    return None


def _is_answered(instance: Instance) -> bool:
    """Return whether anybody but the starter has answered a task of the case, or of a case that it started."""
    family = Q(instance_id=instance.pk) | Q(instance__root_id=instance.pk)
    tasks = Task.objects.filter(family, tenant_id=instance.tenant_id)
    done = tasks.filter(status=TaskStatus.COMPLETED).exclude(completed_by_id=instance.started_by_id)
    return done.exists() or tasks.exclude(answered_by=[]).exclude(answered_by=[instance.started_by_name]).exists()


@in_one_transaction
def withdraw_instance(*, actor: Actor, instance_id: UUID, reason: str) -> Instance:
    """End a case of one's own, before anybody has answered it; its open tasks are closed."""
    instance = access.instance_of(actor, instance_id)
    require_reason(reason)
    claims.lock([instance.pk])
    instance.refresh_from_db(from_queryset=Instance.objects.select_for_update(no_key=True))
    refusal = refuse_withdrawing(actor, instance)
    if refusal is not None:
        raise refusal
    return end_by_hand(actor, instance, reason)


@in_one_transaction
def comment_instance(*, actor: Actor, instance_id: UUID, text: str) -> TaskComment:
    """Comment on a case that one sees; the people of the case are notified."""
    instance = access.instance_of(actor, instance_id)
    refuse_text(text)
    claims.lock([instance.pk])
    now = database_now()
    record(instance, Act("comment_workflow"), actor=actor)
    comment = TaskComment.objects.create(
        tenant_id=instance.tenant_id,
        instance_id=instance.pk,
        text=text.strip(),
        author_id=actor.person_id,
        author_name=actor.name,
        at=now,
    )
    notify_of_comment(actor, instance, comment)
    return comment


@in_one_transaction
def add_case_file(*, actor: Actor, instance_id: UUID, name: str, content: IO[bytes]) -> TaskAttachment:
    """Add a file to a live case that one sees; a wrong one is refused by name."""
    instance = access.instance_of(actor, instance_id)
    claims.lock([instance.pk])
    instance.refresh_from_db()
    _refuse_over(instance)
    name = clean_name(name)
    read = read_up_to(content, CASE_FILES.max_size)
    wrong = refuse_file(CASE_FILES, name, read)
    if wrong is not None:
        raise Invalid(wrong.message, [wrong])
    _refuse_one_too_many(instance)
    attachment_id = uuid7()
    sha256 = keep(file_path(instance.tenant_id, attachment_id), read)
    record(instance, Act("attach_file", new={"name": name, "size": len(read), "sha256": sha256}), actor=actor)
    return TaskAttachment.objects.create(
        id=attachment_id,
        tenant_id=instance.tenant_id,
        instance_id=instance.pk,
        name=name,
        content_type=FILE_KINDS[ending_of(name)].media_type,
        size=len(read),
        sha256=sha256,
        added_by_id=actor.person_id,
        added_by_name=actor.name,
        added_at=database_now(),
    )


def _refuse_one_too_many(instance: Instance) -> None:
    if TaskAttachment.objects.filter(instance_id=instance.pk, task__isnull=True).count() >= CASE_FILES.max:
        message = _("There are %(most)s files already; take one away first.") % {"most": CASE_FILES.max}
        raise Conflict(message, code="limit", limit=CASE_FILES.max)


def _refuse_over(instance: Instance) -> None:
    if instance.is_over:
        message = _("This case is %(status)s already.") % {"status": status_word(instance.status)}
        raise Conflict(message, code="status", status=instance.status)


@dataclass(frozen=True, slots=True)
class Reminded:
    """Which tasks' people were reminded, and how many e-mails that makes."""

    tasks: tuple[Task, ...]
    letters: int


@in_one_transaction
def remind_people(*, actor: Actor, instance_id: UUID) -> Reminded:
    """Remind the people whom a case of one's own waits for, once in 24 hours."""
    instance = access.instance_of(actor, instance_id)
    if instance.started_by_id is None or instance.started_by_id != actor.person_id:
        raise Refused(_("Only the person who started this can send reminders."), code="starter")
    claims.lock([instance.pk])
    tasks = list(tasks_waited_for(actor, instance))
    if not tasks:
        raise Conflict(_("Nobody can be reminded: no task is open."), code="status", status=instance.status)
    now = database_now()
    last = last_reminder(actor, instance)
    if last is not None and now - last < ONCE_IN:
        raise Conflict(_("A reminder was sent less than 24 hours ago."), code=REMINDED, at=last)
    letters = 0
    for task in tasks:
        letters += send_reminder(task, now)
        note_act(actor, task, REMINDED, now, cause=BY_STARTER)
    return Reminded(tuple(tasks), letters)


def tasks_waited_for(actor: Actor, instance: Instance) -> list[Task]:
    """List the open tasks of a case of one's own that others could do now."""
    tasks = Task.objects.filter(tenant_id=actor.tenant_id, instance_id=instance.pk, status__in=WAITING)
    others = Q(assignee__isnull=True) | ~Q(assignee_id=actor.person_id)
    return list(tasks.filter(others).select_related("assignee", "instance", "version__template").order_by("id"))


def last_reminder(actor: Actor, instance: Instance) -> datetime | None:
    """Return when the starter last sent a reminder."""
    events = TaskEvent.objects.filter(tenant_id=actor.tenant_id, task__instance_id=instance.pk, kind=REMINDED)
    return events.filter(cause=BY_STARTER).order_by("-id").values_list("at", flat=True).first()


def open_case_file(*, actor: Actor, instance_id: UUID, attachment_id: UUID) -> tuple[TaskAttachment, IO[bytes]]:
    """Return a file of a case that the actor sees, opened to be read."""
    found = access.files_of_case(actor, instance_id).filter(pk=attachment_id).first()
    if found is None:
        raise NotFound
    try:
        return found, file_path(found.tenant_id, found.pk).open("rb")
    except FileNotFoundError:
        raise NotFound from None
