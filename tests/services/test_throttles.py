"""How many steps run at once under a key, over all instances: let in first come first served, freed however they end."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from engine.dispatch.drain import drain
from engine.models import Audit, Instance, Place, Signal, StepRun, Task, Wait
from engine.runtime.throttles import LINE, RUNNING
from engine.services.audit.verification import verify_folds
from engine.services.instances.lifecycle import cancel_instance
from engine.services.instances.repair import resume_instance, retry_step, suspend_instance
from engine.services.tasks.lifecycle import complete_task
from tests.cast import Cast
from tests.workflows import activated, fall_due, started

pytestmark = pytest.mark.usefixtures("replayed")

ROOM = """
workflow: room
title: Room
steps:
  - id: talk
    task: {title: Talk}
    throttle: {key: room, limit: 2}
    timeout: P1D
    on_timeout: [{id: by_hand, task: {title: By hand}}]
"""

BANK = """
workflow: bank
title: Bank
steps:
  - id: pay
    call: {http: {url: "http://127.0.0.1:9/"}}
    throttle: {key: bank, limit: 1}
"""


@pytest.fixture
def staged(committed_cast: Cast) -> Cast:
    """Return two tenants with rooms for two."""
    for author in ("gwen", "sam"):
        activated(committed_cast.actor(author), ROOM)
        activated(committed_cast.actor(author), BANK)
    return committed_cast


def visitors(cast: Cast, count: int, who: str = "ada") -> list[Instance]:
    """Start so many, one after the other, and let them come as far as they may."""
    found = [started(cast.actor(who), "room") for _ in range(count)]
    drain()
    return found


def inside(instances: list[Instance]) -> list[int]:
    """Return which of them talk now, by their place in the list."""
    talking = set(Task.objects.filter(step="talk", status="open").values_list("instance_id", flat=True))
    return [number for number, one in enumerate(instances) if one.pk in talking]


def talk(cast: Cast, instance: Instance) -> None:
    """Let one end its talk."""
    task = Task.objects.get(instance=instance, step="talk", status="open")
    complete_task(actor=cast.actor("ada"), task_id=task.pk, outcome="done", values={})
    drain()


def test_only_so_many_run_at_once_and_who_waits_longest_is_let_in(staged: Cast) -> None:
    cases = visitors(staged, 5)
    assert inside(cases) == [0, 1]
    waiting = cases[2]
    assert Wait.objects.get(instance=waiting, side=False).kind == "timer"
    assert StepRun.objects.get(instance=waiting).status == "pending"
    talk(staged, cases[1])
    assert inside(cases) == [0, 2]
    talk(staged, cases[0])
    assert inside(cases) == [2, 3]
    for number in (2, 3, 4):
        talk(staged, cases[number])
    assert not Place.objects.exists()
    assert set(Instance.objects.values_list("status", flat=True)) == {"completed"}
    assert verify_folds().broken == ()


def test_another_tenants_room_is_another_room(staged: Cast) -> None:
    ours, theirs = visitors(staged, 3), visitors(staged, 3, "stan")
    assert (inside(ours), inside(theirs)) == ([0, 1], [0, 1])


def test_a_place_is_free_when_its_instance_is_cancelled_and_so_is_one_in_line(staged: Cast) -> None:
    cases = visitors(staged, 4)
    cancel_instance(actor=staged.actor("ada"), instance_id=cases[2].pk, reason="went home")
    drain()
    assert inside(cases) == [0, 1]
    cancel_instance(actor=staged.actor("ada"), instance_id=cases[0].pk, reason="went home")
    drain()
    assert inside(cases) == [1, 3]
    assert Place.objects.count() == 2


def test_a_place_is_free_while_what_follows_a_timeout_runs(staged: Cast) -> None:
    cases = visitors(staged, 3)
    fall_due(cases[0])
    drain()
    assert inside(cases) == [1, 2]
    assert Task.objects.filter(instance=cases[0], step="by_hand", status="open").exists()


def test_what_is_suspended_lends_its_place_and_takes_it_back(staged: Cast) -> None:
    cases = visitors(staged, 4)
    suspend_instance(actor=staged.actor("ada"), instance_id=cases[2].pk)
    suspend_instance(actor=staged.actor("ada"), instance_id=cases[0].pk)
    drain()
    assert inside(cases) == [0, 1, 3]
    resume_instance(actor=staged.actor("ada"), instance_id=cases[0].pk)
    resume_instance(actor=staged.actor("ada"), instance_id=cases[2].pk)
    drain()
    assert inside(cases) == [0, 1, 3]
    talk(staged, cases[0])
    assert inside(cases) == [1, 3]
    talk(staged, cases[1])
    assert inside(cases) == [2, 3]


def test_an_incident_has_no_place_and_waits_in_line_when_it_is_mended(staged: Cast) -> None:
    first = started(staged.actor("ada"), "bank")
    second = started(staged.actor("ada"), "bank")
    drain()
    assert [one.status for one in Instance.objects.order_by("id")] == ["incident", "incident"]
    assert not Place.objects.exists()
    retry_step(actor=staged.actor("ada"), instance_id=second.pk)
    retry_step(actor=staged.actor("ada"), instance_id=first.pk)
    order = list(Place.objects.order_by("asked_at").values_list("instance_id", "let_in_at"))
    assert [(which, moment is not None) for which, moment in order] == [(second.pk, True), (first.pk, False)]
    drain()
    runs = StepRun.objects.filter(instance=first).order_by("attempt").values_list("attempt", "status")
    assert list(runs) == [(1, "failed"), (2, "failed")]
    assert verify_folds().broken == ()


def test_a_lost_wake_up_is_made_up_for_by_the_next_look(staged: Cast) -> None:
    cases = visitors(staged, 3)
    Place.objects.filter(instance=cases[0]).delete()
    drain()
    assert inside(cases) == [0, 1]
    assert Wait.objects.get(instance=cases[2]).due_at < Place.objects.get(instance=cases[2]).asked_at + timedelta(
        hours=1
    )
    fall_due(cases[2])
    drain()
    assert inside(cases) == [0, 1, 2]


def test_ten_thousand_in_line_are_let_in_by_index(staged: Cast) -> None:
    cases = visitors(staged, 3)
    with transaction.atomic():
        Place.objects.bulk_create(
            Place(tenant_id=cases[0].tenant_id, instance=cases[2], run=number, key="room", most=2,
                  asked_at=cases[2].started_at + timedelta(days=1))
            for number in range(100_000, 110_000)
        )  # fmt: skip
    for statement in (LINE, RUNNING):
        assert "Seq Scan on wf_places" not in plan(statement, cases[0])
    talk(staged, cases[0])
    assert inside(cases) == [1, 2]


def plan(statement: str, instance: Instance) -> str:
    """Return how the database would look a line up."""
    names = {"tenant": instance.tenant_id, "key": "room", "still": ["incident", "suspended"], "many": 50}
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {statement}", names)
        return "\n".join(row[0] for row in cursor.fetchall())


def test_places_of_another_tenants_instance_are_refused(staged: Cast) -> None:
    (case,) = visitors(staged, 1)
    other = started(staged.actor("stan"), "room")
    with pytest.raises(IntegrityError), transaction.atomic():
        Place.objects.filter(instance=case).update(tenant_id=other.tenant_id)


RETRIED = """
workflow: again
title: Again
steps:
  - id: ask
    call: {http: {url: "http://127.0.0.1:9/"}}
    retry: {attempts: 2, delay: PT1H, on: [authorization]}
