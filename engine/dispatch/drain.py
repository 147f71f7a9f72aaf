"""Empty the queue: claim instances with due signals, apply them, make the calls that fell due.

`wf_signals` is the queue of record. The claim is the lock on the instance's runtime row: rows that another drain holds are
skipped, and a dead process holds nothing. One pass takes up to a batch of instances, tenants in turn, and applies all due signals
of each as one slice; the whole batch is one commit. If that fails, the same instances are taken one by one, so that one bad
signal never stops its neighbours: a signal whose attempts are used up becomes a dead letter and its instance an incident.

A call that falls due is not told to the kernel. Its signal is first pushed behind the call's deadline and that is committed;
then the call is made with no transaction open; then its result is delivered under the token. A worker that dies in between
leaves a signal that is due again after the deadline, with the same key for the outside.
"""

import logging
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import OperationalError, connection, transaction

from engine import coordinator
from engine.audit import Act, database_now, record
from engine.dispatch.boundaries import Boundary, reached
from engine.kernel.signals import (
    CallFailed,
    CallSucceeded,
    Continue,
    Happening,
    RetryDue,
    SignalType,
    TimerDue,
)
from engine.kernel.transitions import InstanceStatus
from engine.models import DeadLetter, Effect, Instance, RuntimeState, Signal, SignalReceipt
from engine.projection import NEVER, Delivery, Loaded
from engine.transports.base import CallResult, Succeeded, make_call
from workflowplatform.accounts.actor import engine_actor
from workflowplatform.accounts.models import Tenant

log = logging.getLogger(__name__)

MAX_SECONDS = 30.0
MAX_SIGNALS = 2_000
SIGNALS_A_SLICE = 50
CALLS_AT_ONCE = 8
CALL_GRACE_SECONDS = 5.0
NEAREST_LOOK, FARTHEST_LOOK = 0.02, 5.0

CLAIM = """
WITH turns AS (
  SELECT d.instance_id, row_number() OVER (PARTITION BY t.id ORDER BY d.due_at) AS turn, d.due_at
  FROM wf_tenants t CROSS JOIN LATERAL (
    SELECT s.instance_id, min(s.due_at) AS due_at FROM (
      SELECT instance_id, due_at FROM wf_signals
      WHERE tenant_id = t.id AND due_at <= clock_timestamp()
      ORDER BY due_at LIMIT %(scan)s) s
    GROUP BY s.instance_id) d)
SELECT r.instance_id FROM turns JOIN wf_runtime_states r USING (instance_id)
ORDER BY turns.turn, turns.due_at LIMIT %(batch)s FOR NO KEY UPDATE OF r SKIP LOCKED
"""

DUE = """
SELECT id, instance_id, type, waiting_token, payload, attempts FROM (
  SELECT *, row_number() OVER (PARTITION BY instance_id ORDER BY due_at, id) AS place FROM wf_signals
  WHERE instance_id = ANY(%(claimed)s) AND due_at <= clock_timestamp()) s
WHERE place <= %(most)s ORDER BY instance_id, due_at, id
"""


@dataclass(frozen=True, slots=True)
class Due:
    """A signal whose time has come, as it stands in the queue."""

    id: UUID
    instance_id: UUID
    type: SignalType
    token: int | None
    payload: Any
    attempts: int


@dataclass(frozen=True, slots=True)
class Intent:
    """A call that this drain has taken on: committed, not yet made."""

    signal_id: UUID
    instance_id: UUID
    tenant_id: UUID
    token: int
    transport: str
    request: Any
    key: str
    timeout_seconds: float


@dataclass(slots=True)
class Drained:
    """What a drain did."""

    signals: int = 0
    calls: int = 0
    failed: int = 0


class Malformed(Exception):
    """A signal that no kernel could understand."""


HAPPENING_OF: dict[SignalType, Any] = {
    SignalType.TIMER_DUE: lambda due: TimerDue(due.token),
    SignalType.RETRY_DUE: lambda due: RetryDue(due.token),
    SignalType.INTERNAL_CONTINUE: lambda due: Continue(),
}
"""How queued signals are told to the kernel. CallDue is absent: it asks for an act first."""


def drain() -> Drained:
    """Apply everything due; return after a while even if more is left, so that the caller can look around."""
    drained = Drained()
    stop_at = time.monotonic() + MAX_SECONDS
    while time.monotonic() < stop_at and drained.signals + drained.calls < MAX_SIGNALS:
        if not drain_once(drained):
            break
    return drained


def drain_once(drained: Drained) -> bool:
    """Take one batch; tell whether there was anything to do."""
    batch = settings.WORKFLOW_DRAIN_BATCH
    try:
        intents, count = _take(batch)
    except OperationalError:
        raise
    except Exception:
        log.exception("a batch failed; taking its instances one by one")
        intents, count = _take_one_by_one(drained)
        count = max(count, 1)
    drained.signals += count
    drained.calls += len(intents)
    _make_calls(intents)
    return bool(count or intents)


