"""Concurrency limits: queued or refused, admitted in order, never exceeded."""

from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import partial
from uuid import UUID

import pytest
from django.db import connections, transaction

from engine.dispatch.drain import drain
from engine.errors import Conflict
from engine.models import Audit, Instance, RuntimeState, Signal
from engine.runtime import concurrency_limits, coordinator
from engine.runtime.concurrency_limits import hold_limits
from engine.services.instances.lifecycle import StartedInstance, cancel_instance, start_instance
from engine.services.instances.signals import send_signal
from engine.services.people.tenants_and_roles import change_tenant
from engine.services.tasks.lifecycle import complete_task
from tests.cast import Cast
from tests.races.crowd import at_once, await_a_waiter
from tests.workflows import activated, only_task, started
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.models import Tenant
from workflowplatform.ids import uuid7

LIMITED = """
workflow: limited
title: Limited
limits: {concurrent: 2}
steps:
  - id: work
    task: {title: Work}
"""


def statuses() -> list[str]:
    return list(Instance.objects.order_by("id").values_list("status", flat=True))


def test_at_the_limit_a_start_is_queued_and_admitted_in_order(committed_cast: Cast) -> None:
    cast = committed_cast
    ada = cast.actor("ada")
    activated(cast.actor("gwen"), LIMITED)
    instances = [started(ada, "limited") for _ in range(4)]
    assert statuses() == ["running", "running", "queued", "queued"]
    complete_task(actor=ada, task_id=only_task(instances[0]).pk)
    drain()
    assert statuses() == ["completed", "running", "running", "queued"]
    assert only_task(instances[2]).title == "Work"
    actions = Audit.objects.filter(subject_id=instances[2].pk).order_by("seq").values_list("action", flat=True)
    assert list(actions)[:2] == ["start_workflow", "admit_workflow"]


def test_a_start_that_waited_for_its_place_is_dated_after_what_made_room(committed_cast: Cast) -> None:
    ada = committed_cast.actor("ada")
    activated(committed_cast.actor("gwen"), LIMITED.replace("concurrent: 2", "concurrent: 1"))
    first = started(ada, "limited")
    with ThreadPoolExecutor(1) as pool, transaction.atomic():
        hold_limits(first.tenant_id, first.template_id)
        coming = pool.submit(_start_elsewhere, ada)
        await_a_waiter()
        cancel_instance(actor=ada, instance_id=first.pk, reason="make room")
    second = coming.result(timeout=60).instance
    ended = Audit.objects.get(subject_id=first.pk, action="cancel_workflow").at
    assert second.status == "running"
    assert second.started_at > ended
    assert Audit.objects.get(subject_id=second.pk, action="start_workflow").at > ended


def _start_elsewhere(actor: Actor) -> StartedInstance:
    try:
        return start_instance(actor=actor, template="limited", input={})
    finally:
        connections.close_all()


def test_where_the_author_refuses_nothing_is_queued(committed_cast: Cast) -> None:
    cast = committed_cast
    ada = cast.actor("ada")
    activated(cast.actor("gwen"), LIMITED.replace("concurrent: 2", "concurrent: 1, at_limit: refuse"))
    started(ada, "limited")
    with pytest.raises(Conflict) as refusal:
        started(ada, "limited")
    assert refusal.value.code == "limit"


def test_the_tenants_limit_counts_all_templates(committed_cast: Cast) -> None:
    cast = committed_cast
    ada = cast.actor("ada")
    Tenant.objects.filter(pk=cast.acme.pk).update(concurrent_limit=1)
    activated(cast.actor("gwen"), LIMITED)
    activated(cast.actor("gwen"), LIMITED.replace("limited", "other"))
    first, second = started(ada, "limited"), started(ada, "other")
    assert statuses() == ["running", "queued"]
    cancel_instance(actor=ada, instance_id=first.pk, reason="make room")
    drain()
    second.refresh_from_db()
    assert second.status == "running"


