"""Keep one bad signal from stopping its neighbours.

Each failing attempt is counted in its own transaction, for the one signal that failed: after a failure signals are taken one
at a time. A signal whose attempts are used up, or that no attempt could ever apply, becomes a dead letter and its instance an
incident, in one transaction.

Worse than a signal that fails is one that takes its worker with it. A call's attempt is counted when it is taken on. All else a
dead worker had in hand is on its board (engine.dispatch.worker_board): its successor counts that attempt. From then on every
worker takes the signal alone, counts each attempt beforehand, and pushes it into the future meanwhile. So a signal
that kills costs exactly as many workers as it has attempts, and other signals are not affected. Everything else is taken in
batches as before: whatever a worker can die of is on its board, or is a call whose attempt is counted.
"""

from datetime import timedelta
from typing import Any
from uuid import UUID

import structlog
from django.db.models import F, QuerySet

from engine.audit.chain import database_now
from engine.conf import conf
from engine.db.transactions import in_one_transaction
from engine.dispatch.signal_decoder import SIGNALS_A_SLICE, Malformed
from engine.dispatch.worker_board import Board
from engine.errors import Unreadable
from engine.kernel.errors import KernelError
from engine.kernel.signals import SignalType
from engine.kernel.snapshot import UnreadableSnapshot
from engine.kernel.transitions import InstanceStatus
from engine.metrics import count_dead_letter
from engine.models import DeadLetter, Instance, Signal, TemplateVersion
from engine.runtime import claims, coordinator
from engine.runtime.moves import raise_incident

log = structlog.get_logger(__name__)


@in_one_transaction
def count_attempt(
    instance_id: UUID, error: Exception, *, signal_id: UUID | None = None, counted: UUID | None = None
) -> None:
    """Count a failed attempt in its own transaction; what is beyond hope becomes a dead letter.

    Without ids the first signal that is due had its attempt. A call's signal is named, as is one that was `counted` beforehand.
    """
    if not claims.lock([instance_id]):
        return
    named = signal_id or counted
    found = Signal.objects.filter(pk=named) if named else _due(instance_id)
    signal = found.defer("payload").order_by("due_at", "id").first()
    if signal is None:
        return
    signal.attempts += 0 if named else 1
    log.warning("a signal could not be applied", attempts=signal.attempts, **_names(signal))
    if isinstance(error, HOPELESS) or signal.attempts >= conf.poison_attempts:
        to_dead_letter(signal, error)
    else:
        _put_off(signal)


def _due(instance_id: UUID) -> QuerySet[Signal]:
    return Signal.objects.filter(instance_id=instance_id, due_at__lte=database_now())


def _put_off(signal: Signal) -> None:
    """Postpone a signal, and behind it those that were due after it: their order is kept."""
    later = database_now() + timedelta(seconds=min(2**signal.attempts, 60))
    _due(signal.instance_id).exclude(pk=signal.pk).update(due_at=F("due_at") + (later - signal.due_at))
    signal.due_at = later
    signal.save(update_fields=["attempts", "due_at"])


class Vanished(Exception):
    """A signal that was in the hands of worker after worker when they died."""


@in_one_transaction
def count_beforehand(instance_id: UUID) -> UUID | None:
    """Count the attempt that is about to be made with the first due signal; one that keeps killing workers becomes a dead letter.

    Return that signal. It is postponed, so that it blocks no other if this worker dies of it too. A call's signal is left alone:
    its attempt is counted when it is taken on.
    """
    if not claims.lock([instance_id]):
        return None
    signal = _due(instance_id).defer("payload").order_by("due_at", "id").first()
    if signal is None or signal.type == SignalType.CALL_DUE:
        return None
    if signal.attempts >= conf.poison_attempts:
        to_dead_letter(signal, vanished(signal.attempts))
        return None
    signal.attempts += 1
    signal.due_at = database_now() + timedelta(seconds=min(2**signal.attempts, 60))
    signal.save(update_fields=["attempts", "due_at"])
    return signal.pk


def replace_dead_worker(board: Board) -> None:
    """Replace a worker that died: count the attempts that it had in hand."""
    for instance_id in board.left():
        count_vanished(instance_id)
    board.clear()


@in_one_transaction
def count_vanished(instance_id: UUID) -> None:
    """Count an attempt from which a worker did not come back, for every signal that it was about to apply."""
    if not claims.lock([instance_id]):
        return
    due = _due(instance_id).exclude(type=SignalType.CALL_DUE).defer("payload").order_by("due_at", "id")
    for signal in due[:SIGNALS_A_SLICE]:
        signal.attempts += 1
        if signal.attempts >= conf.poison_attempts:
            to_dead_letter(signal, vanished(signal.attempts))
            return  # the others are held until an operator has looked
        signal.save(update_fields=["attempts"])


def vanished(attempts: int) -> Vanished:
    """Return what became of so many attempts."""
    return Vanished(f"{attempts} workers took it up and none came back")


HOPELESS = (Malformed, KernelError, Unreadable, UnreadableSnapshot, TemplateVersion.DoesNotExist)
"""What no second attempt can fix: the signal, the snapshot or the definition cannot be read."""


def to_dead_letter(signal: Signal, error: Exception) -> None:
    """Turn a signal into a dead letter and its instance into an incident. Call under the instance's claim."""
    now = database_now()
    reason = f"{type(error).__name__}: {error}"[:500]
    log.error("a signal became a dead letter", error=type(error).__name__, **_names(signal))
    DeadLetter.objects.create(
        tenant_id=signal.tenant_id, instance_id=signal.instance_id, envelope=_envelope(signal), reason=reason,
        node=coordinator.node(), at=now,
    )  # fmt: skip
    signal.delete()
    count_dead_letter()
    instance = Instance.objects.get(pk=signal.instance_id)
    if instance.is_over or instance.status == InstanceStatus.INCIDENT:
        return
    problem = {
        "class": "consistency",
        "code": "dead_letter",
        "message": reason,
        "step": None,
        "attempt": 1,
        "cause": None,
    }
    raise_incident(instance, problem)


def _names(signal: Signal) -> dict[str, str]:
    """Name a signal for the log, without its payload."""
    return {"instance": str(signal.instance_id), "signal": str(signal.pk), "type": signal.type}


def _envelope(signal: Signal) -> dict[str, Any]:
    return {
        "id": str(signal.pk),
        "instance": str(signal.instance_id),
        "runtime_provider": signal.runtime_provider,
        "type": signal.type,
        "expected_version": signal.expected_version,
        "waiting_token": signal.waiting_token,
        "occurred_at": signal.occurred_at.isoformat(),
        "due_at": signal.due_at.isoformat(),
        "payload": _payload(signal),
    }


def _payload(signal: Signal) -> Any:
    try:
        return signal.payload
    except RecursionError:
        return {"unreadable": "The payload was nested too deeply to be read."}
