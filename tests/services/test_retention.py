"""Retention: what is past its window goes whole, what lives stays, and the audit still holds."""

import io
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction
from django.db.models import F

from engine.audit.chain import database_now
from engine.audit.subjects import OTHER_END_THAN_ANCHOR
from engine.db.host_locks import LockHeld, host_lock
from engine.errors import Conflict, Invalid, NotFound, Refused
from engine.models import (
    Audit,
    AuditAnchor,
    BulkAct,
    BulkRow,
    DeadLetter,
    Event,
    Instance,
    JournalRow,
    KeptSignal,
    RetentionRule,
    RuntimeState,
    ScheduleFire,
    Task,
    TaskEvent,
)
from engine.services.audit.verification import verify_everything
from engine.services.instances.bulk_operations import begin_bulk_act
from engine.services.instances.lifecycle import cancel_instance
from engine.services.retention.purge import apply_retention, keep_instance, list_retention, set_retention
from engine.services.schedules.lifecycle import create_schedule
from engine.services.tasks.comments import comment_task
from engine.services.tasks.lifecycle import complete_task
from tests.cast import Cast
from tests.workflows import APPROVAL, TIMER, activated, only_task, started

PARENT = """
workflow: parent
title: Parent
steps:
  - id: sub
    workflow: {name: approval, input: {amount: 3}}
"""

CHAINED = """
workflow: chained
title: Chained
steps:
  - id: next
    continue_with: {name: approval, input: {amount: 4}}
"""

GONE_WITH_IT = (
    "wf_runtime_states", "wf_waits", "wf_step_runs", "wf_tasks", "wf_task_events", "wf_signals", "wf_signal_receipts",
    "wf_dead_letters", "wf_effects", "wf_task_comments", "wf_task_attachments",
)  # fmt: skip


@pytest.fixture
def approvals(cast: Cast) -> None:
    """Give Acme its approval template."""
    activated(cast.actor("gwen"), APPROVAL)


def ended(cast: Cast, *, days: int, how: str = "completed", amount: float = 5) -> Instance:
    """Return an instance that ended that many days ago."""
    instance = started(cast.actor("uri"), "approval", amount=amount)
    if how == "completed":
        task = only_task(instance)
        comment_task(actor=cast.actor("ada"), task_id=task.pk, text="Looks good.")
        complete_task(actor=cast.actor("ada"), task_id=task.pk, outcome="approve", values={"note": "ok"})
    else:
        cancel_instance(actor=cast.actor("ada"), instance_id=instance.pk, reason="no longer wanted")
    return aged(instance, days=days)


def aged(instance: Instance, *, days: int) -> Instance:
    Instance.objects.filter(pk=instance.pk).update(ended_at=database_now() - timedelta(days=days))
    instance.refresh_from_db()
    return instance


