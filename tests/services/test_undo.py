"""An answer given on a page can be taken back for a while; then it is sent once, or is a draft again if the rules refuse it."""

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F

from engine import access
from engine.audit.chain import database_now
from engine.dispatch.drain import drain, seconds_to_next_look
from engine.errors import NotFound, WorkflowError
from engine.models import Audit, Instance, Notification, PendingAnswer, Signal, Task, TaskDraft, TaskEvent
from engine.services.audit.verification import verify_everything, verify_folds
from engine.services.instances.lifecycle import cancel_instance
from engine.services.instances.repair import suspend_instance
from engine.services.people.accounts import create_person, deactivate_person
from engine.services.tasks import undo
from engine.services.tasks.assignment import assign_task
from engine.services.tasks.comments import comment_task
from engine.services.tasks.drafts import save_task_draft
from engine.services.tasks.handover import delegate_task
from engine.services.tasks.lifecycle import claim_task, complete_task, release_task
from engine.services.tasks.suspension import suspend_task
from engine.services.tasks.undo import Answered, give_answer, send_now, take_back
from tests.cast import Cast
from tests.services.test_deputies import away
from tests.workflows import activated, only_task, started
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.models import Tenant

CHECK = """
workflow: check
title: Check
starters: {min_level: 2}
steps:
  - id: first
    task:
      title: First
      roles: [finance]
      min_level: 2
      undo: PT10M
      comment: on_reject
      outcomes: {aye: {title: Aye}, nay: {title: Nay, reject: true}, now: {title: Now, undo: PT0S}}
      form: {type: object, required: [note], properties: {note: {type: string, title: Note}}}
      not_same_as: [start]
  - id: second
    task: {title: Second, roles: [finance], min_level: 2}
"""
TIMED = """
workflow: timed
title: Timed
undo: PT10M
steps:
  - {id: first, task: {title: First, roles: [finance]}, timeout: PT5M, on_timeout: [{set: {late: true}}]}
"""
VOTE = """
workflow: vote
title: Vote
undo: PT10M
steps:
  - id: vote
    task: {title: Vote, roles: [finance], outcomes: [yes_, no_], complete_when: done == 2}
"""
PLAIN = "workflow: plain\ntitle: Plain\nsteps: [{id: first, task: {title: First, roles: [finance]}}]"
ANSWER: dict[str, Any] = {"outcome": "aye", "values": {"note": "fits"}}


@pytest.fixture
def task(gwen: Actor, uri: Actor) -> Task:
    """Return an open task whose answers can be taken back for ten minutes."""
    activated(gwen, CHECK)
    return only_task(started(uri, "check"))


def given(actor: Actor, task: Task, **answer: Any) -> PendingAnswer:
    answered = give_answer(actor=actor, task_id=task.pk, **(answer or ANSWER))
    assert answered.pending is not None
    return answered.pending


def let_it_be_due(pending: PendingAnswer) -> None:
    PendingAnswer.objects.filter(pk=pending.pk).update(due_at=database_now() - timedelta(seconds=1))


def refusal(act: Any, **words: Any) -> str:
    with pytest.raises(WorkflowError) as refused:
        act(**words)
    return refused.value.code


def kinds(task: Task) -> list[str]:
    return list(TaskEvent.objects.filter(task=task).order_by("id").values_list("kind", flat=True))


def test_an_answer_waits_and_the_case_stands_still(ada: Actor, task: Task) -> None:
    pending = given(ada, task)
    task.refresh_from_db()
    assert (task.status, task.assignee.username if task.assignee else "") == ("claimed", "ada")
    assert (task.answer_by_name, task.answer_due_at) == ("ada", pending.due_at)
    assert pending.due_at - pending.given_at == timedelta(minutes=10)
    assert Task.objects.filter(step="second").count() == 0
    assert kinds(task) == ["created", "claimed", "held"]


def test_it_is_sent_when_it_is_due_and_only_once(ada: Actor, task: Task) -> None:
    pending = given(ada, task)
    drain()
    assert PendingAnswer.objects.filter(pk=pending.pk).exists()
    let_it_be_due(pending)
    drain()
    drain()
    task.refresh_from_db()
    assert (task.status, task.outcome, task.completed_by_name, task.answer) == (
        "completed",
        "aye",
        "ada",
        {"note": "fits"},
    )
    assert task.answer_due_at is None
    assert not PendingAnswer.objects.exists()
    assert Audit.objects.filter(action="task_completed").count() == 1
    assert Task.objects.filter(step="second").count() == 1
    assert undo.send_pending(pending_id=pending.pk) is False