@transaction.atomic
def _take(batch: int, only: UUID | None = None) -> tuple[list[Intent], int]:
    """Claim, apply and commit one batch; return the calls that it took on and the number of signals applied."""
    claimed = _claim(batch) if only is None else coordinator.lock([only])
    if not claimed:
        return [], 0
    reached(Boundary.CLAIMED)
    due = _due(claimed)
    loaded = coordinator.load(sorted({signal.instance_id for signal in due}))
    reached(Boundary.LOADED)
    intents = _take_on_calls([signal for signal in due if signal.type is SignalType.CALL_DUE], loaded)
    told = [signal for signal in due if signal.type is not SignalType.CALL_DUE]
    coordinator.deliver_batch(_by_instance(told, loaded), _actors(loaded.values()))
    reached(Boundary.BEFORE_COMMIT)
    return intents, len(told)


def _claim(batch: int) -> list[UUID]:
    with connection.cursor() as cursor:
        cursor.execute(CLAIM, {"batch": batch, "scan": batch * 4})
        return [row[0] for row in cursor.fetchall()]


def _due(claimed: Sequence[UUID]) -> list[Due]:
    with connection.cursor() as cursor:
        cursor.execute(DUE, {"claimed": list(claimed), "most": SIGNALS_A_SLICE})
        return [Due(row[0], row[1], SignalType(row[2]), row[3], row[4], row[5]) for row in cursor.fetchall()]


def _by_instance(due: Iterable[Due], loaded: dict[UUID, Loaded]) -> list[tuple[Loaded, list[Delivery]]]:
    grouped: dict[UUID, list[Delivery]] = defaultdict(list)
    for signal in due:
        grouped[signal.instance_id].append(_delivery(signal, loaded[signal.instance_id].tenant_id))
    return [(loaded[instance_id], deliveries) for instance_id, deliveries in grouped.items()]


def _delivery(signal: Due, tenant_id: UUID) -> Delivery:
    return Delivery(happening_of(signal), signal.type, signal.id, engine_actor(tenant_id), token=signal.token)


def happening_of(signal: Due) -> Happening:
    """Say what a queued signal means to the kernel."""
    make = HAPPENING_OF.get(signal.type)
    if make is None or (signal.token is None and signal.type is not SignalType.INTERNAL_CONTINUE):
        raise Malformed(f"{signal.type} cannot be delivered")
    happening: Happening = make(signal)
    return happening


def _actors(loaded: Iterable[Loaded]) -> dict[UUID, Any]:
    return {one.tenant_id: engine_actor(one.tenant_id) for one in loaded}


# Calls


def _take_on_calls(due: Sequence[Due], loaded: dict[UUID, Loaded]) -> list[Intent]:
    """Push each call's signal behind its deadline, so that it comes again if this process dies; drop stale ones."""
    intents: list[Intent] = []
    for signal in due[:CALLS_AT_ONCE]:
        one = loaded[signal.instance_id]
        effect = Effect.objects.filter(instance_id=signal.instance_id, token=signal.token, status="intended").first()
        if effect is None:
            _drop_stale(signal, one.tenant_id)
        else:
            intents.append(_take_on(signal, effect, one))
    return intents


def _take_on(signal: Due, effect: Effect, one: Loaded) -> Intent:
    deadline = one.now + timedelta(seconds=effect.timeout_seconds + CALL_GRACE_SECONDS)
    Signal.objects.filter(pk=signal.id).update(due_at=deadline)
    Effect.objects.filter(instance_id=signal.instance_id, token=signal.token).update(made=effect.made + 1)
    return Intent(
        signal.id, signal.instance_id, one.tenant_id, effect.token, effect.transport, effect.request, effect.key,
        effect.timeout_seconds,
    )  # fmt: skip


def _drop_stale(signal: Due, tenant_id: UUID) -> None:
    Signal.objects.filter(pk=signal.id).delete()
    SignalReceipt.objects.create(
        id=signal.id, tenant_id=tenant_id, instance_id=signal.instance_id, type=signal.type,
        waiting_token=signal.token, disposition="stale", at=database_now(),
    )  # fmt: skip


def _make_calls(intents: Sequence[Intent]) -> None:
    """Make the calls side by side, then deliver each result in its own commit."""
    if not intents:
        return
    reached(Boundary.BEFORE_CALL)
    allow = dict(Tenant.objects.filter(pk__in={intent.tenant_id for intent in intents}).values_list("id", "http_allow"))
    with ThreadPoolExecutor(max_workers=len(intents)) as pool:
        results = list(pool.map(lambda intent: _make_call(intent, allow[intent.tenant_id]), intents))
    reached(Boundary.AFTER_CALL)
    for intent, result in zip(intents, results, strict=True):
        _deliver_result(intent, result)


