"""Take on the calls that fell due, and deliver what came of them; engine.dispatch.call_pool makes them side by side.

A call's signal is first pushed behind the call's deadline and that is committed; then the call is made with no transaction open;
then its result is delivered under the token. A worker that dies in between leaves a signal that is due again after the deadline,
with the same key for the outside. What is taken on together is one statement, and results that are there together are one commit.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from functools import partial
from typing import Any
from uuid import UUID

import structlog
from django.db import connection, connections, transaction

from engine.audit.chain import database_now
from engine.conf import conf
from engine.db.transactions import in_one_transaction, is_connection_lost
from engine.dispatch.crash_points import Boundary, reached, reached_steps
from engine.dispatch.dead_letters import count_attempt, vanished
from engine.dispatch.signal_decoder import Due, Malformed
from engine.extensions.functions import is_transactional
from engine.kernel.json_text import write_json
from engine.kernel.signals import CallFailed, CallSucceeded, Event, SignalType
from engine.models import Effect, Instance, Signal, SignalReceipt
from engine.runtime import claims, coordinator
from engine.runtime.commit import Batch, run_hot
from engine.runtime.projection import HELD_STATUSES, NEVER, Delivery, Loaded
from engine.runtime.taken_calls import GRACE_SECONDS, Row, TakenCalls
from engine.runtime.transactional_functions import run_transactional
from engine.storage.encryption import UnreadableSecret, secrets_for_call
from engine.transports.base import CallResult, Failed, Succeeded, make_call
from workflowplatform.accounts.actor import engine_actor

log = structlog.get_logger(__name__)

CALLS_AT_ONCE = 16
ANSWER = "answer"
"""Where a call's signal keeps a result that could not be delivered yet."""


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
    secrets: tuple[str, ...] = ()
    attempts: int = 0
    """How many workers took it on before and did not come back with a result."""
    answer: CallResult | None = None
    """The result that arrived while the instance was suspended, if any: the call is not made again."""

    @property
    def is_awaited(self) -> bool:
        """Return whether a step waits for the answer; calls from a `finally` carry a token below zero."""
        return self.token > 0


Answered = tuple[Intent, CallResult]
Room = Callable[[Sequence[Intent]], TakenCalls]
"""Says how much room a transaction has for calls, besides those that were taken on before it."""

TAKE_ON = """
WITH due AS (
  SELECT * FROM unnest(%(signals)s::uuid[], %(instances)s::uuid[], %(tokens)s::bigint[]) d(signal_id, instance_id, token)),
made AS (
  UPDATE wf_effects e SET made = e.made + 1 FROM due d
  WHERE e.instance_id = ANY(%(instances)s::uuid[]) AND e.instance_id = d.instance_id AND e.token = d.token
    AND e.status = 'intended'
  RETURNING d.signal_id, e.transport, e.request, e.key, e.timeout_seconds, e.secrets),
pushed AS (
  UPDATE wf_signals s SET attempts = s.attempts + 1,
    due_at = clock_timestamp() + make_interval(secs => m.timeout_seconds + %(grace)s)
  FROM made m WHERE s.id = ANY(%(signals)s::uuid[]) AND s.id = m.signal_id)
SELECT * FROM made
"""


def take_on_calls(due: Sequence[Due], loaded: dict[UUID, Loaded]) -> list[Intent]:
    """Push each call's signal behind its deadline, so that it comes again if this process dies; drop stale ones."""
    if not due:
        return []
    taken = {row[0]: row[1:] for row in run_hot(TAKE_ON, _columns(due))}
    for signal in due:
        if signal.id not in taken:
            _drop_stale(signal, loaded[signal.instance_id].tenant_id)
    return [
        _intent(signal, loaded[signal.instance_id].tenant_id, taken[signal.id]) for signal in due if signal.id in taken
    ]


def _columns(due: Sequence[Due]) -> dict[str, Any]:
    return {
        "signals": [signal.id for signal in due],
        "instances": [signal.instance_id for signal in due],
        "tokens": [str(signal.token) for signal in due],
        "grace": GRACE_SECONDS,
    }


def _intent(signal: Due, tenant_id: UUID, effect: tuple[Any, ...]) -> Intent:
    transport, request, key, timeout_seconds, secrets = effect
    return Intent(
        signal.id, signal.instance_id, tenant_id, signal.token, transport, json.loads(request), key, timeout_seconds,
        tuple(json.loads(secrets)), signal.attempts, _kept_answer(signal),
    )  # fmt: skip


def taken_with_slices(taking: TakenCalls) -> list[Intent]:
    """Return the calls that a transaction took on with its slices."""
    return [_intent_of_rows(signal, effect) for signal, effect in taking.taken]


