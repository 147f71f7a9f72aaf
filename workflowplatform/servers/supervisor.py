"""Keep services running: a dead one comes back, later and later if it keeps dying."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from workflowplatform.servers.errors import CannotStart
from workflowplatform.servers.processes import Child, ProcessGroup

FIRST_DELAY = 0.5
LONGEST_DELAY = 30.0
HEALTHY_SECONDS = 60.0
LOOK_EVERY = 0.2


@dataclass(slots=True)
class Service:
    """Hold one service that must run, and how to start it again."""

    name: str
    start: Callable[[], Child]
    child: Child
    deaths: int = 0
    started_at: float = field(default_factory=time.monotonic)
    due_at: float | None = None


def back_off(deaths: int) -> float:
    """Decide how long to wait after so many deaths in a row."""
    return float(min(LONGEST_DELAY, FIRST_DELAY * 2 ** max(0, deaths - 1)))


def supervise(group: ProcessGroup, services: Sequence[Service]) -> None:
    """Watch every service for ever; only a signal's exception ends this."""
    while True:
        for service in services:
            look_after(group, service, now=time.monotonic())
        time.sleep(LOOK_EVERY)


def look_after(group: ProcessGroup, service: Service, *, now: float) -> None:
    """Note a death, and bring back what is due."""
    if service.due_at is None and not service.child.alive():
        _note_death(group, service, now)
    if service.due_at is not None and now >= service.due_at:
        _bring_back(service, now)


def _note_death(group: ProcessGroup, service: Service, now: float) -> None:
    service.deaths = 1 if now - service.started_at > HEALTHY_SECONDS else service.deaths + 1
    delay = back_off(service.deaths)
    service.due_at = now + delay
    group.forget(service.child)
    _say(f"{service.name} ended with {service.child.process.returncode}; starting it again in {delay:g} s")


def _bring_back(service: Service, now: float) -> None:
    service.due_at = None
    service.started_at = now
    try:
        service.child = service.start()
    except CannotStart as refusal:
        service.deaths += 1
        service.due_at = now + back_off(service.deaths)
        _say(str(refusal))


def _say(sentence: str) -> None:
    sys.stderr.write(f"{sentence}\n")
    sys.stderr.flush()
