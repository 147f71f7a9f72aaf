"""Retention that runs by itself: once a day, by one worker, in shares, and on request."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from engine.audit.chain import database_now
from engine.db.host_locks import holder_of
from engine.dispatch.retention import EVERY, Sweeper
from engine.models import Audit, Event, Instance, RetentionRule, RetentionRun, RuntimeState, TaskAttachment
from engine.services.retention import runs as retention_runs
from engine.services.retention.purge import LOCK, apply_retention, keep_instance, set_retention
from engine.services.retention.runs import DAILY, ask_retention, begin_shares, has_work
from engine.services.tasks.lifecycle import complete_task
from engine.storage.attachments import file_path
from engine.storage.attachments import keep as keep_file
from tests.cast import Cast
from tests.services.test_retention import aged, ended
from tests.workflows import APPROVAL, activated, only_task, started
from workflowplatform.ids import uuid7


@pytest.fixture(autouse=True)
def by_itself(settings: Any) -> None:
    """Let workers do this, which other tests want nothing of."""
    settings.WORKFLOW_RETENTION = True


@pytest.fixture
def old(cast: Cast) -> list[Instance]:
    """Let Acme keep completed work for ten days, and have three cases that are older."""
    activated(cast.actor("gwen"), APPROVAL)
    set_retention(actor=cast.actor("gwen"), completed_for="P10D")
    return [ended(cast, days=30) for _ in range(3)]


def sweep(sweeper: Sweeper | None = None) -> int:
    """Let a worker look until it has nothing left to do; say how many shares that took."""
    sweeper, shares = sweeper or Sweeper(), 0
    sweeper.look()
    while sweeper.every < EVERY:
        sweeper.look()
        shares += 1
    return shares


def expire(name: str) -> None:
    """Let a lock run out, as it does by the clock."""
    with connection.cursor() as cursor:
        cursor.execute("UPDATE wf_host_locks SET expires_at = clock_timestamp() WHERE name = %s", [name])


def left(instances: list[Instance]) -> int:
    return Instance.objects.filter(pk__in=[one.pk for one in instances]).count()


def test_workers_run_the_rules_once_a_day(cast: Cast, old: list[Instance]) -> None:
    sweep()
    run = RetentionRun.objects.get()
    assert (left(old), run.counts, run.asked_by, run.error) == (0, {"completed": 3}, "", "")
    assert run.ended_at is not None
    assert Audit.objects.get(subject_id=cast.acme.pk, action="apply_retention").new == {"completed": 3}
    later = [ended(cast, days=30)]
    assert not has_work(daily=True)
    sweep()
    assert left(later) == 1
    expire(DAILY)
    RetentionRun.objects.update(ended_at=database_now() - timedelta(days=1))
    sweep()
    assert (left(later), RetentionRun.objects.count()) == (0, 2)


def test_of_two_workers_one_runs_it(old: list[Instance]) -> None:
    first, second = Sweeper(), Sweeper()
    first.look()
    second.look()
    assert (first.every < EVERY, second.every) == (True, EVERY)
    sweep(first)
    assert (left(old), RetentionRun.objects.count(), holder_of(LOCK)) == (0, 1, None)


def test_what_a_killed_worker_began_is_continued(monkeypatch: pytest.MonkeyPatch, old: list[Instance]) -> None:
    monkeypatch.setattr(retention_runs, "SHARE", 1)
    killed = begin_shares(daily=True)
    assert killed is not None
    while left(old) == 3:
        next(killed)
    assert (left(old), RetentionRun.objects.get().counts) == (2, {"completed": 1})
    sweep()
    assert left(old) == 2, "the lock still holds"
    expire(LOCK)
    sweep()
    run = RetentionRun.objects.get()
    assert (left(old), run.counts, run.ended_at is None) == (0, {"completed": 3}, False)


def test_a_worker_that_stops_gives_the_lock_back(old: list[Instance]) -> None:
    stopped = Sweeper()
    stopped.look()
    stopped.leave()
    assert holder_of(LOCK) is None
    sweep()
    assert left(old) == 0


def test_a_share_lets_only_a_few_go(monkeypatch: pytest.MonkeyPatch, old: list[Instance]) -> None:
    monkeypatch.setattr(retention_runs, "SHARE", 1)
    sweeper, most, before = Sweeper(), 0, 3
    sweeper.look()
    while sweeper.every < EVERY:
        sweeper.look()
        most, before = max(most, before - left(old)), left(old)
    assert (most, before) == (1, 0)


def test_house_rows_go_in_shares_too(monkeypatch: pytest.MonkeyPatch, cast: Cast) -> None:
    monkeypatch.setattr(retention_runs, "SHARE", 1)
    at = database_now() - timedelta(days=100)
    Event.objects.bulk_create(
        Event(tenant=cast.acme, kind="event", name="paid", external_id=str(n), at=at) for n in range(25)
    )
    assert sweep() >= 3
    assert not Event.objects.exists()


def test_switched_off_workers_run_only_what_was_asked_for(settings: Any, cast: Cast, old: list[Instance]) -> None:
    settings.WORKFLOW_RETENTION = False
    sweep()
    assert left(old) == 3
    ask_retention(actor=cast.actor("gwen"))
    sweep()
    run = RetentionRun.objects.get()
    assert (left(old), run.asked_by, run.counts) == (0, "gwen", {"completed": 3})
    assert holder_of(DAILY) is None


def test_one_tenants_trouble_stops_no_other(cast: Cast, old: list[Instance]) -> None:
    activated(cast.actor("sam"), APPROVAL)
    set_retention(actor=cast.actor("sam"), completed_for="P10D")
    RetentionRule.objects.filter(tenant=cast.acme).update(completed_for="nonsense")
    sweep()
    runs = {run.tenant_id: run for run in RetentionRun.objects.all()}
    assert (left(old), set(runs)) == (3, {cast.acme.pk, cast.globex.pk})
    assert "nonsense" in runs[cast.acme.pk].error
    assert (runs[cast.globex.pk].error, runs[cast.globex.pk].ended_at is None) == ("", False)
    assert not has_work(daily=True)


def test_ended_work_says_from_when_on_it_may_go(cast: Cast, old: list[Instance]) -> None:
    young, withdrawn = ended(cast, days=2), ended(cast, days=2, how="cancelled")

    def may_go(instance: Instance) -> Any:
        return RuntimeState.objects.get(pk=instance.pk).purge_after

    apply_retention()
    assert (may_go(young), may_go(withdrawn)) == (young.ended_at + timedelta(days=10), None)
    until = database_now() + timedelta(days=90)
    keep_instance(actor=cast.actor("ada"), instance_id=young.pk, until=until)
    set_retention(actor=cast.actor("gwen"), completed_for="P5D", cancelled_for="P20D")
    apply_retention()
    assert (may_go(young), may_go(withdrawn)) == (until, withdrawn.ended_at + timedelta(days=20))
    keep_instance(actor=cast.actor("ada"), instance_id=young.pk, until=None)
    apply_retention()
    assert may_go(young) == young.ended_at + timedelta(days=5)


def test_files_go_with_the_cases_and_no_others(committed_cast: Cast) -> None:
    cast = committed_cast
    activated(cast.actor("gwen"), APPROVAL)
    set_retention(actor=cast.actor("gwen"), completed_for="P10D")
    instance = started(cast.actor("uri"), "approval", amount=5)
    task = only_task(instance)
    now = database_now()
    added = TaskAttachment.objects.create(
        tenant=cast.acme, instance=instance, task=task, name="a.pdf", content_type="application/pdf", size=1,
        sha256="0" * 64, added_by_name="ada", added_at=now,
    )  # fmt: skip
    complete_task(actor=cast.actor("ada"), task_id=task.pk, outcome="approve", values={"note": "ok"})
    aged(instance, days=30)
    own, nobodys = file_path(cast.acme.pk, added.pk), file_path(cast.acme.pk, uuid7())
    for place in (own, nobodys):
        keep_file(place, b"x")
        os.utime(place, (0, 0))
    sweep()
    assert (own.exists(), nobodys.exists()) == (False, True)
    nobodys.unlink()
