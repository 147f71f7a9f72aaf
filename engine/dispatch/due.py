"""Read what has fallen due and say what it means."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from engine.kernel.signals import (
    CancelCase,
    ChildEnded,
    Continue,
    Happening,
    NamedSignal,
    RetryDue,
    SignalType,
    TimerDue,
)


@dataclass(frozen=True, slots=True)
class Due:
    """A signal whose time has come, as it stands in the queue."""

    id: UUID
    instance_id: UUID
    type: str
    token: int
    """0 where the signal names none."""
    payload: Any
    attempts: int


class Malformed(Exception):
    """A signal that no kernel could understand."""


HAPPENING_OF: dict[str, Callable[[Due], Happening]] = {
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


NEED_TOKEN = frozenset({SignalType.TIMER_DUE, SignalType.RETRY_DUE, SignalType.SUB_WORKFLOW_COMPLETED})


def happening_of(signal: Due) -> Happening:
    """Say what a queued signal means to the kernel."""
    make = HAPPENING_OF.get(signal.type)
    if make is None or (signal.type in NEED_TOKEN and not signal.token):
        raise Malformed(f"{signal.type} cannot be delivered")
    try:
        return make(signal)
    except (KeyError, TypeError) as error:
        raise Malformed(f"the payload of {signal.type} cannot be read") from error