def test_a_queued_instance_can_be_cancelled(committed_cast: Cast) -> None:
    cast = committed_cast
    ada = cast.actor("ada")
    activated(cast.actor("gwen"), LIMITED)
    instances = [started(ada, "limited") for _ in range(3)]
    assert cancel_instance(actor=ada, instance_id=instances[2].pk, reason="not needed").status == "cancelled"


def test_a_signal_does_not_begin_what_is_queued(committed_cast: Cast) -> None:
    ada = committed_cast.actor("ada")
    activated(committed_cast.actor("gwen"), LIMITED)
    instances = [started(ada, "limited") for _ in range(3)]
    with pytest.raises(Conflict) as refusal:
        send_signal(actor=ada, instance_id=instances[2].pk, name="go")
    assert (refusal.value.code, refusal.value.facts["status"]) == ("status", "queued")
    assert statuses() == ["running", "running", "queued"]


def test_parallel_starts_never_exceed_the_limit(committed_cast: Cast) -> None:
    cast = committed_cast
    ada = cast.actor("ada")
    activated(cast.actor("gwen"), LIMITED)
    results = at_once([partial(start_instance, actor=ada, template="limited", input={})] * 12)
    assert all(isinstance(result, StartedInstance) for result in results)
    assert sorted(statuses()) == ["queued"] * 10 + ["running"] * 2
    while Instance.objects.live().exists():
        running = Instance.objects.filter(status="running")
        assert running.count() <= 2
        for instance in running:
            complete_task(actor=ada, task_id=only_task(instance).pk)
        drain()
    assert statuses() == ["completed"] * 12


STARTS_OTHERS = """
workflow: starts-others
title: Starts others
steps:
  - {id: one, continue_with: {name: limited}}
  - {id: two, continue_with: {name: limited}}
  - {id: three, continue_with: {name: limited}}
  - {id: ring, emit: {event: bell, payload: {}}}
"""
LISTENS = """
workflow: listens
title: Listens
trigger: event
event: {name: bell}
limits: {concurrent: 1}
steps:
  - {id: work, task: {title: Listen}}
"""


def test_what_a_case_starts_waits_for_its_turn_too(committed_cast: Cast) -> None:
    cast = committed_cast
    ada = cast.actor("ada")
    for source in (LIMITED, LISTENS, STARTS_OTHERS):
        activated(cast.actor("gwen"), source)
    assert started(ada, "starts-others").status == "completed"
    drain()
    assert running("limited") == 2
    assert running("listens") == 1
    assert started(ada, "starts-others").status == "completed"
    drain()
    assert (running("limited"), running("listens")) == (2, 1)
    waits = Instance.objects.filter(template__name="limited", status="queued").order_by("started_at", "id").first()
    assert waits is not None
    assert waits.parent is not None
    complete_task(
        actor=ada, task_id=only_task(Instance.objects.filter(template__name="limited", status="running")[0]).pk
    )
    drain()
    waits.refresh_from_db()
    assert (waits.status, running("limited")) == ("running", 2)


def running(template: str) -> int:
    return Instance.objects.filter(template__name=template, status="running").count()


def set_limit(source: str, limit: str) -> str:
    return source.replace("limits: {concurrent: 2}", limit)


def test_a_long_line_of_a_full_template_stands_in_nobodys_way(committed_cast: Cast) -> None:
    ada, gwen = committed_cast.actor("ada"), committed_cast.actor("gwen")
    full = set_limit(LIMITED, "limits: {concurrent: 1}")
    for source in (full, full.replace("limited", "other")):
        activated(gwen, source)
    started(ada, "limited")
    queue_copies(started(ada, "limited"), 110)
    first, second = started(ada, "other"), started(ada, "other")
    complete_task(actor=ada, task_id=only_task(first).pk)
    second.refresh_from_db()
    assert second.status == "running"


def queue_copies(queued: Instance, count: int) -> None:
    """Let many more wait, as if each had been started like this one."""
    assert queued.status == "queued"
    instances, runtimes = [], []
    runtime = RuntimeState.objects.get(pk=queued.pk)
    for _ in range(count):
        queued.pk = runtime.pk = runtime.runtime_instance_id = uuid7()
        instances.append(copy(queued))
        runtimes.append(copy(runtime))
    with transaction.atomic():
        Instance.objects.bulk_create(instances)
        RuntimeState.objects.bulk_create(runtimes)