def _make_call(intent: Intent, allow: list[str] | None) -> CallResult:
    """Make one call; a registered function may have used this thread's own database connection."""
    try:
        return make_call(
            intent.transport, intent.request, key=intent.key, timeout_seconds=intent.timeout_seconds, http_allow=allow
        )
    finally:
        connection.close()


def _deliver_result(intent: Intent, result: CallResult) -> None:
    actor = engine_actor(intent.tenant_id)
    happening = _result_happening(intent.token, result)
    delivery = Delivery(happening, SignalType.CALL_DUE, intent.signal_id, actor, token=intent.token)
    with transaction.atomic():
        coordinator.deliver(instance_id=intent.instance_id, deliveries=[delivery], actor=actor)


def _result_happening(token: int, result: CallResult) -> Happening:
    if isinstance(result, Succeeded):
        return CallSucceeded(token, result.value)
    return CallFailed(token, result.error_class, result.code, result.message, result.value)


# Poison


def _take_one_by_one(drained: Drained) -> tuple[list[Intent], int]:
    """Redo a failed batch instance by instance; count the attempt of each that fails by itself."""
    intents: list[Intent] = []
    count = 0
    with transaction.atomic():
        claimed = _claim(settings.WORKFLOW_DRAIN_BATCH)
    for instance_id in claimed:
        try:
            taken, applied = _take(1, only=instance_id)
        except Exception as error:
            log.exception("signals of one instance failed", extra={"instance": str(instance_id)})
            count_attempt(instance_id, error)
            drained.failed += 1
            continue
        intents += taken
        count += applied
    return intents, count


@transaction.atomic
def count_attempt(instance_id: UUID, error: Exception) -> None:
    """Count a failed attempt in its own transaction; what is beyond hope becomes a dead letter."""
    if not coordinator.lock([instance_id]):
        return
    hopeless = isinstance(error, Malformed) or type(error).__name__ in UNREADABLE
    for signal in Signal.objects.filter(instance_id=instance_id, due_at__lte=database_now()).order_by("due_at", "id"):
        signal.attempts += 1
        if hopeless or signal.attempts >= settings.WORKFLOW_POISON_ATTEMPTS:
            bury(signal, error)
        else:
            signal.due_at = database_now() + timedelta(seconds=min(2**signal.attempts, 60))
            signal.save(update_fields=["attempts", "due_at"])


UNREADABLE = frozenset({"UnreadableSnapshot", "KernelError", "DoesNotExist"})
"""Errors that no second attempt can mend: the snapshot or the definition cannot be read."""


def bury(signal: Signal, error: Exception) -> None:
    """Turn a signal into a dead letter and its instance into an incident. Call under the instance's claim."""
    now = database_now()
    reason = f"{type(error).__name__}: {error}"[:500]
    DeadLetter.objects.create(
        tenant_id=signal.tenant_id, instance_id=signal.instance_id, envelope=_envelope(signal), reason=reason,
        node=coordinator.node(), at=now,
    )  # fmt: skip
    signal.delete()
    instance = Instance.objects.get(pk=signal.instance_id)
    if instance.is_over or instance.status == InstanceStatus.INCIDENT:
        return
    problem = {
        "error_class": "consistency",
        "code": "dead_letter",
        "message": reason,
        "step": None,
        "attempt": 1,
        "cause": None,
    }
    Instance.objects.filter(pk=instance.pk).update(status=InstanceStatus.INCIDENT, error=problem, updated_at=now)
    RuntimeState.objects.filter(pk=instance.pk).update(
        runtime_status=InstanceStatus.INCIDENT, last_error_code="dead_letter", last_error_json=problem, updated_at=now
    )
    for other in Signal.objects.filter(instance_id=instance.pk, held_due_at__isnull=True):
        Signal.objects.filter(pk=other.pk).update(held_due_at=other.due_at, due_at=NEVER)
    record(instance, Act("raise_incident", new={"message": reason}), actor=engine_actor(instance.tenant_id))


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
        "payload": signal.payload,
    }


# Looking ahead


def seconds_to_next_look() -> float:
    """Say how long nothing will be due: until the earliest future signal, within bounds."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT extract(epoch FROM min(due_at) - clock_timestamp()) FROM wf_signals WHERE due_at > clock_timestamp()"
        )
        ahead = cursor.fetchone()[0]
    if ahead is None:
        return FARTHEST_LOOK
    return max(NEAREST_LOOK, min(FARTHEST_LOOK, float(ahead)))
