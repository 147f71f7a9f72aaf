"""Poison against real workers: code that leaves, kills, eats memory or never ends is found after exactly its attempts."""

from __future__ import annotations

import os
import time
from typing import Any

import pytest
from django.db import connection

from engine.models import Instance, Signal, SignalReceipt
from tests.cast import Cast
from tests.flaky import counter
from tests.side_by_side import compare, require_below
from tests.workers import running
from tests.workflows import activated, started

pytestmark = [
    pytest.mark.slow,
    pytest.mark.security("poison costs exactly its attempts"),
    pytest.mark.usefixtures("valkey"),
]

ATTEMPTS = 3
PATIENCE = 120.0

CALLS = """
workflow: {name}
title: Poison
steps:
  - {{id: pause, wait: {{for: PT0.01S}}}}
  - id: ask
    call: {{python: {{function: {function}, args: {{}}}}}}
    attempt_timeout: PT2S
"""
STEADY = """
workflow: steady
title: Steady
steps:
  - {id: pause, wait: {for: PT0.02S}}
  - {id: rest, wait: {for: PT0.02S}}
"""

BOUNDS = {
    "WORKFLOW_POISON_ATTEMPTS": str(ATTEMPTS),
    "WORKFLOW_WORKER_MEMORY": "700",
    "WORKFLOW_WORKER_SECONDS": "3",
    "WORKFLOW_WAKE_SECONDS": "0.5",
}


def made(name: str) -> int:
    path = counter(name)
    return path.stat().st_size if path.exists() else 0


@pytest.fixture(autouse=True)
def nothing_counted() -> None:
    for name in ("leave", "kill", "eat", "spin"):
        counter(name).unlink(missing_ok=True)


def wait_for_incident(instance: Instance) -> None:
    give_up = time.monotonic() + PATIENCE
    while time.monotonic() < give_up:
        instance.refresh_from_db()
        if instance.status != "running":
            return
        time.sleep(0.2)


@pytest.mark.parametrize(
    ("function", "code"),
    [
        ("leave", "vanished"),
        ("eat", "vanished"),
        ("spin", "no_answer"),
        ("leave_inside", "vanished"),
        ("kill_inside", "vanished"),
        ("eat_inside", "vanished"),
        ("spin_inside", "vanished"),
    ],
)
def test_what_ends_its_worker_costs_exactly_its_attempts(
    committed_cast: Cast, function: str, code: str, record_property: Any
) -> None:
    """In a thread next to the drain, or in the drain's own thread and transaction; the supervisor ends what never ends itself.

    A call that only never comes back is given up, once, and its process replaced.
    """
    gwen, ada = committed_cast.actor("gwen"), committed_cast.actor("ada")
    activated(gwen, CALLS.format(name="poison", function=f"test_{function}"))
    activated(gwen, STEADY)
    with running("worker", **BOUNDS):
        poison = started(ada, "poison")
        neighbours = [started(ada, "steady").pk for _ in range(20)]
        wait_for_incident(poison)
        if function == "spin":
            wait_until_replaced()
    times = made(function.partition("_")[0])
    record_property("figure", f"{function}: {times} attempts, {code}")
    assert (poison.status, (poison.error or {}).get("code")) == ("incident", code)
    assert times == (1 if code == "no_answer" else ATTEMPTS)
    assert not Instance.objects.filter(pk__in=neighbours).exclude(status="completed").exists()


def wait_until_replaced() -> None:
    """Wait until no process of ours spins any more: the thread cannot be ended, its process can."""
    give_up = time.monotonic() + PATIENCE
    while time.monotonic() < give_up:
        before = busy_seconds()
        time.sleep(2)
        if busy_seconds() - before < 1.0:
            return
    pytest.fail("a given-up thread spins on")


def busy_seconds() -> float:
    """Add up the processor time of all worker processes that this test started."""
    total, tick = 0.0, os.sysconf("SC_CLK_TCK")
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        try:
            with open(f"/proc/{entry.name}/environ", "rb") as told:
                if b"WORKFLOW_WORKER_MEMORY=700" not in told.read():
                    continue
            with open(f"/proc/{entry.name}/stat") as told_of:
                fields = told_of.read().rpartition(")")[2].split()
            total += (int(fields[11]) + int(fields[12])) / tick
        except OSError:
            continue
    return total


NEIGHBOURS = 100
EVERY = 0.1
BOUND = 2.0
ROUNDS = 3


def served(ada: Any) -> list[float]:
    """Start neighbours one after the other and return how late their two timers were applied, in seconds."""
    instances = []
    for _ in range(NEIGHBOURS):
        instances.append(started(ada, "steady").pk)
        time.sleep(EVERY)  # sleep: the pace at which neighbours start
    give_up = time.monotonic() + PATIENCE
    while Instance.objects.filter(pk__in=instances).exclude(status="completed").exists():
        assert time.monotonic() < give_up
        time.sleep(0.1)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT extract(epoch FROM max(r.at) - i.started_at)::float8 FROM wf_instances i "
            "JOIN wf_signal_receipts r ON r.instance_id = i.id WHERE i.id = ANY(%s) GROUP BY i.id, i.started_at",
            [instances],
        )
        return [row[0] for row in cursor.fetchall()]


def test_neighbours_are_served_beside_every_poison_at_once(committed_cast: Cast, record_property: Any) -> None:
    """Five kinds of poison at the same moment against two workers, again in each loud round."""
    gwen, ada = committed_cast.actor("gwen"), committed_cast.actor("ada")
    activated(gwen, STEADY)
    kinds = ["leave", "kill_inside", "leave_inside", "spin", "eat"]
    for kind in kinds:
        activated(gwen, CALLS.format(name=f"poison-{kind.replace('_', '-')}", function=f"test_{kind}"))
    activated(gwen, STEADY.replace("workflow: steady", "workflow: strange"))
    poisoned: list[Instance] = []

    def quiet() -> list[float]:
        for poison in poisoned:
            wait_for_incident(poison)
        wait_until_replaced()
        return served(ada)

    def loud() -> list[float]:
        poisoned.extend(started(ada, f"poison-{kind.replace('_', '-')}") for kind in kinds)
        Signal.objects.filter(instance=started(ada, "strange")).update(type="FromTheFuture")
        return served(ada)

    with running("worker", **BOUNDS):
        served(ada)  # until both workers are warm
        found = compare(quiet, loud, ROUNDS)
        for poison in poisoned:
            wait_for_incident(poison)
    record_property("figure", f"beside five poisons: {found}")
    assert {poison.status for poison in poisoned} == {"incident"}
    assert not SignalReceipt.objects.filter(instance__in=poisoned, disposition="stale").exists()
    require_below(BOUND, found)