def test_the_audit_folds_to_the_tables_after_an_undo(ada: Actor, task: Task) -> None:
    take_back(actor=ada, batch_id=given(ada, task).batch_id)
    let_it_be_due(given(ada, task))
    drain()
    assert verify_folds().broken == ()
    assert verify_everything().broken == ()
    assert kinds(task) == ["created", "claimed", "held", "taken_back", "held", "completed"]


def test_taken_back_it_is_a_draft_and_the_task_stays_with_its_person(ada: Actor, task: Task) -> None:
    pending = given(ada, task, outcome="aye", values={"note": "oops"}, comment="Hm")
    assert [one.pk for one in take_back(actor=ada, batch_id=pending.batch_id)] == [task.pk]
    task.refresh_from_db()
    assert (task.status, task.answer_due_at, task.answer_by_name) == ("claimed", None, "")
    draft = TaskDraft.objects.get(task=task)
    assert (draft.values, draft.outcome, draft.comment, draft.saved_by_name) == ({"note": "oops"}, "aye", "Hm", "ada")
    assert not PendingAnswer.objects.exists()
    assert complete_task(actor=ada, task_id=task.pk, **ANSWER).task.status == "completed"


def test_it_is_sent_at_once_on_a_second_press(ada: Actor, task: Task) -> None:
    pending = given(ada, task)
    (done,) = send_now(actor=ada, batch_id=pending.batch_id)
    assert done.task.status == "completed"
    assert [one.step for one in done.next_tasks] == ["second"]
    with pytest.raises(NotFound):
        send_now(actor=ada, batch_id=pending.batch_id)


def test_what_was_sent_cannot_be_taken_back(ada: Actor, task: Task) -> None:
    pending = given(ada, task)
    send_now(actor=ada, batch_id=pending.batch_id)
    with pytest.raises(NotFound):
        take_back(actor=ada, batch_id=pending.batch_id)


@pytest.mark.parametrize("name", ["adam", "gwen", "uri", "sam", "stan"])
def test_an_answer_belongs_to_its_person_alone(cast: Cast, ada: Actor, task: Task, name: str) -> None:
    pending, other = given(ada, task), cast.actor(name)
    for act in (take_back, send_now):
        with pytest.raises(NotFound):
            act(actor=other, batch_id=pending.batch_id)
    assert undo.pending_answers(actor=other, batch_id=pending.batch_id) == []


def test_meanwhile_nobody_else_acts_on_the_task(cast: Cast, ada: Actor, gwen: Actor, task: Task) -> None:
    create_person(actor=None, tenant=cast.acme, name="flo", level=4, roles=("finance",))
    flo = cast.actor("flo")
    given(ada, task)
    for who in (flo, gwen, ada):
        assert refusal(complete_task, actor=who, task_id=task.pk, **ANSWER) == "sending"
        assert refusal(give_answer, actor=who, task_id=task.pk, **ANSWER) == "sending"
        assert refusal(claim_task, actor=who, task_id=task.pk) == "sending"
        assert refusal(release_task, actor=who, task_id=task.pk) == "sending"
        assert refusal(suspend_task, actor=who, task_id=task.pk) == "sending"
        assert refusal(assign_task, actor=who, task_id=task.pk, person="flo") == "sending"
    assert refusal(save_task_draft, actor=ada, task_id=task.pk, values={}) == "sending"
    assert refusal(delegate_task, actor=ada, task_id=task.pk, user="flo") == "sending"
    assert comment_task(actor=flo, task_id=task.pk, text="Thanks").text == "Thanks"


def test_others_read_who_answered_and_when_it_is_sent(ada: Actor, gwen: Actor, task: Task) -> None:
    given(ada, task)
    task.refresh_from_db()
    (reason,) = [one for one in access.explain_task(gwen, task) if one.code == "sending"]
    assert (reason.words["who"], reason.facts["by"]) == ("Ada", "ada")
    (own,) = [one for one in access.explain_task(ada, task) if one.code == "sending"]
    assert own.text != reason.text


def test_an_outcome_without_time_is_sent_at_once(ada: Actor, task: Task) -> None:
    answered = give_answer(actor=ada, task_id=task.pk, outcome="now", values={"note": "fits"})
    assert answered.done is not None
    assert answered.done.task.status == "completed"


