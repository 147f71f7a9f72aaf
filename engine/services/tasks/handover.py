"""Hand a task over and get it back: delegate it for another's hand, ask a person for information, return it.

The rules of engine.access hold on each of these ways. A delegate fills the task in and the delegator has the final word: both
took part. An answer to a question is no part in the task, which stays with the person who asked, and waits.
"""

from datetime import timedelta
from typing import NoReturn
from uuid import UUID

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from engine import access
from engine.audit.chain import database_now
from engine.db.transactions import in_one_transaction
from engine.errors import Conflict, Invalid, NotFound, Refused
from engine.kernel.forms import FieldError, refuse_unsafe_json
from engine.kernel.signals import TaskReleased
from engine.kernel.transitions import TaskStatus
from engine.models import Task, TaskComment, TaskQuestion
from engine.runtime import claims
from engine.services.notifications.announcements import Announcement, announce
from engine.services.tasks.history import note_act
from engine.services.tasks.lifecycle import (
    UNBOUND,
    claim_instance,
    give_back,
    refuse_shared,
    require_may_act,
    tell_engine,
)
from engine.services.tasks.waiting import wait_for, wait_no_more, withdraw_open_question
from workflowplatform.accounts.actor import Actor, actor_of
from workflowplatform.accounts.models import Kind, User

LONGEST_QUESTION = 2_000
REMIND_ONCE_IN = timedelta(hours=24)


@in_one_transaction
def delegate_task(*, actor: Actor, task_id: UUID, user: str, note: str = "") -> Task:
    """Ask another person who may do a task to fill it in; it comes back for the final word."""
    task = _own_task(actor, task_id)
    refuse_shared(task)
    if task.delegated_by_id is not None:
        raise Conflict(_("This task was delegated to you. Return it, or answer it."), code="delegated")
    person = colleague(actor, user)
    refusal = access.refuse_given(actor_of(person), task)
    if refusal is not None:
        raise refusal
    withdraw_open_question(actor, task)
    holder = task.assignee
    assert holder
    was_claimed = task.status == TaskStatus.CLAIMED
    old, new = {"assignee": holder.username}, {"assignee": person.username, "owner": holder.username}
    note_act(actor, task, "delegated", database_now(), old=old, new=new, cause=note)
    back = {"delegated_by_id": holder.pk, "delegated_by_name": holder.username}
    Task.objects.filter(pk=task.pk).update(assignee=person, **{**UNBOUND, **back})
    if was_claimed:
        tell_engine(actor, task, TaskReleased(task.token))
    announce(Announcement("delegated", person.pk, actor, task.pk, note))
    task.refresh_from_db()
    return task


@in_one_transaction
def ask_about_task(*, actor: Actor, task_id: UUID, user: str, question: str, instead: bool = False) -> Task:
    """Ask a person for information. The task stays with its holder and waits for the answer.

    `instead` withdraws the question for whose answer it waits.
    """
    task = _own_task(actor, task_id)
    text = _checked(question, "question", _("Write a question."))
    if instead:
        withdraw_open_question(actor, task)
    if task.waiting_since is not None:
        message = _("This task already waits for %(name)s. Withdraw that question first.")
        raise Conflict(message % {"name": task.waiting_for_name.capitalize()}, code="waiting")
    person = colleague(actor, user)
    now = database_now()
    asked = TaskQuestion.objects.create(
        tenant_id=task.tenant_id,
        instance_id=task.instance_id,
        task=task,
        text=text,
        asked_by_id=actor.person_id,
        asked_by_name=actor.name,
        asked_of_id=person.pk,
        asked_of_name=person.username,
        asked_at=now,
    )
    note_act(actor, task, "asked", now, new={"person": person.username}, cause=text)
    wait_for(actor, task, asked)
    announce(Announcement("asked", person.pk, actor, task.pk, text))
    task.refresh_from_db()
    return task


@in_one_transaction
def return_task(*, actor: Actor, task_id: UUID, note: str = "") -> Task | None:
    """Return what one was asked: the answer to a question, or a task that was delegated. None: the actor sees it no more."""
    asked = questions_for(actor).filter(task_id=task_id).first()
    if asked is not None:
        return _answer(actor, asked.pk, note)
    task = claim_instance(actor, task_id)
    if task.delegated_by_id is None or task.is_over:
        raise Conflict(_("Nobody waits for you to return this task."), code="status", status=task.status)
    if task.assignee_id != actor.person_id and task.delegated_by_id != actor.person_id:
        raise Refused(_("Only the person it was delegated to can return it."), code="not_candidate")
    return give_back(actor, task, note.strip())