def _intent_of_rows(signal: Row, effect: Row) -> Intent:
    return Intent(
        signal["id"], UUID(signal["instance_id"]), UUID(signal["tenant_id"]), signal["waiting_token"], effect["transport"],
        as_stored(effect["request"]), effect["key"], effect["timeout_seconds"], tuple(effect["secrets"]),
    )  # fmt: skip


def as_stored(request: Any) -> Any:
    """Return a request as the database would give it back, so that a call that is made again sends the same bytes."""
    return _in_stored_order(json.loads(write_json(request), parse_float=_stored_number))


def _stored_number(text: str) -> float | int:
    number: float | int = json.loads(format(Decimal(text), "f"))
    return number


def _in_stored_order(value: Any) -> Any:
    """Put the members of objects into the order of PostgreSQL's jsonb: shorter names first."""
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: (len(name.encode()), name.encode()))
        return {name: _in_stored_order(value[name]) for name in names}
    return [_in_stored_order(item) for item in value] if isinstance(value, list) else value


def _kept_answer(signal: Due) -> CallResult | None:
    """Read the result that arrived while the instance was suspended, if any."""
    try:
        answer = signal.payload.get(ANSWER)
        if answer is None:
            return None
        return Succeeded(**answer["fields"]) if answer["succeeded"] else Failed(**answer["fields"])
    except (KeyError, TypeError, AttributeError) as error:
        raise Malformed("the answer that is kept with a call cannot be read") from error


def _drop_stale(signal: Due, tenant_id: UUID) -> None:
    Signal.objects.filter(pk=signal.id).delete()
    SignalReceipt.objects.create(
        id=signal.id, tenant_id=tenant_id, instance_id=signal.instance_id, type=signal.type,
        waiting_token=signal.token, disposition="stale", at=database_now(),
    )  # fmt: skip


def perform_at_once(intents: Sequence[Intent]) -> list[Intent]:
    """Settle what needs no call to the outside; return the rest."""
    return _without_transactional(_without_deadly(_without_answered(intents)))


def _without_answered(intents: Sequence[Intent]) -> list[Intent]:
    """Deliver results that arrived while their instance was suspended; return the rest."""
    for intent in intents:
        if intent.answer is not None:
            _deliver_result(intent, intent.answer)
    return [intent for intent in intents if intent.answer is None]


def _without_deadly(intents: Sequence[Intent]) -> list[Intent]:
    """Fail what worker after worker did not come back from, instead of losing one more to it; return the rest."""
    deadly = [intent for intent in intents if intent.attempts >= conf.poison_attempts]
    for intent in deadly:
        log.error(
            "a call took all its attempts and their workers with it",
            instance=str(intent.instance_id),
            signal=str(intent.signal_id),
        )
        _deliver_result(intent, Failed("consistency", "vanished", str(vanished(intent.attempts))))
    return [intent for intent in intents if intent not in deadly]


def _without_transactional(intents: Sequence[Intent]) -> list[Intent]:
    """Run what belongs into a transaction of its own, one after the other; return the calls to the outside."""
    for intent in intents:
        if is_transactional(intent.transport, intent.request):
            _perform_alone(intent)
    return [intent for intent in intents if not is_transactional(intent.transport, intent.request)]


def _perform_alone(intent: Intent) -> None:
    """Run a transactional function and commit what it wrote with its result; what cannot be committed has failed."""
    try:
        _perform(intent)
    except Exception as error:
        if is_connection_lost():
            raise
        log.exception(
            "a transactional function could not be committed",
            instance=str(intent.instance_id),
            signal=str(intent.signal_id),
        )
        _deliver_result(intent, Failed("transport", "not_committed", f"The database refused: {type(error).__name__}."))


@in_one_transaction
def _perform(intent: Intent) -> None:
    if _is_wanted(intent):
        result = run_transactional(intent.tenant_id, intent.request, intent.secrets, key=intent.key)
        _deliver_result(intent, result)


def _is_wanted(intent: Intent) -> bool:
    """Return, under the instance's claim, whether the call still waits and may happen now."""
    claims.lock([intent.instance_id])
    if Instance.objects.filter(pk=intent.instance_id, status__in=HELD_STATUSES).exists():
        return False
    return Effect.objects.filter(instance_id=intent.instance_id, token=intent.token, status="intended").exists()


def make_one(intent: Intent, allow: list[str] | None) -> CallResult:
    """Make one call; a registered function may have used this thread's own database connection."""
    try:
        secrets = secrets_for_call(intent.tenant_id, intent.secrets)
        return make_call(
            intent.transport,
            intent.request,
            key=intent.key,
            timeout_seconds=intent.timeout_seconds,
            http_allow=allow,
            secrets=secrets,
        )
    except UnreadableSecret as error:
        return Failed("authorization", "unreadable_secret", str(error))
    finally:
        for own in connections.all(
            initialized_only=True
        ):  # most calls use no database, and have no connection to close
            own.close()


