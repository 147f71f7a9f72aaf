"""The audit shows what was changed behind everybody's back."""

import pytest
from django.core.management import call_command
from django.db import connection

from engine.models import Audit, Instance
from engine.services.auditing import verify_audit, verify_everything
from engine.services.tasks import complete_task
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
