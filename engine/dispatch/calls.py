"""Make the calls that fell due.

A call's signal is first pushed behind the call's deadline and that is committed; then the call is made with no transaction open;
then its result is delivered under the token. A worker that dies in between leaves a signal that is due again after the deadline,
with the same key for the outside.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings
from django.db import connection, transaction

from engine import coordinator
from engine.audit import database_now
from engine.dispatch.boundaries import Boundary, reached, reached_steps
from engine.dispatch.due import Due
from engine.dispatch.poison import count_attempt, vanished
from engine.functions import is_transactional
from engine.kernel.secrets import fill_secrets
from engine.kernel.signals import CallFailed, CallSucceeded, Happening, SignalType
from engine.models import Effect, Instance, Signal, SignalReceipt
from engine.projection import NEVER, STANDING_STILL, Delivery, Loaded
from engine.secrets import UnreadableSecret, secrets_for_call
from engine.transactional import run_transactional
from engine.transactions import in_one_transaction, is_connection_lost
from engine.transports.base import CallResult, Failed, Succeeded, make_call
from workflowplatform.accounts.actor import engine_actor
from workflowplatform.accounts.models import Tenant

log = structlog.get_logger(__name__)

CALLS_AT_ONCE = 8
CALL_GRACE_SECONDS = 5.0
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
    answer: Any = None
    """The result that came while the instance stood still, where one did: the call is not made again."""

    @property
    def is_awaited(self) -> bool:
        """Tell whether a step waits for the answer; calls from a `finally` carry a token below zero."""
        return self.token > 0


def take_on_calls(due: Sequence[Due], loaded: dict[UUID, Loaded]) -> list[Intent]:
    """Push each call's signal behind its deadline, so that it comes again if this process dies; drop stale ones."""
    intents: list[Intent] = []
    for signal in _side_by_side(due):
        one = loaded[signal.instance_id]
        effect = Effect.objects.filter(instance_id=signal.instance_id, token=signal.token, status="intended").first()
        if effect is None:
            _drop_stale(signal, one.tenant_id)
        else:
            intents.append(_take_on(signal, effect, one))
    return intents


def _side_by_side(due: Sequence[Due]) -> Sequence[Due]:
    """Choose calls to make together; one from which a worker did not come back is made alone."""
    if due and due[0].attempts:
        return due[:1]
    return [signal for signal in due if not signal.attempts][:CALLS_AT_ONCE]


def _take_on(signal: Due, effect: Effect, one: Loaded) -> Intent:
    deadline = one.now + timedelta(seconds=effect.timeout_seconds + CALL_GRACE_SECONDS)
    Signal.objects.filter(pk=signal.id).update(due_at=deadline, attempts=signal.attempts + 1)
    Effect.objects.filter(instance_id=signal.instance_id, token=signal.token).update(made=effect.made + 1)
    return Intent(
        signal.id, signal.instance_id, one.tenant_id, effect.token, effect.transport, effect.request, effect.key,
        effect.timeout_seconds, tuple(effect.secrets), signal.attempts, signal.payload.get(ANSWER),
    )  # fmt: skip


def _drop_stale(signal: Due, tenant_id: UUID) -> None:
    Signal.objects.filter(pk=signal.id).delete()
    SignalReceipt.objects.create(
        id=signal.id, tenant_id=tenant_id, instance_id=signal.instance_id, type=signal.type,
        waiting_token=signal.token, disposition="stale", at=database_now(),
    )  # fmt: skip


def make_calls(intents: Sequence[Intent]) -> None:
    """Make the calls side by side; deliver each result in its own commit as soon as it is there, however long others take."""
    intents = _without_transactional(_without_deadly(_without_answered(intents)))
    if not intents:
        return
    reached(Boundary.BEFORE_CALL)
    allow = dict(Tenant.objects.filter(pk__in={intent.tenant_id for intent in intents}).values_list("id", "http_allow"))
    with ThreadPoolExecutor(max_workers=len(intents)) as pool:
        made = {pool.submit(_make_call, intent, allow[intent.tenant_id]): intent for intent in intents}
        for call in as_completed(made):
            reached(Boundary.AFTER_CALL)
            _deliver_result(made[call], call.result())


def _without_answered(intents: Sequence[Intent]) -> list[Intent]:
    """Deliver what was answered while its instance stood still; return the rest."""
    for intent in intents:
        if intent.answer is not None:
            made_of = Succeeded if intent.answer["succeeded"] else Failed
            _deliver_result(intent, made_of(**intent.answer["fields"]))
    return [intent for intent in intents if intent.answer is None]


def _without_deadly(intents: Sequence[Intent]) -> list[Intent]:
    """Fail what worker after worker did not come back from, instead of losing one more to it; return the rest."""
    deadly = [intent for intent in intents if intent.attempts >= settings.WORKFLOW_POISON_ATTEMPTS]
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
    """Tell, under the instance's claim, whether the call still waits and may happen now."""
    coordinator.lock([intent.instance_id])
    if Instance.objects.filter(pk=intent.instance_id, status__in=STANDING_STILL).exists():
        return False
    return Effect.objects.filter(instance_id=intent.instance_id, token=intent.token, status="intended").exists()


def _make_call(intent: Intent, allow: list[str] | None) -> CallResult:
    """Make one call; a registered function may have used this thread's own database connection."""
    try:
        request = fill_secrets(intent.request, secrets_for_call(intent.tenant_id, intent.secrets))
        return make_call(
            intent.transport, request, key=intent.key, timeout_seconds=intent.timeout_seconds, http_allow=allow
        )
    except UnreadableSecret as error:
        return Failed("authorization", "unreadable_secret", str(error))
    finally:
        connection.close()


def _deliver_result(intent: Intent, result: CallResult) -> None:
    if not intent.is_awaited:
        _note_result(intent, result)
        return
    try:
        _commit_result(intent, result)
    except Exception as error:
        if connection.in_atomic_block or is_connection_lost():
            raise
        log.exception(
            "the result of a call could not be applied", instance=str(intent.instance_id), signal=str(intent.signal_id)
        )
        count_attempt(intent.instance_id, error, signal_id=intent.signal_id)


@in_one_transaction
def _commit_result(intent: Intent, result: CallResult) -> None:
    """Apply a result; one that comes while the instance stands still is kept with its signal until it goes on."""
    transaction.on_commit(partial(reached, Boundary.AFTER_COMMIT))
    loaded = coordinator.hold(intent.instance_id)
    if loaded.status in STANDING_STILL:
        _keep_answer(intent, result)
        return
    actor = engine_actor(intent.tenant_id)
    happening = _result_happening(intent.token, result)
    delivery = Delivery(happening, SignalType.CALL_DUE, intent.signal_id, actor, token=intent.token)
    reached_steps(coordinator.deliver_held(loaded, [delivery], actor).began)
    reached(Boundary.BEFORE_COMMIT)


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


def _result_happening(token: int, result: CallResult) -> Happening:
    if isinstance(result, Succeeded):
        return CallSucceeded(token, result.value)
    return CallFailed(token, result.error_class, result.code, result.message, result.value)
