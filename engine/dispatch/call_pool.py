"""Run calls while a drain continues: each in its own thread, results delivered as they arrive.

A call may take its time, or never end. Meanwhile the drain applies whatever else falls due, and one tenant's calls never take the
room of all others. A call that does not come back in its time is given up, as if nobody had answered; what its thread still
brings is dropped. The threads hold nothing that counts: ended with their worker, their calls are due again under the same key.
"""

import time
from collections import Counter
from collections.abc import Collection, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from threading import Thread
from uuid import UUID

import structlog

from engine.audit.chain import database_now
from engine.conf import conf
from engine.dispatch.calls import CALLS_AT_ONCE, Answered, Intent, deliver_results, make_one, perform_at_once
from engine.dispatch.crash_points import Boundary, reached
from engine.dispatch.signal_decoder import Due
from engine.models import Signal
from engine.runtime.projection import Loaded
from engine.runtime.taken_calls import TakenCalls
from engine.transports.base import CallResult, Failed
from workflowplatform.accounts.models import Tenant
from workflowplatform.database.tenancy import acting_for

log = structlog.get_logger(__name__)

CALLS_A_TENANT = CALLS_AT_ONCE // 2
"""How many calls of one tenant a worker makes side by side: the rest of its room is for the others."""
MOST_CALLS = 4 * CALLS_AT_ONCE
"""How many calls a worker makes in all while slow ones take its room: the rest is for tenants that have few under way."""
FEW_CALLS = 2
"""How many calls a tenant may have under way when there is no other room left."""
QUICK_SECONDS = 0.1
"""A tenant whose calls come back sooner than this may have more of them under way, until one does not."""
QUICK_CALLS = 2 * CALLS_AT_ONCE
"""How many calls such a tenant may have under way: one commit takes all of them on, and one brings all results."""
GIVE_UP_AFTER = 2.0
"""Seconds beyond a call's time after which nobody waits for it any more; its signal is due again later than that."""
ALONE_SECONDS = 5.0
"""How long a call from which a worker did not come back keeps others away: what kills a worker mostly does so at once."""
LONG = timedelta(seconds=30)
"""How long such a call waits for a worker that makes no others; then it starts while others are under way."""
TOGETHER = 0.002
"""Seconds for which the first result waits for others, so that they are one commit."""


class TimedResult(Future[CallResult]):
    """The result of a call, and when it came."""

    came_at: float | None = None


@dataclass(frozen=True, slots=True)
class UnderWay:
    """One call that is being made, by this process's own steady clock."""

    intent: Intent
    result: TimedResult
    begun_at: float
    doubted: bool
    """Whether it may take its worker with it."""

    @property
    def is_late(self) -> bool:
        """Return whether its time is over and it has not come back."""
        over = self.begun_at + self.intent.timeout_seconds + GIVE_UP_AFTER
        return time.monotonic() > over and not self.result.done()

    @property
    def is_quick(self) -> bool:
        """Return whether it came back quickly, or still may."""
        return (self.result.came_at or time.monotonic()) < self.begun_at + QUICK_SECONDS

    @property
    def wants_alone(self) -> bool:
        """Return whether no other call should start while it runs."""
        return self.doubted and time.monotonic() < self.begun_at + ALONE_SECONDS


