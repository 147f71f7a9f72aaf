"""Hold an answer for a while, so that its person can take it back; send it when its time is over, or at once on request.

A kept answer is a row (`wf_pending_answers`). Its person settles it, or a worker when it is due; both take the instance's claim
first. The row goes in the transaction that sends the answer, so that it is sent once and never forgotten, whatever dies. It is
sent as its person, by the service that takes every answer, under the rules of that moment. If they refuse it, it becomes a draft
again and its person is told why.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Min
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from engine import access
from engine.audit.chain import database_now
from engine.db.transactions import announce_on_commit, in_one_transaction
from engine.errors import Conflict, NotFound, WorkflowError
from engine.kernel.signals import TaskClaimed
from engine.kernel.transitions import TaskStatus
from engine.models import PendingAnswer, Signal, Task, TaskDraft
from engine.runtime import claims
from engine.runtime.claims import HeldTask, hold_task
from engine.runtime.commit import Batch, write
from engine.services.notifications.announcements import Announcement, announce
from engine.services.tasks.history import note_act
from engine.services.tasks.lifecycle import (
    CompletedTask,
    Given,
    answer_held,
    claim,
    ready_answer,
    tell_engine,
)
from engine.services.tasks.mail_links import form_hash
from workflowplatform.accounts.actor import Actor, StandIn, actor_of, engine_actor
from workflowplatform.ids import uuid7

BEFORE_A_TIMER = timedelta(seconds=1)
"""An answer is sent this long before the instance's next timer, so that no timeout overtakes it."""
MOST_FAILURES = 5
AGAIN_AFTER = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class Answered:
    """What became of an answer: it was taken, or it is kept until it is sent."""

    task: Task
    done: CompletedTask | None = None
    pending: PendingAnswer | None = None

    @property
    def completed(self) -> CompletedTask:
        """Return the completed task of an answer that was taken at once."""
        assert self.done is not None
        return self.done


@in_one_transaction
def give_answer(
    *,
    actor: Actor,
    task_id: UUID,
    outcome: str | None = None,
    values: Mapping[str, Any] | None = None,
    comment: str = "",
    ticked: Sequence[str] = (),
    batch_id: UUID | None = None,
) -> Answered:
    """Answer a task from a page: at once, or after the time in which its author or tenant lets people take answers back."""
    held = hold_task(actor, task_id)
    given = Given(outcome, dict(values or {}), comment, tuple(ticked))
    due_at = _moment_to_send(held, outcome)
    if due_at is None:
        done = answer_held(held, given)
        return Answered(done.task, done=done)
    _refuse_second(held)
    absent, answer = ready_answer(held, given)
    _claim(held, absent)
    pending = _keep(held, Given(answer.outcome, given.values, comment, given.ticked), due_at, batch_id or uuid7())
    announce_on_commit([due_at], held.loaded.now)
    return Answered(held.task, pending=pending)


def _moment_to_send(held: HeldTask, outcome: str | None) -> datetime | None:
    """Return until when an answer can be taken back; None: it is sent at once."""
    seconds = 0 if _is_final(held.actor, held.task) else held.task.undo_seconds(outcome)
    if not seconds:
        return None
    now = held.loaded.now
    due_at = now + timedelta(seconds=seconds)
    timers = Signal.objects.filter(instance_id=held.task.instance_id, due_at__gt=now, due_at__lte=due_at)
    first = timers.aggregate(at=Min("due_at"))["at"]
    due_at = due_at if first is None else min(due_at, first - BEFORE_A_TIMER)
    return due_at if due_at > now else None


def _is_final(actor: Actor, task: Task) -> bool:
    """Return whether an answer needs no time: a delegate's is not the last word, and guests hold nothing here."""
    return task.delegated_by_id is not None or actor.crosses or actor.person_id is None


def _refuse_second(held: HeldTask) -> None:
    """Refuse a second answer of a person to a task that several answer; one that was refused before makes room."""
    own = PendingAnswer.objects.filter(task_id=held.task.pk, person_id=held.actor.person_id)
    own.filter(refused_at__isnull=False).delete()
    if held.task.takes_several and own.exists():
        raise Conflict(_("You answered this already; your answer is about to be sent."), code="sending")


