"""Decide whether an event from outside starts an instance, and with what input."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from engine.kernel.expressions.cel import Reads, bind
from engine.kernel.expressions.functions import MISSING, as_text
from engine.kernel.program import Definition
from engine.kernel.signals import Json
from engine.kernel.snapshot import copied


@dataclass(frozen=True, slots=True)
class EventStart:
    """What an instance is started with."""

    input: Json
    reference: str | None = None
    key: str | None = None


class _Names:
    """The names that a trigger's expressions see: the payload as `start`, and the moment."""

    def __init__(self, payload: Json, now: datetime) -> None:
        self._names = {"start": payload, "now": now}

    def lookup(self, root: str) -> Json:
        return self._names.get(root, MISSING)

    def activation(self, environment: Any, reads: Reads) -> Any:
        return bind(environment, reads, self)

    def spend(self, made: int) -> None:
        """Count nothing: an event computes a condition and two short texts."""


def event_start(definition: Definition, name: str, payload: Json, now: datetime) -> EventStart | None:
    """Return what an event starts the definition with, None when it is not meant; StepError says why that cannot be computed."""
    event = definition.head.get("event")
    if event is None or event["name"] != name:
        return None
    names = _Names(payload, now)
    if "when" in event and not event["when"].holds(names):
        return None
    texts = {key: as_text(event[key].of(names)) or None for key in ("reference", "key") if key in event}
    return EventStart(copied(payload), texts.get("reference"), texts.get("key"))