def test_a_wrong_answer_is_refused_before_anything_is_kept(ada: Actor, uri: Actor, task: Task) -> None:
    assert refusal(give_answer, actor=ada, task_id=task.pk, outcome="aye", values={}) == "invalid"
    assert refusal(give_answer, actor=ada, task_id=task.pk, outcome="nay", values={}) == "comment_required"
    assert refusal(give_answer, actor=ada, task_id=task.pk, outcome="none", values={}) == "invalid"
    task.refresh_from_db()
    assert (task.status, PendingAnswer.objects.count()) == ("open", 0)


@pytest.mark.parametrize(("seconds", "is_kept"), [(None, False), (0, False), (8, True)])
def test_a_tenant_asks_for_it_where_the_author_says_nothing(
    cast: Cast, gwen: Actor, ada: Actor, seconds: int | None, is_kept: bool
) -> None:
    Tenant.objects.filter(pk=cast.acme.pk).update(undo_seconds=seconds)
    activated(gwen, PLAIN)
    answered = give_answer(actor=ada, task_id=only_task(started(gwen, "plain")).pk)
    assert (answered.pending is not None) is is_kept


def refused_when_sent(ada: Actor, task: Task, before: Any) -> PendingAnswer:
    """Give an answer, let something happen, and let it be due; return the row that says why it was not sent."""
    pending = given(ada, task)
    before()
    let_it_be_due(pending)
    drain()
    pending.refresh_from_db()
    task.refresh_from_db()
    assert (task.answer_due_at, task.answer_by_name) == (None, "")
    assert TaskDraft.objects.get(task=task).values == {"note": "fits"}
    assert TaskEvent.objects.filter(task=task, kind="not_sent").count() == 1
    drain()
    assert TaskEvent.objects.filter(task=task, kind="not_sent").count() == 1
    return pending


def test_a_case_that_was_cancelled_meanwhile_refuses_it(ada: Actor, gwen: Actor, task: Task) -> None:
    row = refused_when_sent(ada, task, lambda: cancel_instance(actor=gwen, instance_id=task.instance_id, reason="no"))
    assert (row.refusal, task.status) == ("closed", "cancelled")
    assert row.refusal_text
    assert Notification.objects.filter(kind="not_sent", person__username="ada").exists()


def test_a_case_that_is_suspended_gives_the_answer_back(ada: Actor, gwen: Actor, task: Task) -> None:
    row = refused_when_sent(ada, task, lambda: suspend_instance(actor=gwen, instance_id=task.instance_id))
    assert (row.refusal, task.status) == ("status", "claimed")


def test_four_eyes_are_decided_when_it_is_sent(cast: Cast, ada: Actor, task: Task) -> None:
    from workflowplatform.accounts.models import User

    row = refused_when_sent(ada, task, lambda: User.objects.filter(pk=cast.ada.pk).update(same_eyes=["uri"]))
    assert row.refusal == "four_eyes"


def test_a_person_who_left_sends_nothing(cast: Cast, ada: Actor, gwen: Actor, task: Task) -> None:
    row = refused_when_sent(ada, task, lambda: deactivate_person(actor=gwen, person=cast.ada))
    assert (row.refusal, task.status, task.assignee) == ("level", "open", None)


def test_a_form_that_changed_is_not_answered(ada: Actor, task: Task) -> None:
    form = {"type": "object", "properties": {"note": {"type": "string", "title": "Other words"}}}
    row = refused_when_sent(ada, task, lambda: Task.objects.filter(pk=task.pk).update(form=form))
    assert row.refusal == "form_changed"


def test_a_deputy_whose_absence_ended_sends_nothing(cast: Cast, ada: Actor, gwen: Actor) -> None:
    activated(gwen, "workflow: own\ntitle: Own\nundo: PT10M\nsteps: [{id: a, task: {title: A, assignee: ada}}]")
    create_person(actor=None, tenant=cast.acme, name="flo", level=4, roles=("finance", "support"))
    absence = away(ada, "ada", "flo")
    task = only_task(started(gwen, "own"))
    pending = given(cast.actor("flo"), task, outcome="done")
    task.refresh_from_db()
    assert (task.assignee.username if task.assignee else "", task.answer_by_name) == ("ada", "flo")
    type(absence).objects.filter(pk=absence.pk).update(ends_at=database_now() - timedelta(seconds=1))
    let_it_be_due(pending)
    drain()
    pending.refresh_from_db()
    task.refresh_from_db()
    assert pending.refused_at is not None
    assert task.status == "claimed"