class CallsUnderWay:
    """The calls that one worker has taken on and not yet delivered."""

    def __init__(self) -> None:
        self._calls: list[UnderWay] = []
        self.replaceable = False
        """Whether another worker comes in the place of this one when it leaves."""
        self._given_up: list[Future[CallResult]] = []
        self._quick: set[UUID] = set()
        """The tenants whose calls came back quickly last time."""

    @property
    def count(self) -> int:
        """Return how many there are."""
        return len(self._calls)

    @property
    def has_room(self) -> bool:
        """Return whether any call can be begun now."""
        return self.count < MOST_CALLS and not self.is_spoiled and not any(call.wants_alone for call in self._calls)

    @property
    def is_spoiled(self) -> bool:
        """Return whether this process should make room for another: a thread that was given up still runs and cannot be ended."""
        self._given_up = [result for result in self._given_up if not result.done()]
        return self.replaceable and bool(self._given_up)

    def full_tenants(self) -> list[UUID]:
        """Return whose calls have all the room that they may have."""
        taken = self._by_tenant()
        return [tenant_id for tenant_id in taken if not self._has_room(taken, tenant_id)]

    def choose(self, due: Sequence[Due], loaded: dict[UUID, Loaded]) -> list[Due]:
        """Choose what to begin of the calls that fell due, in their order; a doubtful one is made alone.

        Doubtful is one from which a worker did not come back. It waits until nothing else is under way, but not for ever.
        """
        if not self.has_room:
            return []
        doubtful = [signal for signal in due if signal.attempts][:1]
        if doubtful and (
            not self._calls or Signal.objects.filter(pk=doubtful[0].id, due_at__lt=database_now() - LONG).exists()
        ):
            return doubtful
        return self._trusted(due, loaded)

    def room(self, ended: Sequence[UnderWay], intents: Sequence[Intent]) -> TakenCalls:
        """Return how much room there is for calls besides these intents, once these calls have ended."""
        taken = Counter(call.intent.tenant_id for call in self._calls if call not in ended)
        taken.update(intent.tenant_id for intent in intents)
        is_open = self.has_room and not any(intent.attempts for intent in intents)

        def take_place(tenant_id: UUID) -> bool:
            if not (is_open and self._has_room(taken, tenant_id)):
                return False
            taken[tenant_id] += 1
            return True

        return TakenCalls(take_place, patience=conf.transaction_seconds)

    def _trusted(self, due: Sequence[Due], loaded: dict[UUID, Loaded]) -> list[Due]:
        """Return as many as there is room for, of each tenant as many as it may have."""
        chosen, taken = [], self._by_tenant()
        for signal in due:
            tenant_id = loaded[signal.instance_id].tenant_id
            if not signal.attempts and self._has_room(taken, tenant_id):
                chosen.append(signal)
                taken[tenant_id] += 1
        return chosen

    def _by_tenant(self) -> Counter[UUID]:
        return Counter(call.intent.tenant_id for call in self._calls)

    def _has_room(self, taken: Counter[UUID], tenant_id: UUID) -> bool:
        """Return whether a tenant may begin one more call: up to its share, or one of few where slow calls take all the room."""
        own, total = taken[tenant_id], taken.total()
        if own < CALLS_A_TENANT and total < CALLS_AT_ONCE:
            return True
        return total < MOST_CALLS and own < (QUICK_CALLS if self._is_quick(tenant_id) else FEW_CALLS)

    def _is_quick(self, tenant_id: UUID) -> bool:
        """Return whether a tenant's calls come back quickly, those under way included so far."""
        return tenant_id in self._quick and all(
            call.is_quick for call in self._calls if call.intent.tenant_id == tenant_id
        )

    def _learn(self, ended: Sequence[UnderWay]) -> None:
        """Remember whose calls came back quickly; one that did not counts for all."""
        self._quick |= {call.intent.tenant_id for call in ended}
        self._quick -= {call.intent.tenant_id for call in ended if not call.is_quick}

    def begin(self, intents: Sequence[Intent]) -> None:
        """Make calls that were taken on; what needs no outside is settled here and now."""
        intents = perform_at_once(intents)
        if not intents:
            return
        reached(Boundary.BEFORE_CALL)
        allow = _addresses_allowed({intent.tenant_id for intent in intents if intent.transport != "python"})
        for intent in intents:
            self._calls.append(_begin(intent, allow.get(intent.tenant_id), doubted=bool(intent.attempts)))

    def wait(self, seconds: float) -> bool:
        """Wait for the first result, and a moment for those that come with it; tell whether one came."""
        results = [call.result for call in self._calls]
        if not wait(results, seconds, return_when=FIRST_COMPLETED).done:
            return False
        wait(results, TOGETHER)
        return True

    def settle(self, *, taking: bool = False) -> int:
        """Deliver what is there; give up what does not come back. Return how many calls that were.

        A worker that continues takes the calls on that follow, as far as it has room, and makes them.
        """
        ended = [call for call in self._calls if call.result.done() or call.is_late]
        if not ended:
            return 0
        reached(Boundary.AFTER_CALL)
        answered = [answer for call in ended if (answer := self._answer(call)) is not None]
        # Where the database is away they stay, and are delivered when it is back.
        intents = deliver_results(answered, partial(self.room, ended) if taking else None)
        self._calls = [call for call in self._calls if call not in ended]
        self._learn(ended)
        self.begin(intents)
        return len(ended)

    def settle_all(self, seconds: float = float("inf")) -> None:
        """Wait until every call has ended or was given up, or for so long."""
        until = time.monotonic() + seconds
        while self._calls and time.monotonic() < until:
            self.wait(0.1)
            self.settle()

    def _answer(self, call: UnderWay) -> Answered | None:
        """Return the result of a call; one that the platform itself failed to make is due again after its deadline."""
        names = {"instance": str(call.intent.instance_id), "signal": str(call.intent.signal_id)}
        if not call.result.done():
            log.error("a call did not come back in its time and was given up", transport=call.intent.transport, **names)
            self._given_up.append(call.result)
            patience = f"{call.intent.timeout_seconds:g} seconds"
            return call.intent, Failed("timeout", "no_answer", f"It did not come back within {patience}.")
        error = call.result.exception()
        if error is None:
            return call.intent, call.result.result()
        self._calls.remove(call)
        if not isinstance(error, Exception):
            raise error
        log.error("a call could not be made, it is due again later", error=type(error).__name__, **names)
        return None


def _addresses_allowed(tenants: Collection[UUID]) -> dict[UUID, list[str] | None]:
    """Read which addresses calls of these tenants may reach; functions of this process reach none through the guard."""
    return dict(Tenant.objects.filter(pk__in=tenants).values_list("id", "http_allow")) if tenants else {}


def _begin(intent: Intent, allow: list[str] | None, *, doubted: bool) -> UnderWay:
    """Start a thread that makes one call; nobody ever waits for the thread itself."""
    result = TimedResult()
    Thread(target=_make, args=(result, intent, allow), name="call", daemon=True).start()
    return UnderWay(intent, result, time.monotonic(), doubted)


def _make(result: TimedResult, intent: Intent, allow: list[str] | None) -> None:
    try:
        with acting_for(intent.tenant_id):
            made = make_one(intent, allow)
        result.came_at = time.monotonic()
        result.set_result(made)
    except BaseException as error:  # noqa: BLE001  raised where the result is awaited
        result.came_at = time.monotonic()
        result.set_exception(error)


def make_calls(intents: Sequence[Intent]) -> None:
    """Make calls side by side and wait until each has ended."""
    calls = CallsUnderWay()
    calls.begin(intents)
    calls.settle_all()
