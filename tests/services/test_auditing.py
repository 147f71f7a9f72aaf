"""The audit shows what was changed behind everybody's back."""

import pytest
from django.core.management import call_command
from django.db import connection

from engine.audit.subjects import CHANGED, OTHER_END, ROWS_MISSING
from engine.models import Audit, Instance, JournalRow, Task
from engine.services.audit.verification import verify_audit, verify_everything, verify_folds
from engine.services.instances.lifecycle import cancel_instance
from engine.services.instances.repair import resume_instance, suspend_instance
from engine.services.tasks.lifecycle import claim_task, complete_task, release_task
from tests.cast import Cast
from tests.workflows import APPROVAL, activated, only_task, started


@pytest.fixture
def told(committed_cast: Cast) -> Instance:
    """Return an instance with a history."""
    cast = committed_cast
    activated(cast.actor("gwen"), APPROVAL)
    instance = started(cast.actor("uri"), "approval", amount=5)
    complete_task(actor=cast.actor("ada"), task_id=only_task(instance).pk, outcome="approve", values={"note": "ok"})
    return instance


def last_row(told: Instance) -> JournalRow:
    return JournalRow.objects.filter(subject_id=told.pk).order_by("-seq")[0]


def tamper(sql: str) -> None:
    """Change rows as a person with the database's own rights could, past its triggers."""
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE wf_audit DISABLE TRIGGER append_only")
        cursor.execute(sql)
        cursor.execute("ALTER TABLE wf_audit ENABLE TRIGGER append_only")


def test_an_untouched_audit_is_whole(committed_cast: Cast, told: Instance) -> None:
    verdict = verify_everything()
    assert verdict.broken == ()
    assert verdict.rows == Audit.objects.count()
    assert verify_audit(actor=committed_cast.actor("ada")).rows < verdict.rows
    call_command("verify_audit")


def test_a_changed_row_is_named(told: Instance, capsys: pytest.CaptureFixture[str]) -> None:
    last = last_row(told)
    tamper(f"UPDATE wf_audit SET actor_name = 'nobody' WHERE id = {last.pk}")
    broken = verify_everything().broken
    assert [(one.subject_id, one.seq, one.what) for one in broken] == [(told.pk, last.seq, CHANGED)]
    with pytest.raises(SystemExit):
        call_command("verify_audit")
    out = capsys.readouterr().out
    assert str(told.pk) in out
    assert CHANGED in out


def test_a_removed_row_is_named(told: Instance) -> None:
    first, next_row, *_ = JournalRow.objects.filter(subject_id=told.pk).order_by("seq")
    tamper(f"DELETE FROM wf_audit WHERE id = {first.pk}")
    assert [(one.seq, one.what) for one in verify_everything().broken] == [(next_row.seq, ROWS_MISSING)]


def test_a_cut_off_end_is_noticed(told: Instance) -> None:
    tamper(f"DELETE FROM wf_audit WHERE id = {last_row(told).pk}")
    assert verify_everything().broken[0].what == OTHER_END


# The audit folded


def test_the_folded_audit_equals_the_tables(told: Instance) -> None:
    verdict = verify_folds()
    assert (verdict.broken, verdict.chains) == ((), 1)
    call_command("verify_audit", "--fold")


def test_a_table_changed_past_the_services_is_noticed(told: Instance) -> None:
    Task.objects.update(assignee=None)
    assert any("says of the task at" in broken.what for broken in verify_folds().broken)
    with pytest.raises(SystemExit):
        call_command("verify_audit", "--fold")


def test_the_fold_follows_every_act_on_a_task_and_an_instance(committed_cast: Cast) -> None:
    ada, gwen = committed_cast.actor("ada"), committed_cast.actor("gwen")
    activated(gwen, APPROVAL)
    first, second, third = (started(committed_cast.actor("uri"), "approval", amount=amount) for amount in (1, 2, 3))
    claim_task(actor=ada, task_id=only_task(first).pk)
    assert verify_folds().broken == ()
    release_task(actor=ada, task_id=only_task(first).pk)
    claim_task(actor=ada, task_id=only_task(second).pk)
    suspend_instance(actor=ada, instance_id=second.pk)
    cancel_instance(actor=ada, instance_id=third.pk, reason="no")
    assert verify_folds().broken == ()
    resume_instance(actor=ada, instance_id=second.pk)
    assert verify_folds().broken == ()