def deliver_results(answered: Sequence[Answered], room: Room | None = None) -> list[Intent]:
    """Deliver what is there together in one commit; if that fails one by one, so that a bad result stops no neighbour.

    What was delivered before is stale when it comes again. Where there is room, the calls that follow are taken on with it, and
    returned.
    """
    if len(answered) > 1:
        try:
            return _commit_results(answered, room)
        except Exception:
            if is_connection_lost():
                raise
            log.exception("results of calls failed together, applying them one by one")
    intents: list[Intent] = []
    for intent, result in answered:
        intents += _deliver_result(intent, result, room and partial(_besides, room, tuple(intents)))
    return intents


def _besides(room: Room, before: Sequence[Intent], intents: Sequence[Intent]) -> TakenCalls:
    return room((*before, *intents))


def _deliver_result(intent: Intent, result: CallResult, room: Room | None = None) -> list[Intent]:
    try:
        if intent.is_awaited:
            return _commit_result(intent, result, room)
        _note_result(intent, result)
    except Exception as error:
        if connection.in_atomic_block or is_connection_lost():
            raise
        log.exception(
            "the result of a call could not be applied", instance=str(intent.instance_id), signal=str(intent.signal_id)
        )
        count_attempt(intent.instance_id, error, signal_id=intent.signal_id)
    return []


@in_one_transaction
def _commit_result(intent: Intent, result: CallResult, room: Room | None = None) -> list[Intent]:
    """Apply a result; while the instance is suspended, keep it with its signal until the instance resumes."""
    transaction.on_commit(partial(reached, Boundary.AFTER_COMMIT))
    loaded = claims.hold(intent.instance_id)
    if loaded.status in HELD_STATUSES:
        _keep_answer(intent, result)
        return []
    batch = Batch(taking=room(()) if room else None)
    advanced = coordinator.deliver_held(loaded, [_delivery(intent, result)], engine_actor(intent.tenant_id), batch)
    reached_steps(advanced.began)
    reached(Boundary.BEFORE_COMMIT)
    return taken_with_slices(batch.taking) if batch.taking else []


@in_one_transaction
def _commit_results(answered: Sequence[Answered], room: Room | None = None) -> list[Intent]:
    """Apply the results of several calls at once, each as if it came alone."""
    transaction.on_commit(partial(reached, Boundary.AFTER_COMMIT))
    loaded = claims.lock_and_load(intent.instance_id for intent, _ in answered)
    deliveries: dict[UUID, list[Delivery]] = defaultdict(list)
    for intent, result in answered:
        if not intent.is_awaited:
            _note_result(intent, result)
        elif loaded[intent.instance_id].status in HELD_STATUSES:
            _keep_answer(intent, result)
        else:
            deliveries[intent.instance_id].append(_delivery(intent, result))
    taking = room(()) if room else None
    moved = coordinator.deliver_batch([(loaded[which], given) for which, given in deliveries.items()], taking=taking)
    for advanced in moved:
        reached_steps(advanced.began)
    reached(Boundary.BEFORE_COMMIT)
    return taken_with_slices(taking) if taking else []


def _delivery(intent: Intent, result: CallResult) -> Delivery:
    event = _result_event(intent.token, result)
    actor = engine_actor(intent.tenant_id)
    return Delivery(event, SignalType.CALL_DUE, intent.signal_id, actor, token=intent.token)


def _keep_answer(intent: Intent, result: CallResult) -> None:
    answer = {"succeeded": isinstance(result, Succeeded), "fields": asdict(result)}
    Signal.objects.filter(pk=intent.signal_id).update(
        payload={ANSWER: answer}, attempts=0, due_at=NEVER, held_due_at=database_now()
    )


@in_one_transaction
def _note_result(intent: Intent, result: CallResult) -> None:
    """Keep what became of a call that nobody waits for; nothing follows from it."""
    now = database_now()
    status = "succeeded" if isinstance(result, Succeeded) else "failed"
    Effect.objects.filter(instance_id=intent.instance_id, token=intent.token).update(
        status=status, result=result.value, ended_at=now
    )
    Signal.objects.filter(pk=intent.signal_id).delete()


def _result_event(token: int, result: CallResult) -> Event:
    if isinstance(result, Succeeded):
        return CallSucceeded(token, result.value)
    return CallFailed(token, result.error_class, result.code, result.message, result.value)