def _claim(held: HeldTask, absent: StandIn | None) -> None:
    """Claim an open task with the answer, so that nobody else begins it meanwhile."""
    task = held.task
    if task.status != TaskStatus.OPEN or task.takes_several:
        return
    batch = Batch()
    claim(batch, held, absent)
    write(batch)
    tell_engine(held.actor, task, TaskClaimed(task.token, held.actor.name))
    task.refresh_from_db()


def _keep(held: HeldTask, given: Given, due_at: datetime, batch_id: UUID) -> PendingAnswer:
    task, actor = held.task, held.actor
    new = {"outcome": given.outcome, "due_at": due_at.isoformat()}
    note_act(actor, task, "held", held.loaded.now, new=new)
    if not task.takes_several:
        Task.objects.filter(pk=task.pk).update(answer_due_at=due_at, answer_by_name=actor.name)
        task.answer_due_at, task.answer_by_name = due_at, actor.name
    return PendingAnswer.objects.create(
        tenant_id=task.tenant_id,
        task_id=task.pk,
        person_id=held.person.pk,
        batch_id=batch_id,
        outcome=given.outcome or "",
        values=given.values,
        comment=given.comment,
        ticked=list(given.ticked),
        form_hash=form_hash(task),
        given_at=held.loaded.now,
        due_at=due_at,
    )


# Its person


def pending_answers(*, actor: Actor, batch_id: UUID) -> list[PendingAnswer]:
    """Return the actor's own answers of a batch that are still kept, those that were refused included."""
    rows = PendingAnswer.objects.filter(tenant_id=actor.tenant_id, person_id=actor.person_id, batch_id=batch_id)
    return list(rows.select_related("task__instance").order_by("task__instance_id", "id"))


def own_pending(*, actor: Actor, task: Task) -> PendingAnswer | None:
    """Return the actor's own answer to a task that is kept, or was refused when it was to be sent."""
    rows = PendingAnswer.objects.filter(tenant_id=actor.tenant_id, person_id=actor.person_id, task_id=task.pk)
    return rows.first()


@in_one_transaction
def take_back(*, actor: Actor, batch_id: UUID) -> list[Task]:
    """Take answers back that are not sent yet: what was typed is a draft again, and the tasks stay the person's."""
    rows = _own(actor, batch_id)
    claims.lock([row.task.instance_id for row in rows])
    kept = PendingAnswer.objects.select_for_update(no_key=True).filter(pk__in=[row.pk for row in rows])
    found = {row.pk for row in kept}
    if not found:
        raise Conflict(_("It was sent already, so it can’t be taken back."), code="answered")
    left = [row for row in rows if row.pk in found]
    for row in left:
        if row.refused_at is None:
            note_act(actor, row.task, "taken_back", database_now(), old={"outcome": row.outcome})
            _make_draft(row, actor.name)
        row.delete()
    return [row.task for row in left]


def _own(actor: Actor, batch_id: UUID) -> list[PendingAnswer]:
    rows = pending_answers(actor=actor, batch_id=batch_id)
    if not rows:
        raise NotFound
    return rows


def send_now(*, actor: Actor, batch_id: UUID) -> list[CompletedTask]:
    """Send answers before they are due. One that is refused becomes a draft again, and the refusal is raised."""
    done: list[CompletedTask] = []
    refusal: WorkflowError | None = None
    for row in _own(actor, batch_id):
        try:
            sent = _send(row.pk, actor)
        except WorkflowError as error:
            keep_refused(pending_id=row.pk, error=error)
            refusal = refusal or error
        else:
            done += [sent] if sent is not None else []
    if refusal is not None:
        raise refusal
    return done


# A worker


def due_answers(limit: int) -> list[UUID]:
    """Return the answers whose time is over, the oldest first."""
    due = PendingAnswer.objects.filter(refused_at__isnull=True, due_at__lte=database_now())
    return list(due.order_by("due_at").values_list("pk", flat=True)[:limit])