"""


def test_a_failure_that_is_retried_stands_in_the_history_with_its_error(committed_cast: Cast) -> None:
    cast: Any = committed_cast
    activated(cast.actor("gwen"), RETRIED)
    instance = started(cast.actor("ada"), "again")
    drain()
    runs = StepRun.objects.filter(instance=instance).order_by("attempt")
    assert [(run.attempt, run.status, (run.error or {}).get("code")) for run in runs] == [
        (1, "failed", "address_refused"),
        (2, "retrying", None),
    ]
    assert runs[0].ended_at is not None
    told = Audit.objects.filter(subject_id=instance.pk, step="ask").order_by("seq")
    assert [(act.action, act.attempt) for act in told] == [("execute_step", 1), ("fail_step", 1), ("retry_step", 2)]
    assert told[1].new["error"] == "authorization/address_refused"
    assert verify_folds().broken == ()
    fall_due(instance)
    drain()
    assert list(runs.values_list("attempt", "status")) == [(1, "failed"), (2, "failed")]
    last = StepRun.objects.get(instance=instance, attempt=2)
    assert last.input["url"] == "http://127.0.0.1:9/"
    assert last.started_at > runs[0].ended_at
    assert verify_folds().broken == ()
    assert not Signal.objects.filter(instance=instance, held_due_at__isnull=True).exists()


def test_a_rate_limit_is_asked_before_every_attempt(committed_cast: Cast) -> None:
    limited = RETRIED.replace("PT1H, on", "PT0S, on") + "    rate_limit: {key: web, limit: 1, per: PT1H}\n"
    activated(committed_cast.actor("gwen"), limited)
    instance = started(committed_cast.actor("ada"), "again")
    drain()
    drain()
    wait = Wait.objects.get(instance=instance)
    assert (wait.kind, wait.due_at > instance.started_at + timedelta(minutes=50)) == ("timer", True)
    runs = StepRun.objects.filter(instance=instance).order_by("attempt").values_list("attempt", "status", "reason")
    assert list(runs) == [(1, "failed", None), (2, "retrying", "held back: rate_limit")]
    assert verify_folds().broken == ()
