"""Read what has fallen due and say what it means."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from engine.kernel.signals import (
    CancelCase,
    ChildEnded,
    Continue,
    Event,
    NamedSignal,
    RetryDue,
    SignalType,
    TimerDue,
)

SIGNALS_A_SLICE = 50
"""How many due signals of an instance are applied at once."""


@dataclass(frozen=True, slots=True)
class Due:
    """A due signal, as stored in the queue."""

    id: UUID
    instance_id: UUID
    type: str
    token: int
    """0 where the signal names none."""
    payload: Any
    attempts: int


class Malformed(Exception):
    """A signal that no kernel could understand."""


EVENT_OF: dict[str, Callable[[Due], Event]] = {
    SignalType.TIMER_DUE: lambda due: TimerDue(due.token),
    SignalType.RETRY_DUE: lambda due: RetryDue(due.token),
    SignalType.INTERNAL_CONTINUE: lambda due: Continue(),
    SignalType.EXTERNAL_SIGNAL: lambda due: NamedSignal(
        due.payload["name"], due.payload["key"], due.payload["payload"], by=due.payload.get("by")
    ),
    SignalType.SUB_WORKFLOW_COMPLETED: lambda due: ChildEnded(token=due.token, **due.payload),
    SignalType.PARENT_ENDED: lambda due: CancelCase(reason=due.payload.get("reason", "its parent ended")),
}
"""How queued signals are told to the kernel. CallDue is absent: it asks for an act first."""


_TEXT, _MAYBE_TEXT = (str,), (str, type(None))
_CHILD: Mapping[str, tuple[type, ...]] = {
    "status": _TEXT, "outcome": _MAYBE_TEXT, "output": (object,), "error": (dict, type(None)), "instance": _TEXT,
    "waited": (bool,), "people": (dict,),
}  # fmt: skip
FIELDS: Mapping[str, Mapping[str, tuple[type, ...]]] = {
    SignalType.EXTERNAL_SIGNAL: {"name": _TEXT, "key": _MAYBE_TEXT, "payload": (object,), "by": _MAYBE_TEXT},
    SignalType.SUB_WORKFLOW_COMPLETED: _CHILD,
    SignalType.PARENT_ENDED: {"reason": _MAYBE_TEXT},
}
"""What the fields of a payload are; one of another type is malformed, not a surprise inside the kernel."""


NEED_TOKEN = frozenset({SignalType.TIMER_DUE, SignalType.RETRY_DUE, SignalType.SUB_WORKFLOW_COMPLETED})


def read_payload(text: str) -> Any:
    """Read an envelope's content as the queue holds it."""
    try:
        return json.loads(text)
    except (RecursionError, ValueError) as error:
        raise Malformed("the payload is nested too deeply to be read") from error


def decoded_event(signal: Due) -> Event:
    """Return what a queued signal means to the kernel."""
    make = EVENT_OF.get(signal.type)
    if make is None or (signal.type in NEED_TOKEN and not signal.token):
        raise Malformed(f"{signal.type} cannot be delivered")
    fields = FIELDS.get(signal.type)
    if fields is not None and not _fits(signal.payload, fields):
        raise Malformed(f"the payload of {signal.type} cannot be read")
    try:
        return make(signal)
    except (KeyError, TypeError, AttributeError) as error:
        raise Malformed(f"the payload of {signal.type} cannot be read") from error


def _fits(payload: Any, fields: Mapping[str, tuple[type, ...]]) -> bool:
    if not isinstance(payload, dict):
        return False
    error = payload.get("error")
    if isinstance(error, dict) and not all(isinstance(error.get(key, ""), str) for key in ("class", "code", "message")):
        return False
    people = payload.get("people")
    if isinstance(people, dict) and not all(isinstance(moment, str) for moment in people.values()):
        return False
    return all(isinstance(value, fields.get(key, (object,))) for key, value in payload.items())