def questions_for(actor: Actor) -> "QuerySet[TaskQuestion]":
    """Return the open questions to a person, and to those for whom they stand in; the oldest first."""
    own = [actor.person_id] if actor.person_id else []
    people = [*own, *(absent.person_id for absent in actor.stands_in)]
    rows = TaskQuestion.objects.filter(tenant_id=actor.tenant_id, asked_of_id__in=people, ended_at__isnull=True)
    return rows.select_related("task__instance__template").order_by("id")


@in_one_transaction
def open_question(*, actor: Actor, question_id: UUID) -> TaskQuestion:
    """Return a question to the actor, and keep when they first opened it."""
    question = questions_for(actor).filter(pk=question_id).first()
    if question is None:
        raise NotFound
    if question.opened_at is None:
        question.opened_at = database_now()
        question.save(update_fields=["opened_at"])
    return question


@in_one_transaction
def answer_question(*, actor: Actor, question_id: UUID, answer: str) -> Task | None:
    """Answer a question: the answer becomes the newest comment, and the task waits no more."""
    return _answer(actor, question_id, answer)


def _answer(actor: Actor, question_id: UUID, answer: str) -> Task | None:
    asked = questions_for(actor).filter(pk=question_id).first()
    if asked is None:
        raise NotFound
    claims.lock([asked.instance_id])
    question = TaskQuestion.objects.select_for_update().get(pk=asked.pk)
    task = Task.objects.select_related("instance").get(pk=asked.task_id)
    if question.ended_at is not None or task.is_over:
        message = _("No longer needed: the question was withdrawn, or the task is done.")
        raise Conflict(message, code="closed", status=task.status)
    text = _checked(answer, "note", _("Write an answer."))
    now = database_now()
    note_act(actor, task, "informed", now, cause=text)
    TaskComment.objects.create(
        tenant_id=task.tenant_id,
        instance_id=task.instance_id,
        task_id=task.pk,
        text=text,
        author_id=actor.person_id,
        author_name=actor.name,
        at=now,
    )
    TaskQuestion.objects.filter(pk=question.pk).update(answer=text, answered_by_name=actor.name, ended_at=now)
    wait_no_more(actor, task)
    if question.asked_by_id:
        announce(Announcement("answered", question.asked_by_id, actor, task.pk, text))
    return access.visible_tasks(actor).filter(pk=task.pk).first()


@in_one_transaction
def withdraw_question(*, actor: Actor, task_id: UUID) -> Task:
    """Take a question back: the task waits no more."""
    task = _own_task(actor, task_id)
    if task.waiting_since is None:
        raise Conflict(_("This task waits for nobody."), code="status", status=task.status)
    withdraw_open_question(actor, task)
    return task


@in_one_transaction
def remind_asked(*, actor: Actor, task_id: UUID) -> TaskQuestion:
    """Remind the person for whose answer a task of one's own waits, once in 24 hours."""
    task = _own_task(actor, task_id)
    question = TaskQuestion.objects.filter(task_id=task.pk, ended_at__isnull=True).first()
    if question is None:
        raise Conflict(_("This task waits for nobody."), code="status", status=task.status)
    now, last = database_now(), question.reminded_at
    if last is not None and now - last < REMIND_ONCE_IN:
        raise Conflict(_("A reminder was sent less than 24 hours ago."), code="reminded", at=last)
    note_act(actor, task, "reminded", now, new={"person": question.asked_of_name}, cause="question")
    question.reminded_at = now
    question.save(update_fields=["reminded_at"])
    announce(Announcement("asked", question.asked_of_id, actor, task.pk, question.text))
    return question


def _own_task(actor: Actor, task_id: UUID) -> Task:
    """Return a task that the actor holds, or holds for an absent person, under the instance's claim."""
    task = claim_instance(actor, task_id)
    require_may_act(actor, task)
    if task.assignee_id is None:
        raise Conflict(_("Claim it first: you can hand over only your own tasks."), code="status", status=task.status)
    return task


def colleague(actor: Actor, name: str) -> User:
    """Return an active person of the tenant other than the actor."""
    people = User.objects.filter(tenant_id=actor.tenant_id, is_active=True, kind=Kind.PERSON)
    person = people.filter(username=name.replace("\0", "")).first()
    if person is None:
        _refuse("user", "unknown", _("There is nobody of this name here."))
    if person.pk == actor.person_id:
        _refuse("user", "self", _("That is you. Choose someone else."))
    return person


def _checked(text: str, field: str, missing: str) -> str:
    if not text.strip():
        _refuse(field, "required", missing)
    if len(text) > LONGEST_QUESTION:
        _refuse(field, "max_length", _("Write at most %(most)s characters.") % {"most": LONGEST_QUESTION})
    if refuse_unsafe_json(text):
        _refuse(field, "invalid", _("This text holds a character that cannot be kept."))
    return text.strip()


def _refuse(field: str, code: str, message: str) -> NoReturn:
    raise Invalid(message, [FieldError(field, code, message)])
