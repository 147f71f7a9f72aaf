"""Read what has fallen due and say what it means."""

import json
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

SIGNALS_A_SLICE = 50
"""How many due signals of an instance are applied at once."""


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


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a text is needed, not {type(value).__name__}")
    return value


def _text_or_none(value: Any) -> str | None:
    return None if value is None else _text(value)


HAPPENING_OF: dict[str, Callable[[Due], Happening]] = {
    SignalType.TIMER_DUE: lambda due: TimerDue(due.token),
    SignalType.RETRY_DUE: lambda due: RetryDue(due.token),
    SignalType.INTERNAL_CONTINUE: lambda due: Continue(),
    SignalType.EXTERNAL_SIGNAL: lambda due: NamedSignal(
        _text(due.payload["name"]),
        _text_or_none(due.payload["key"]),
        due.payload["payload"],
        by=_text_or_none(due.payload.get("by")),
    ),
    SignalType.SUB_WORKFLOW_COMPLETED: lambda due: ChildEnded(token=due.token, **due.payload),
    SignalType.PARENT_ENDED: lambda due: CancelCase(
        reason=_text_or_none(due.payload.get("reason", "its parent ended"))
    ),
}
"""How queued signals are told to the kernel. CallDue is absent: it asks for an act first."""


NEED_TOKEN = frozenset({SignalType.TIMER_DUE, SignalType.RETRY_DUE, SignalType.SUB_WORKFLOW_COMPLETED})


def read_payload(text: str) -> Any:
    """Read an envelope's content as the queue holds it."""
    try:
        return json.loads(text)
    except (RecursionError, ValueError) as error:
        raise Malformed("the payload is nested too deeply to be read") from error


def happening_of(signal: Due) -> Happening:
    """Say what a queued signal means to the kernel."""
    make = HAPPENING_OF.get(signal.type)
    if make is None or (signal.type in NEED_TOKEN and not signal.token):
        raise Malformed(f"{signal.type} cannot be delivered")
    try:
        return make(signal)
    except (KeyError, TypeError, AttributeError) as error:
        raise Malformed(f"the payload of {signal.type} cannot be read") from error