@pytest.mark.parametrize("limit", ["limits: {concurrent: 4}", "tags: [unlimited]"])
def test_a_raised_limit_lets_in_who_waits(committed_cast: Cast, limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ada, gwen = committed_cast.actor("ada"), committed_cast.actor("gwen")
    monkeypatch.setattr(concurrency_limits, "ADMITTED_AT_ONCE", 1)
    activated(gwen, LIMITED)
    for _ in range(4):
        started(ada, "limited")
    activated(gwen, set_limit(LIMITED, limit))
    drain()
    assert statuses() == ["running"] * 4


@pytest.mark.parametrize("limit", [3, None])
def test_a_tenants_raised_limit_lets_in_who_waits(committed_cast: Cast, limit: int | None) -> None:
    ada = committed_cast.actor("ada")
    Tenant.objects.filter(pk=committed_cast.acme.pk).update(concurrent_limit=1)
    for source in (LIMITED, LIMITED.replace("limited", "other")):
        activated(committed_cast.actor("gwen"), source)
    for name in ("limited", "limited", "other"):
        started(ada, name)
    assert statuses() == ["running", "queued", "queued"]
    change_tenant(actor=None, tenant=Tenant.objects.get(name="acme"), title="Acme", concurrent_limit=limit)
    drain()
    assert statuses() == ["running"] * 3


def test_nobody_is_let_in_before_who_waits_already(committed_cast: Cast) -> None:
    """Room that nobody was told of, as when a worker of an older release ended the last one."""
    ada = committed_cast.actor("ada")
    activated(committed_cast.actor("gwen"), set_limit(LIMITED, "limits: {concurrent: 1}"))
    first, second = started(ada, "limited"), started(ada, "limited")
    with pytest.MonkeyPatch.context() as forgetful:
        forgetful.setattr(coordinator, "admit_next", lambda tenant_id, template_id, now: 0)
        complete_task(actor=ada, task_id=only_task(first).pk)
    assert started(ada, "limited").status == "queued"
    second.refresh_from_db()
    assert second.status == "running"


def test_who_is_cancelled_in_line_leaves_no_slot_behind_when_admitted_at_the_same_moment(committed_cast: Cast) -> None:
    ada = committed_cast.actor("ada")
    activated(committed_cast.actor("gwen"), set_limit(LIMITED, "limits: {concurrent: 1}"))
    first, second, third = (started(ada, "limited") for _ in range(3))
    with ThreadPoolExecutor(1) as pool, transaction.atomic():
        complete_task(actor=ada, task_id=only_task(first).pk)
        coming = pool.submit(_cancel_elsewhere, ada, second)
        await_a_waiter()
    assert coming.result(timeout=60).status == "cancelled"
    drain()
    third.refresh_from_db()
    assert third.status == "running"
    assert not Signal.objects.exclude(instance=third).exists()


def _cancel_elsewhere(actor: Actor, instance: Instance) -> Instance:
    try:
        return cancel_instance(actor=actor, instance_id=instance.pk, reason="not needed")
    finally:
        connections.close_all()


def test_who_is_in_somebodys_hands_is_waited_for_where_nobody_else_waits(committed_cast: Cast) -> None:
    ada = committed_cast.actor("ada")
    activated(committed_cast.actor("gwen"), set_limit(LIMITED, "limits: {concurrent: 1}"))
    first, second = started(ada, "limited"), started(ada, "limited")
    with ThreadPoolExecutor(1) as pool, transaction.atomic():
        Instance.objects.select_for_update(no_key=True).get(pk=second.pk)
        coming = pool.submit(_complete_elsewhere, ada, only_task(first).pk)
        await_a_waiter()
    coming.result(timeout=60)
    second.refresh_from_db()
    assert second.status == "running"


def _complete_elsewhere(actor: Actor, task_id: UUID) -> None:
    try:
        complete_task(actor=actor, task_id=task_id)
    finally:
        connections.close_all()