def send_pending(*, pending_id: UUID) -> bool:
    """Send an answer whose time is over, as its person is now; return whether this was the one to send it."""
    row = PendingAnswer.objects.select_related("person").filter(pk=pending_id).first()
    if row is None:
        return False
    with translation.override(row.person.language or settings.LANGUAGE_CODE), timezone.override(row.person.time_zone):
        try:
            return _send(row.pk, actor_of(row.person)) is not None
        except WorkflowError as error:
            keep_refused(pending_id=row.pk, error=_told(error, row.task_id))
            return False


def _told(error: WorkflowError, task_id: UUID) -> WorkflowError:
    """Return the error with its reason for a task that its person no longer sees."""
    if not isinstance(error, NotFound):
        return error
    lost = Conflict(_("This task isn’t yours to do any more."), code="not_candidate")
    return access.refuse_over(Task.objects.get(pk=task_id)) or lost


@in_one_transaction
def _send(pending_id: UUID, actor: Actor) -> CompletedTask | None:
    """Send one answer in the transaction that deletes its row; None where another was faster."""
    seen = PendingAnswer.objects.filter(pk=pending_id, refused_at__isnull=True).first()
    if seen is None:
        return None
    held = hold_task(actor, seen.task_id)
    row = PendingAnswer.objects.select_for_update(no_key=True).filter(pk=pending_id, refused_at__isnull=True).first()
    if row is None:
        return None
    if not held.task.is_over and form_hash(held.task) != row.form_hash:
        raise Conflict(_("The form changed since you answered. Check it, then send again."), code="form_changed")
    _open_again(held.task)
    row.delete()
    return answer_held(held, Given(row.outcome, row.values, row.comment, tuple(row.ticked)))


def _open_again(task: Task) -> None:
    """Forget at the task that an answer to it is on its way."""
    if task.answer_due_at is not None:
        Task.objects.filter(pk=task.pk).update(answer_due_at=None, answer_by_name="")
        task.answer_due_at, task.answer_by_name = None, ""


@in_one_transaction
def keep_refused(*, pending_id: UUID, error: WorkflowError) -> None:
    """Turn an answer that could not be sent into a draft again, and tell its person why."""
    seen = PendingAnswer.objects.select_related("task__instance", "person").filter(pk=pending_id).first()
    if seen is None:
        return
    claims.lock([seen.task.instance_id])
    row = PendingAnswer.objects.select_for_update(no_key=True).filter(pk=pending_id, refused_at__isnull=True).first()
    if row is None:
        return
    task, now = Task.objects.select_related("instance").get(pk=row.task_id), database_now()
    engine = engine_actor(row.tenant_id)
    note_act(engine, task, "not_sent", now, new={"person": seen.person.username}, cause=error.message)
    seen.task = task
    _make_draft(seen, seen.person.username)
    PendingAnswer.objects.filter(pk=row.pk).update(refused_at=now, refusal=error.code, refusal_text=error.message)
    announce(Announcement("not_sent", seen.person_id, engine, task.pk, error.message))


def postpone(*, pending_id: UUID) -> None:
    """Try an answer again later that failed for no reason of its own; after some tries it is its person's again."""
    row = PendingAnswer.objects.filter(pk=pending_id, refused_at__isnull=True).first()
    if row is None:
        return
    if row.failures + 1 >= MOST_FAILURES:
        text = _("Something went wrong while it was sent. What you typed is kept; send it again.")
        keep_refused(pending_id=pending_id, error=Conflict(text, code="failed"))
        return
    PendingAnswer.objects.filter(pk=pending_id).update(
        failures=row.failures + 1, due_at=database_now() + AGAIN_AFTER * (row.failures + 1)
    )


def _make_draft(row: PendingAnswer, name: str) -> None:
    """Keep what was typed as the draft from which the task's page begins again."""
    task = row.task
    TaskDraft.objects.update_or_create(
        tenant_id=task.tenant_id,
        task_id=task.pk,
        owner_id=row.person_id if task.takes_several else None,
        defaults={
            "values": row.values,
            "outcome": row.outcome,
            "comment": row.comment,
            "saved_by_name": name,
            "saved_at": database_now(),
        },
    )
    _open_again(task)