def rows_of(instance: Instance, table: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {table} WHERE instance_id = %s", [instance.pk])
        return int(cursor.fetchone()[0])


def exists(instance: Instance) -> bool:
    return Instance.objects.filter(pk=instance.pk).exists()


def keep(cast: Cast, template: str | None = None, **windows: str) -> None:
    set_retention(actor=cast.actor("gwen"), template=template, **windows)


@pytest.mark.usefixtures("approvals")
def test_without_a_rule_everything_is_kept(cast: Cast) -> None:
    old = ended(cast, days=9999)
    assert apply_retention().templates == []
    assert exists(old)


@pytest.mark.usefixtures("approvals")
def test_what_is_past_its_window_goes_with_everything_beside_it(cast: Cast) -> None:
    keep(cast, completed_for="P30D")
    old, young = ended(cast, days=31), ended(cast, days=29)
    [found] = apply_retention().templates
    assert (found.template, found.completed, found.cancelled) == ("approval", 1, 0)
    assert not exists(old)
    assert exists(young)
    assert {table: rows_of(old, table) for table in GONE_WITH_IT} == dict.fromkeys(GONE_WITH_IT, 0)
    assert rows_of(young, "wf_task_events") > 0
    assert rows_of(young, "wf_task_comments") == 1


@pytest.mark.usefixtures("approvals")
def test_cancelled_instances_have_a_window_of_their_own(cast: Cast) -> None:
    keep(cast, completed_for="P30D", cancelled_for="P5D")
    completed, cancelled = ended(cast, days=10), ended(cast, days=10, how="cancelled")
    apply_retention()
    assert (exists(completed), exists(cancelled)) == (True, False)


@pytest.mark.usefixtures("approvals")
def test_a_templates_rule_wins_over_the_tenants(cast: Cast) -> None:
    keep(cast, completed_for="P5D", cancelled_for="P5D")
    keep(cast, "approval", completed_for="P30D")
    completed, cancelled = ended(cast, days=10), ended(cast, days=10, how="cancelled")
    apply_retention()
    assert (exists(completed), exists(cancelled)) == (True, False)


@pytest.mark.usefixtures("approvals")
def test_a_dry_run_counts_the_same_and_deletes_nothing(cast: Cast) -> None:
    keep(cast, completed_for="P5D", cancelled_for="P5D", runtime_for="P5D", audit_for="P5D")
    instances = [ended(cast, days=10), ended(cast, days=10, how="cancelled"), ended(cast, days=1)]
    [would] = apply_retention(dry_run=True).templates
    assert all(exists(instance) for instance in instances)
    assert (would.completed, would.cancelled, would.runtime, would.audit) == (1, 1, 2, 2)
    [did] = apply_retention().templates
    assert (did.completed, did.cancelled, did.audit) == (1, 1, 2)
    assert apply_retention(dry_run=True).templates == []


@pytest.mark.usefixtures("approvals")
def test_another_tenants_rule_is_theirs(cast: Cast) -> None:
    set_retention(actor=cast.actor("sam"), completed_for="P1D")
    assert list_retention(actor=cast.actor("gwen")) == []
    old = ended(cast, days=10)
    apply_retention()
    assert exists(old)


@pytest.mark.usefixtures("approvals")
def test_one_tenant_alone_can_be_swept(cast: Cast) -> None:
    keep(cast, completed_for="P1D")
    old = ended(cast, days=10)
    apply_retention(tenant=cast.globex)
    assert exists(old)
    apply_retention(tenant=cast.acme)
    assert not exists(old)


# Active work


@pytest.mark.usefixtures("approvals")
def test_running_work_is_never_touched(cast: Cast) -> None:
    keep(cast, completed_for="PT0S", cancelled_for="PT0S", runtime_for="PT0S", audit_for="PT0S")
    running = started(cast.actor("uri"), "approval", amount=5)
    assert apply_retention().templates == []
    assert (exists(running), Task.objects.filter(instance=running).count()) == (True, 1)
    assert Audit.objects.filter(subject_id=running.pk).exists()


@pytest.mark.usefixtures("approvals")
@pytest.mark.parametrize("act", ["wf_purge_instances", "wf_purge_runtime", "wf_purge_chains"])
def test_the_database_itself_refuses_to_purge_what_lives(cast: Cast, act: str) -> None:
    running = started(cast.actor("uri"), "approval", amount=5)
    with pytest.raises(IntegrityError) as refused, transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SELECT {act}(%s)", [[running.pk]])
    assert getattr(refused.value.__cause__, "diag").constraint_name == "only_ended_goes"  # noqa: B009


@pytest.mark.usefixtures("approvals")
def test_a_called_case_goes_with_the_one_that_called_it(cast: Cast) -> None:
    activated(cast.actor("gwen"), PARENT)
    keep(cast, completed_for="P5D")
    parent = started(cast.actor("ada"), "parent")
    child = Instance.objects.get(parent=parent)
    Instance.objects.filter(pk=child.pk).update(started_at=F("started_at") - timedelta(days=50))
    apply_retention()
    assert exists(parent)
    cancel_instance(actor=cast.actor("gwen"), instance_id=child.pk, reason="old")
    aged(child, days=50)
    apply_retention()
    assert exists(child), "its parent has not taken the answer yet"


@pytest.mark.usefixtures("approvals")
def test_a_case_that_was_continued_with_goes_its_own_way(cast: Cast) -> None:
    activated(cast.actor("gwen"), CHAINED)
    keep(cast, completed_for="P5D")
    first = aged(started(cast.actor("ada"), "chained"), days=10)
    second = Instance.objects.get(parent=first)
    assert (first.status, second.status) == ("completed", "running")
    apply_retention()
    second.refresh_from_db()
    assert (exists(first), second.status, second.parent_id) == (False, "running", None)


@pytest.mark.usefixtures("approvals")
def test_a_dead_letter_holds_its_instance(cast: Cast) -> None:
    keep(cast, completed_for="P5D", runtime_for="P5D")
    old = ended(cast, days=10)
    DeadLetter.objects.create(tenant=cast.acme, instance=old, envelope={}, reason="x", node="n", at=database_now())
    assert apply_retention().templates == []


@pytest.mark.usefixtures("approvals")
def test_purge_after_keeps_an_instance_longer(cast: Cast) -> None:
    keep(cast, completed_for="P5D", runtime_for="P5D", audit_for="P5D")
    old, ada = ended(cast, days=10), cast.actor("ada")
    with pytest.raises(NotFound):
        keep_instance(actor=cast.actor("sam"), instance_id=old.pk, until=None)
    keep_instance(actor=ada, instance_id=old.pk, until=database_now() + timedelta(days=1), reason="a court asks")
    assert apply_retention().templates == []
    keep_instance(actor=ada, instance_id=old.pk, until=None)
    apply_retention()
    assert not exists(old)


@pytest.mark.usefixtures("approvals")
def test_the_runtime_goes_before_the_instance(cast: Cast) -> None:
    keep(cast, runtime_for="P5D", completed_for="P30D")
    old = ended(cast, days=10)
    [found] = apply_retention().templates
    assert (found.runtime, found.completed) == (1, 0)
    assert not RuntimeState.objects.filter(pk=old.pk).exists()
    assert (rows_of(old, "wf_tasks"), rows_of(old, "wf_signal_receipts")) == (1, 0)
    with pytest.raises(Conflict):
        keep_instance(actor=cast.actor("ada"), instance_id=old.pk, until=database_now())
    with pytest.raises(Conflict) as refusal:
        cancel_instance(actor=cast.actor("ada"), instance_id=old.pk, reason="late")
    assert refusal.value.facts == {"status": "completed"}


# The audit


@pytest.mark.usefixtures("approvals")
def test_the_chain_of_a_gone_instance_is_kept_and_still_verified(cast: Cast) -> None:
    keep(cast, completed_for="P5D")
    old = ended(cast, days=10)
    count = Audit.objects.filter(subject_id=old.pk).count()
    apply_retention()
    anchor = AuditAnchor.objects.get(pk=old.pk)
    assert (anchor.seq, anchor.purged_at, Audit.objects.filter(subject_id=old.pk).count()) == (count, None, count)
    assert verify_everything().broken == ()


@pytest.mark.usefixtures("approvals")
def test_a_chain_shortened_after_its_instance_went_is_noticed(cast: Cast) -> None:
    keep(cast, completed_for="P5D")
    old = ended(cast, days=10)
    apply_retention()
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('workflow.purging', 'on', true)")
        cursor.execute("DELETE FROM wf_audit WHERE subject_id = %s AND seq > 1", [old.pk])
    [broken] = verify_everything().broken
    assert (broken.subject_id, broken.what) == (old.pk, OTHER_END_THAN_ANCHOR)


@pytest.mark.usefixtures("approvals")
@pytest.mark.parametrize("completed_for", ["", "P5D"])
def test_a_chain_past_its_window_goes_whole_and_leaves_an_anchor(cast: Cast, completed_for: str) -> None:
    keep(cast, completed_for=completed_for, audit_for="P8D")
    old, young = ended(cast, days=10), ended(cast, days=7)
    [found] = apply_retention().templates
    assert found.audit == 1
    assert not Audit.objects.filter(subject_id=old.pk).exists()
    assert Audit.objects.filter(subject_id=young.pk).exists()
    assert AuditAnchor.objects.get(pk=old.pk).purged_at is not None
    assert verify_everything().broken == ()


@pytest.mark.usefixtures("approvals")
def test_a_chain_goes_on_behind_its_anchor(cast: Cast) -> None:
    keep(cast, audit_for="P5D")
    old = ended(cast, days=10)
    apply_retention()
    keep_instance(actor=cast.actor("ada"), instance_id=old.pk, until=None)
    rows = Audit.objects.filter(subject_id=old.pk)
    assert rows.get().seq == AuditAnchor.objects.get(pk=old.pk).seq + 1
    assert verify_everything().broken == ()
    apply_retention()
    assert not rows.exists()
    assert verify_everything().broken == ()


@pytest.mark.usefixtures("approvals")
def test_a_broken_chain_is_evidence_and_stays(cast: Cast) -> None:
    keep(cast, audit_for="P5D")
    old = ended(cast, days=10)
    Instance.objects.filter(pk=old.pk).update(audit_hash="0" * 64)
    apply_retention()
    assert Audit.objects.filter(subject_id=old.pk).exists()


@pytest.mark.usefixtures("approvals")
@pytest.mark.parametrize("model", [JournalRow, TaskEvent, AuditAnchor])
def test_history_still_cannot_be_deleted_by_hand(cast: Cast, model: Any) -> None:
    keep(cast, completed_for="P8D")
    ended(cast, days=10), ended(cast, days=1)
    apply_retention()
    rows = model._default_manager.all()
    assert rows.exists()
    for act in (lambda: rows.update(tenant_id=cast.globex.pk), lambda: rows._raw_delete(rows.db)):
        with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
            act()


@pytest.mark.usefixtures("approvals")
def test_each_run_that_deletes_is_noted_with_the_tenant(cast: Cast) -> None:
    keep(cast, completed_for="P5D")
    ended(cast, days=10)
    apply_retention()
    noted = Audit.objects.get(subject_id=cast.acme.pk, action="apply_retention")
    assert (noted.actor_name, noted.new["completed"]) == ("operator", 1)


# Rules, rows of no tenant, the command


def test_rules_are_set_by_authors_and_checked(cast: Cast) -> None:
    with pytest.raises(Refused):
        set_retention(actor=cast.actor("ada"), completed_for="P1D")
    with pytest.raises(Invalid):
        set_retention(actor=cast.actor("gwen"), completed_for="a while")
    with pytest.raises(Invalid):
        set_retention(actor=cast.actor("gwen"), drafts_for="P1D")
    with pytest.raises(NotFound):
        set_retention(actor=cast.actor("gwen"), template="nothing", completed_for="P1D")
    assert not RetentionRule.objects.exists()


def test_signals_kept_too_long_go_whatever_the_rules(cast: Cast) -> None:
    now = database_now()
    for days in (-1, 1):
        at = {"sent_at": now, "expires_at": now + timedelta(days=days)}
        KeptSignal.objects.create(tenant=cast.acme, name="paid", key="A7", **at)
    assert apply_retention(dry_run=True).kept_signals == 1
    assert apply_retention().kept_signals == 1
    assert KeptSignal.objects.get().expires_at > now


LONG_AGO = timedelta(days=91)


def test_ids_of_events_are_known_for_ninety_days(cast: Cast) -> None:
    now = database_now()
    for name, at in (("old", now - LONG_AGO), ("new", now)):
        Event.objects.create(tenant=cast.acme, kind="event", name="paid", external_id=name, at=at)
    assert apply_retention(dry_run=True).events == 1
    assert apply_retention().events == 1
    assert Event.objects.get().external_id == "new"


def test_old_slots_go_but_none_that_waits_or_must_not_come_again(cast: Cast) -> None:
    activated(cast.actor("gwen"), TIMER)
    long_ago = database_now() - LONG_AGO
    own = {"actor": cast.actor("gwen"), "template": "timer"}
    daily = create_schedule(**own, cron="0 6 * * *")
    once = create_schedule(**own, once_at=database_now() + timedelta(days=1))
    rows = [(daily, 0, "started"), (daily, 1, "skipped"), (daily, 2, "waiting"), (once, 0, "started")]
    for schedule, number, outcome in rows:
        slot = long_ago + timedelta(hours=number)
        ScheduleFire.objects.create(tenant=cast.acme, schedule=schedule, slot=slot, outcome=outcome, at=slot)
    ScheduleFire.objects.create(
        tenant=cast.acme, schedule=daily, slot=database_now(), outcome="started", at=database_now()
    )
    assert apply_retention(dry_run=True).slots == 2
    assert apply_retention().slots == 2
    left = ScheduleFire.objects.filter(at__lte=long_ago + timedelta(hours=3))
    assert {(fire.schedule_id, fire.outcome) for fire in left} == {(daily.pk, "waiting"), (once.pk, "started")}
    assert ScheduleFire.objects.count() == 3


def test_acts_over_many_rows_go_with_their_rows_once_they_are_long_over(cast: Cast) -> None:
    activated(cast.actor("gwen"), TIMER)
    ids = [started(cast.actor("ada"), "timer").pk for _ in range(2)]
    old, open_one = (
        begin_bulk_act(actor=cast.actor("ada"), action="suspend", subject_ids=ids, reason="audit") for _ in range(2)
    )
    BulkAct.objects.filter(pk=old.pk).update(ended_at=database_now() - LONG_AGO)
    BulkAct.objects.filter(pk=open_one.pk).update(started_at=database_now() - LONG_AGO)
    swept = apply_retention()
    assert (swept.bulk_acts, swept.bulk_rows) == (1, 2)
    assert (BulkAct.objects.get().pk, BulkRow.objects.count()) == (open_one.pk, 2)


def test_only_one_host_at_a_time_sweeps(cast: Cast) -> None:
    with host_lock("retention"), pytest.raises(LockHeld):
        apply_retention()
    apply_retention()


@pytest.fixture
def told() -> Callable[..., str]:
    """Return the command's words."""

    def run(*words: str) -> str:
        out = io.StringIO()
        call_command("retention", *words, stdout=out)
        return out.getvalue()

    return run


@pytest.mark.usefixtures("approvals")
def test_the_command_sets_lists_tries_and_sweeps(cast: Cast, told: Callable[..., str]) -> None:
    assert "completed_for P5D" in told("set", "--tenant", "acme", "--completed", "P5D")
    assert told("rules", "--tenant", "acme") == "everything else: completed_for P5D\n"
    old = ended(cast, days=10)
    assert "Would go: 1 completed" in told("--dry-run")
    assert exists(old)
    assert json.loads(told("--json"))["templates"][0]["completed"] == 1
    assert not exists(old)
    with pytest.raises(CommandError, match="--tenant"):
        told("set", "--completed", "P5D")
