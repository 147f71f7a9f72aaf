"""What one tenant can do to the workers, by name, and how long its neighbour waits meanwhile.

The neighbour's wait is measured as a person would feel it: from before a signal is sent until the instance is seen at its end,
asked for every three milliseconds by another connection than the worker's.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from engine.models import Instance, RuntimeState, Signal
from engine.services.instances.signals import send_keyed_signal
from tests.workflows import activated, started
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.models import Tenant

A_DAY = timedelta(days=1)

LISTENER = """
workflow: listener
title: Listener
input: {type: object, properties: {key: {type: string}}}
steps:
  - {id: hear, signal: {name: go, key: "${start.key}"}}
  - {id: after, set: {done: true}}
"""
SPREAD = """
workflow: spread
title: Spread
input: {type: object, properties: {items: {type: array}}}
steps:
  - id: all
    for_each:
      each: "${start.items}"
      limit: 10000
      steps: [{id: sub, workflow: {name: spread, input: {items: "${start.items}"}}}]
"""
LOOP = """
workflow: loop
title: Loop
steps:
  - id: round
    repeat:
      while: "index >= 0"
      max: 1000000
      steps: [{id: more, set: {n: "${index}"}}]
"""
ITEMS = """
workflow: items
title: Items
input: {type: object, properties: {items: {type: array}}}
steps:
  - id: all
    for_each:
      each: "${start.items}"
      limit: 10000
      steps:
        - {id: mark, set: {n: "${item}"}}
        - {id: pause, wait: {for: PT1S}}
        - {id: again, set: {m: "${item}"}}
"""
GROWING = """
workflow: growing
title: Growing
state: {all: "a text that is doubled again and again"}
steps:
  - id: round
    repeat:
      while: "index >= 0"
      max: 1000000
      steps: [{id: more, set: {all: ["${state.all}", "${state.all}"]}}]
"""
CHAIN = "workflow: again\ntitle: Again\nsteps:\n  - {id: on, continue_with: {name: again}}\n"
SPIN = """
workflow: spin
title: Spins inside its transaction
steps:
  - {id: pause, wait: {for: PT0.01S}}
  - {id: ask, call: {python: {function: test_spin_inside, args: {}}}}
"""
SLOW = """
workflow: slow
title: Slow
steps:
  - {id: ask, call: {python: {function: test_slow, args: {seconds: 20}}}, attempt_timeout: PT60S}
"""


@dataclass(frozen=True)
class Runaway:
    """One way to take the workers for oneself."""

    source: str
    name: str
    count: int
    """How many instances are started."""
    items: int = 0


RUNAWAYS = {
    "births": Runaway(SPREAD, "spread", 2, items=40),
    "loops": Runaway(LOOP, "loop", 16),
    "items": Runaway(ITEMS, "items", 4, items=10_000),
    "states": Runaway(GROWING, "growing", 20),
    "chains": Runaway(CHAIN, "again", 6),
    "slow calls": Runaway(SLOW, "slow", 60),
}


def let_loose(actor: Actor, runaway: Runaway) -> list[Instance]:
    """Start a runaway's instances."""
    activated(actor, runaway.source)
    values = {"items": list(range(runaway.items))} if runaway.items else {}
    return [started(actor, runaway.name, **values) for _ in range(runaway.count)]


def signal_seconds(actor: Actor, count: int, pause: float = 0.03) -> list[float]:
    """Send so many signals one after the other; return how long each took until it was applied."""
    waiting = {key: started(actor, "listener", key=key) for key in (str(uuid4()) for _ in range(count))}
    return [_seconds(actor, key, instance, pause) for key, instance in waiting.items()]


def _seconds(actor: Actor, key: str, instance: Instance, pause: float) -> float:
    time.sleep(pause)  # sleep: the pace of the signals
    began = time.perf_counter()
    send_keyed_signal(actor=actor, name="go", key=key)
    ended = Instance.objects.filter(pk=instance.pk, status="completed")
    while not ended.exists():
        if time.perf_counter() - began > 60:
            raise AssertionError("the neighbour's signal was not applied within a minute")
        time.sleep(0.003)
    return time.perf_counter() - began


def hold_back(tenant: Tenant) -> None:
    """Let nothing of a tenant be due for a day; what workers have in hand meanwhile is held back too."""
    due = Signal.objects.filter(tenant=tenant, due_at__lte=Now())
    while due.update(due_at=F("due_at") + A_DAY) or not is_idle(tenant):
        time.sleep(0.05)


def is_idle(tenant: Tenant) -> bool:
    """Return whether no worker has an instance of this tenant in hand: then none will write another signal."""
    with transaction.atomic():
        all_of_it = RuntimeState.objects.filter(instance__tenant=tenant)
        free = all_of_it.select_for_update(of=["self"], skip_locked=True).values_list("pk", flat=True)
        return len(free) == all_of_it.count()


def let_go(tenant: Tenant) -> None:
    """Let everything that was held back be due again."""
    later = Now() + A_DAY / 2
    Signal.objects.filter(tenant=tenant, due_at__range=(later, later + A_DAY)).update(due_at=F("due_at") - A_DAY)


def resident_mb(pid: int) -> float:
    """Return how much memory a process, or the largest of its children, has had at most."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return max(_most_mb(one) for one in (str(pid), *children))


def _most_mb(pid: str) -> float:
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def eventually(holds: Callable[[], bool], seconds: float = 60.0) -> bool:
    """Wait until something is so; return whether it came to be."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if holds():
            return True
        time.sleep(0.05)
    return holds()
