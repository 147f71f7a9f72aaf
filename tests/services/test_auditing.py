"""The audit shows what was changed behind everybody's back."""

from collections.abc import Callable

import pytest
from django.core.management import call_command
from django.db import connection

from engine.models import Audit, Instance, StepRun, Task
from engine.services.audit.verification import verify_audit, verify_everything, verify_folds
from engine.services.instances.lifecycle import cancel_instance
from engine.services.instances.repair import resume_instance, suspend_instance
from engine.services.tasks.lifecycle import claim_task, complete_task, release_task
from tests.cast import Cast
from tests.workflows import APPROVAL, activated, only_task, started


@pytest.fixture
def told(committed_cast: Cast) -> Instance:
    """Give an instance with a history."""
    cast = committed_cast
    activated(cast.actor("gwen"), APPROVAL)
    instance = started(cast.actor("uri"), "approval", amount=5)
    complete_task(actor=cast.actor("ada"), task_id=only_task(instance).pk, outcome="approve", values={"note": "ok"})
    return instance


def tamper(sql: str) -> None:
    """Change rows as somebody with the database's own rights could, past its triggers."""
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
    tamper(f"UPDATE wf_audit SET actor_name = 'nobody' WHERE subject_id = '{told.pk}' AND seq = 3")
    broken = verify_everything().broken
    assert [(one.subject_id, one.seq, one.what) for one in broken] == [(told.pk, 3, "it was changed")]
    with pytest.raises(SystemExit):
        call_command("verify_audit")
    assert f"instance {told.pk} row 3: it was changed" in capsys.readouterr().out


def test_a_removed_row_is_named(told: Instance) -> None:
    tamper(f"DELETE FROM wf_audit WHERE subject_id = '{told.pk}' AND seq = 2")
    assert [(one.seq, one.what) for one in verify_everything().broken] == [(3, "rows are missing before it")]


def test_a_cut_off_end_is_noticed(told: Instance) -> None:
    last = Audit.objects.filter(subject_id=told.pk).order_by("-seq")[0].seq
    tamper(f"DELETE FROM wf_audit WHERE subject_id = '{told.pk}' AND seq = {last}")
    assert "does not end" in verify_everything().broken[0].what


# The audit folded


def test_the_folded_audit_equals_the_tables(told: Instance) -> None:
    verdict = verify_folds()
    assert (verdict.broken, verdict.chains) == ((), 1)
    call_command("verify_audit", "--fold")


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda: StepRun.objects.filter(step="mark").update(status="failed"), "step runs differ at mark"),
        (lambda: StepRun.objects.filter(step="review").delete(), "step runs differ at review"),
        (lambda: Task.objects.update(assignee=None), "says of the task at"),
    ],
)
def test_a_table_changed_past_the_services_is_noticed(told: Instance, change: Callable[[], object], what: str) -> None:
    change()
    assert any(what in broken.what for broken in verify_folds().broken)
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