def test_a_deputys_answer_is_sent_for_the_absent_person(cast: Cast, ada: Actor, gwen: Actor) -> None:
    activated(gwen, "workflow: own\ntitle: Own\nundo: PT10M\nsteps: [{id: a, task: {title: A, assignee: ada}}]")
    create_person(actor=None, tenant=cast.acme, name="flo", level=4, roles=("finance", "support"))
    away(ada, "ada", "flo")
    task = only_task(started(gwen, "own"))
    let_it_be_due(given(cast.actor("flo"), task, outcome="done"))
    drain()
    task.refresh_from_db()
    assert (task.completed_by_name, task.completed_for_name) == ("flo", "ada")


def test_it_is_sent_before_the_next_timer_of_the_case(gwen: Actor, ada: Actor) -> None:
    activated(gwen, TIMED)
    task = only_task(started(gwen, "timed"))
    pending = given(ada, task, outcome="done")
    timer = Signal.objects.get(instance=task.instance)
    assert pending.due_at == timer.due_at - timedelta(seconds=1)


def test_with_a_timer_at_hand_nothing_is_kept(gwen: Actor, ada: Actor) -> None:
    activated(gwen, TIMED)
    task = only_task(started(gwen, "timed"))
    Signal.objects.filter(instance=task.instance).update(due_at=database_now() + timedelta(seconds=1))
    assert give_answer(actor=ada, task_id=task.pk, outcome="done").done is not None


def test_after_an_outage_the_answer_comes_before_the_timer(gwen: Actor, ada: Actor) -> None:
    activated(gwen, TIMED)
    task = only_task(started(gwen, "timed"))
    let_it_be_due(given(ada, task, outcome="done"))
    Signal.objects.filter(instance=task.instance).update(due_at=F("occurred_at"))
    drain()
    task.refresh_from_db()
    assert (task.status, task.completed_by_name) == ("completed", "ada")


def test_several_people_each_have_their_own_time(cast: Cast, gwen: Actor, ada: Actor) -> None:
    create_person(actor=None, tenant=cast.acme, name="flo", level=4, roles=("finance",))
    flo = cast.actor("flo")
    activated(gwen, VOTE)
    task = only_task(started(gwen, "vote"))
    first, second = given(ada, task, outcome="yes_"), given(flo, task, outcome="no_")
    assert refusal(give_answer, actor=ada, task_id=task.pk, outcome="no_") == "sending"
    task.refresh_from_db()
    assert (task.status, task.answer_due_at) == ("open", None)
    take_back(actor=flo, batch_id=second.batch_id)
    assert TaskDraft.objects.get(task=task).owner_id == flo.person_id
    let_it_be_due(first)
    let_it_be_due(given(flo, task, outcome="yes_"))
    drain()
    assert Instance.objects.get(pk=task.instance_id).status == "completed"


def test_answers_given_together_are_taken_back_together(gwen: Actor, uri: Actor, ada: Actor) -> None:
    activated(gwen, CHECK)
    tasks = [only_task(started(uri, "check")) for _ in range(3)]
    first = given(ada, tasks[0])
    for task in tasks[1:]:
        give_answer(actor=ada, task_id=task.pk, batch_id=first.batch_id, **ANSWER)
    assert len(take_back(actor=ada, batch_id=first.batch_id)) == 3
    assert not PendingAnswer.objects.exists()
    assert TaskDraft.objects.count() == 3


def test_a_refusal_goes_when_its_person_answers_anew(ada: Actor, gwen: Actor, task: Task) -> None:
    row = refused_when_sent(ada, task, lambda: suspend_instance(actor=gwen, instance_id=task.instance_id))
    from engine.services.instances.repair import resume_instance

    resume_instance(actor=gwen, instance_id=task.instance_id)
    again = given(ada, task)
    assert list(PendingAnswer.objects.values_list("pk", flat=True)) == [again.pk]
    assert row.pk != again.pk


def test_a_failure_of_the_machine_is_tried_again_and_then_given_back(
    ada: Actor, task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    pending = given(ada, task)

    def breaks(*_: Any) -> Answered:
        raise RuntimeError("broken")

    monkeypatch.setattr(undo, "answer_held", breaks)
    for number in range(undo.MOST_FAILURES):
        let_it_be_due(pending)
        drain()
        pending.refresh_from_db()
        assert (pending.refused_at is not None) is (number == undo.MOST_FAILURES - 1)
    assert pending.refusal == "failed"
    assert TaskDraft.objects.get(task=task).values == {"note": "fits"}


def test_a_worker_wakes_when_an_answer_is_due(ada: Actor, task: Task) -> None:
    import time

    pending = given(ada, task)
    PendingAnswer.objects.filter(pk=pending.pk).update(due_at=database_now() + timedelta(seconds=2))
    assert 0.5 < seconds_to_next_look(time.monotonic()) <= 2
