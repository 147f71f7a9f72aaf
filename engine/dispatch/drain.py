"""Empty the queue: claim instances with due signals, apply them, make the calls that fell due.

`wf_signals` is the queue of record. The claim is the lock on the instance's runtime row: rows that another drain holds are
skipped, and a dead process holds nothing. One pass takes up to a batch of instances, tenants in turn, and applies all due signals
of each as one slice; the whole batch is one commit, cut when it has lasted long enough. Tenants that have had much of this worker
lately come after all others, in short turns of their own (engine.dispatch.fairness). If a batch fails, instances are taken one by
one, and the signals of one that fails again one at a time, so that one bad signal never stops its neighbours: a signal whose
attempts are used up becomes a dead letter and its instance an incident. A signal that has failed before is taken alone, after its
attempt was counted.

The kernel does not see a call that falls due: engine.dispatch.call_pool makes it after the commit that took it on, while the
drain continues. Between batches a drain fires schedules (engine.dispatch.schedules), sends answers whose time for undo is over
(engine.dispatch.pending_answers), and does its share of bulk operations (engine.dispatch.bulk_operations).
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any
from uuid import UUID

import structlog
from django.db import connection, transaction
from django.db.models import F

from engine.conf import conf
from engine.db.advisory_locks import TRY_LOCK, lock_name
from engine.db.transactions import in_one_transaction, is_by_chance, is_connection_lost, is_waited_out
from engine.dispatch.bulk_operations import BulkRunner
from engine.dispatch.call_pool import CallsUnderWay
from engine.dispatch.calls import Intent, take_on_calls, taken_with_slices
from engine.dispatch.crash_points import Boundary, reached, reached_steps
from engine.dispatch.dead_letters import count_attempt, count_beforehand
from engine.dispatch.fairness import Turn, Turns, cut_to_load
from engine.dispatch.pending_answers import AnswerSender
from engine.dispatch.schedules import ScheduleRunner
from engine.dispatch.signal_decoder import SIGNALS_A_SLICE, Due, decoded_event, read_payload
from engine.dispatch.worker_board import desk
from engine.kernel.signals import SignalType
from engine.models import Signal
from engine.runtime import claims, coordinator
from engine.runtime.commit import run_hot, run_hot_together
from engine.runtime.coordinator import Advanced
from engine.runtime.environment import never
from engine.runtime.projection import HELD_STATUSES, NEVER, Delivery, Loaded
from workflowplatform.accounts.actor import engine_actor
from workflowplatform.database.tenancy import crossing

log = structlog.get_logger(__name__)

MAX_SECONDS = 30.0
MAX_SIGNALS = 2_000
NEAREST_LOOK, FARTHEST_LOOK = 0.02, 5.0
WHILE_CALLING = 0.05
"""Seconds between looks while calls are under way; the first result or a wake-up ends the pause."""
QUICK = 0.01
"""Seconds for which a drain waits for calls that it has just begun: most are back by then, and their results are one commit."""

CLAIM = """
WITH turns AS (
  SELECT d.instance_id, row_number() OVER (PARTITION BY t.id ORDER BY d.due_at) AS turn, d.due_at
  FROM (SELECT id FROM wf_tenants) t CROSS JOIN LATERAL (
    SELECT s.instance_id, min(s.due_at) AS due_at FROM (
      SELECT instance_id, due_at FROM wf_signals
      WHERE tenant_id = t.id AND due_at <= (SELECT clock_timestamp())
      ORDER BY due_at LIMIT %(scan)s) s
    GROUP BY s.instance_id) d)
SELECT r.instance_id, r.size FROM (SELECT instance_id FROM turns ORDER BY turn, due_at) t CROSS JOIN LATERAL (
  SELECT instance_id, pg_column_size(snapshot) AS size FROM wf_runtime_states
  WHERE instance_id = t.instance_id FOR NO KEY UPDATE SKIP LOCKED) r
LIMIT %(batch)s
"""
"""The time is asked in a query of its own, once: compared with the clock itself, an index would be read through all future
rows. The lock is taken inside, row by row, so that whatever the planner knows of the tables it looks up and locks no more
rows than a batch."""

BESIDE_CALLS = (
    "ORDER BY due_at LIMIT",
    "AND (type <> 'CallDue' OR %(room)s AND tenant_id <> ALL(%(full)s::uuid[]))\n      ORDER BY due_at LIMIT",
)
"""The same without the calls for which there is no room now: nothing else may wait behind them."""
WHOSE = {
    "everybody": "SELECT id FROM wf_tenants",
    "quiet": "SELECT id FROM wf_tenants WHERE id <> ALL(%(tenants)s::uuid[])",
    "one": "SELECT unnest(%(tenants)s::uuid[]) AS id",
}


@cache
def claim_of(whose: str, *, beside_calls: bool) -> str:
    """Return the statement that claims for these tenants."""
    statement = CLAIM.replace(WHOSE["everybody"], WHOSE[whose])
    return statement.replace(*BESIDE_CALLS) if beside_calls else statement


DUE = """
SELECT id, instance_id, type, coalesce(waiting_token, 0), payload, attempts FROM (
  SELECT *, row_number() OVER (PARTITION BY instance_id ORDER BY due_at, id) AS place FROM wf_signals
  WHERE instance_id = ANY(%(claimed)s) AND due_at <= (SELECT clock_timestamp())) s
WHERE place <= %(most)s ORDER BY instance_id, due_at, id
"""

ONE = """
SELECT id, instance_id, type, coalesce(waiting_token, 0), payload, attempts FROM wf_signals
WHERE instance_id = ANY(%(claimed)s) AND id = %(signal)s
"""
"""One signal, whose attempt is counted and which is postponed until the attempt is over."""


@dataclass(slots=True)
class Drained:
    """What a drain did."""

    started: int = 0
    signals: int = 0
    calls: int = 0
    rows: int = 0
    """Rows of acts over many, and answers whose time for undo was over."""
    failed: int = 0
    looked_at: float = field(default_factory=time.monotonic)
    """When the last batch was asked for, by this process's own steady clock."""
    has_more: bool = False
    """Whether it stopped because it had done enough for once, not because nothing was left."""

    @property
    def done(self) -> int:
        """Return how much was done in all."""
        return self.signals + self.calls + self.rows


@crossing("drain")
def drain(calls: CallsUnderWay | None = None, stop: Callable[[], bool] = never, turns: Turns | None = None) -> Drained:
    """Apply everything due; return after a while even if more is left, so that the caller can look around.

    A worker passes its `calls`, which continue after this returns; for other callers they are awaited here. It also passes its
    `turns`, in which it remembers how much of its time each tenant has had.
    """
    turns = turns or Turns()
    if calls is None:
        calls = CallsUnderWay()
        drained = _drain(calls, stop, turns, awaiting=True)
        calls.settle_all()
        return drained
    return _drain(calls, stop, turns, awaiting=False)


def _drain(calls: CallsUnderWay, stop: Callable[[], bool], turns: Turns, *, awaiting: bool) -> Drained:
    drained = Drained()
    stop_at = time.monotonic() + MAX_SECONDS
    schedules, bulk, answers = ScheduleRunner(), BulkRunner(), AnswerSender()
    while time.monotonic() < stop_at and drained.done < MAX_SIGNALS and not stop():
        drained.started += schedules.take_turn()
        rows = answers.take_turn() + bulk.take_turn()
        drained.rows += rows
        if drain_once(drained, calls, stop, turns) or rows:
            continue
        if not (awaiting and calls.count):
            return drained
        calls.wait(WHILE_CALLING)
    drained.has_more = True
    return drained


def drain_once(
    drained: Drained, calls: CallsUnderWay, stop: Callable[[], bool] = never, turns: Turns | None = None
) -> bool:
    """Deliver what calls brought and take one batch; tell whether there was anything to do."""
    desk.board.note()
    settled = calls.settle(taking=not stop())
    desk.board.clear()
    drained.looked_at = time.monotonic()
    try:
        begun, count = _take_turns(drained, calls, stop, turns or Turns())
    except Exception:
        if is_connection_lost():
            raise
        log.exception("batch failed, taking its instances one by one")
        begun, count = _take_one_by_one(drained, calls, stop)
        count = max(count, 1)
    drained.signals += count
    drained.calls += begun
    if begun:
        calls.wait(QUICK)
    return bool(count or begun or settled)


def _take_turns(drained: Drained, calls: CallsUnderWay, stop: Callable[[], bool], turns: Turns) -> tuple[int, int]:
    """Take a batch of what is due for quiet tenants, then one turn of the busy tenant that has had least and has anything due."""
    busy = turns.busy()
    take = partial(_take_turn, drained, calls, stop, turns)
    begun, count = take(turns.for_quiet(busy))
    for tenant_id in busy:
        called, applied = take(turns.for_busy(tenant_id))
        if called or applied:
            return begun + called, count + applied
    return begun, count


def _take_turn(
    drained: Drained, calls: CallsUnderWay, stop: Callable[[], bool], turns: Turns, turn: Turn
) -> tuple[int, int]:
    """Take one turn, charge what it cost, then take what was set aside: instances with a signal that has failed before."""
    aside: list[UUID] = []
    turn.stop = stop
    begun, count = _take_and_begin(calls, turn=turn, aside=aside)
    turns.charge(turn)
    for instance_id in aside:
        if not stop():
            called, applied = _take_counted(instance_id, drained, calls, stop)
            begun, count = begun + called, count + max(applied, 1)
    return begun, count


def _take_and_begin(
    calls: CallsUnderWay,
    only: UUID | None = None,
    *,
    turn: Turn,
    most: int = SIGNALS_A_SLICE,
    counted: UUID | None = None,
    aside: list[UUID] | None = None,
) -> tuple[int, int]:
    """Take a batch, or one instance, and begin its calls: what is taken next finds the room that they leave."""
    try:
        intents, count = _take(calls, only, turn=turn, most=most, counted=counted, aside=aside)
        desk.board.note()  # a call's attempt is counted by now
        calls.begin(intents)
    except Exception:
        desk.board.clear()  # nobody died
        raise
    desk.board.clear()
    return len(intents), count


@in_one_transaction
def _take(
    calls: CallsUnderWay,
    only: UUID | None = None,
    *,
    turn: Turn,
    most: int = SIGNALS_A_SLICE,
    counted: UUID | None = None,
    aside: list[UUID] | None = None,
) -> tuple[list[Intent], int]:
    """Claim, apply and commit one batch; return the calls that it took on and the number of other signals settled."""
    turn.ran.clear()
    if aside is not None:
        aside.clear()  # of a try that was rolled back
    claimed = _claim(turn, calls) if only is None else claims.lock([only])
    if not claimed:
        return [], 0
    desk.board.note(() if counted else claimed)
    reached(Boundary.CLAIMED)
    transaction.on_commit(partial(reached, Boundary.AFTER_COMMIT))
    found, loaded = _load(claimed, most, counted)
    found = _without_failed(found, aside)
    turn.loading = time.monotonic() - turn.began_at
    reached(Boundary.LOADED)
    due = _hold_still(found, loaded)
    asked = _in_turn([signal for signal in due if signal.type == SignalType.CALL_DUE], claimed)
    chosen = calls.choose(asked, loaded)
    intents = take_on_calls(chosen, loaded)
    told = _in_turn([signal for signal in due if signal.type != SignalType.CALL_DUE], claimed)
    taking = calls.room((), intents)
    moved = coordinator.deliver_batch(_by_instance(told, loaded), turn.allowance(len(claimed)), taking)
    for advanced in moved:
        reached_steps(advanced.began)
        if not all(advanced.applied):
            _tell_stale(advanced, told)
    reached(Boundary.BEFORE_COMMIT)
    turn.note(loaded, moved, intents)
    moved_ids = {advanced.instance_id for advanced in moved}
    left = len(asked) - len(chosen) + sum(signal.instance_id not in moved_ids for signal in told)
    return [*intents, *taken_with_slices(taking)], len(found) - left - len(intents)


def _in_turn(asked: list[Due], claimed: Sequence[UUID]) -> list[Due]:
    """Put calls into the order of the claim: tenants in turn, those who wait longest first."""
    place = {instance_id: number for number, instance_id in enumerate(claimed)}
    return sorted(asked, key=lambda signal: place[signal.instance_id])


def _tell_stale(advanced: Advanced, told: Iterable[Due]) -> None:
    """Log what came too late: harmless, but it explains why nothing happened."""
    own = (signal for signal in told if signal.instance_id == advanced.instance_id)
    for signal, applied in zip(own, advanced.applied, strict=False):
        if not applied:
            log.info("a signal was stale", instance=str(signal.instance_id), signal=str(signal.id), type=signal.type)


def _claim(turn: Turn, calls: CallsUnderWay) -> list[UUID]:
    """Claim what a turn may take: no more than fits into it, and no more than should be in memory at once."""
    values: dict[str, Any] = {"batch": turn.instances, "scan": turn.instances * 4}
    whose = "one" if turn.tenant_id else "quiet" if turn.busy else "everybody"
    if whose != "everybody":
        values["tenants"] = [turn.tenant_id] if turn.tenant_id else turn.busy
    if turn.is_long and not _may_take_long():
        return []
    full = calls.full_tenants()
    beside_calls = bool(full or not calls.has_room)
    if beside_calls:
        values |= {"room": calls.has_room, "full": full}
    return cut_to_load(run_hot(claim_of(whose, beside_calls=beside_calls), values))


@crossing("drain")
def look_without_claim() -> None:
    """Run the statements of a look for no instance at all, so that this connection has prepared them."""
    with transaction.atomic():
        _claim(Turn(instances=0), CallsUnderWay())
        _load([])
    seconds_to_next_look(time.monotonic())


def _may_take_long() -> bool:
    """Return whether one more worker may now work on what takes longer than a turn; the place is kept until the commit."""
    places: int = conf.long_turns
    return any(run_hot(TRY_LOCK, [lock_name("long turn", number)])[0][0] for number in range(places))


def _load(
    claimed: Sequence[UUID], most: int = SIGNALS_A_SLICE, counted: UUID | None = None
) -> tuple[list[Due], dict[UUID, Loaded]]:
    """Read what is due for claimed instances, or the one signal whose attempt was counted, and the instances."""
    wanted: dict[str, Any] = {"claimed": list(claimed), "most": most}
    asked = (ONE, {"claimed": list(claimed), "signal": counted}) if counted else (DUE, wanted)
    due, instances = run_hot_together(asked, claims.loading(claimed))
    return [Due(row[0], row[1], row[2], row[3], read_payload(row[4]), row[5]) for row in due], claims.loaded_from(
        instances
    )


def _without_failed(found: list[Due], aside: list[UUID] | None) -> list[Due]:
    """Set instances aside that have a signal which failed before; a call's attempts are counted otherwise."""
    if aside is None:
        return found
    failed = {signal.instance_id for signal in found if signal.attempts and signal.type != SignalType.CALL_DUE}
    aside[:] = failed
    return [signal for signal in found if signal.instance_id not in failed] if failed else found


def _hold_still(due: list[Due], loaded: dict[UUID, Loaded]) -> list[Due]:
    """Hold signals for suspended instances and incidents; return the rest. The end of a parent moves even those."""
    held = [signal for signal in due if loaded[signal.instance_id].status in HELD_STATUSES]
    still = {signal.id for signal in held if signal.type != SignalType.PARENT_ENDED}
    if still:
        Signal.objects.filter(pk__in=still).update(held_due_at=F("due_at"), due_at=NEVER)
    return [signal for signal in due if signal.id not in still]


def _by_instance(due: Iterable[Due], loaded: dict[UUID, Loaded]) -> list[tuple[Loaded, list[Delivery]]]:
    grouped: dict[UUID, list[Delivery]] = defaultdict(list)
    for signal in due:
        grouped[signal.instance_id].append(_delivery(signal, loaded[signal.instance_id].tenant_id))
    return [(loaded[instance_id], deliveries) for instance_id, deliveries in grouped.items()]


def _delivery(signal: Due, tenant_id: UUID) -> Delivery:
    return Delivery(
        decoded_event(signal), SignalType(signal.type), signal.id, engine_actor(tenant_id), token=signal.token or None
    )


def _take_counted(
    instance_id: UUID, drained: Drained, calls: CallsUnderWay, stop: Callable[[], bool]
) -> tuple[int, int]:
    """Take the first signal that is due of an instance, its attempt counted beforehand."""
    counted = count_beforehand(instance_id)
    try:
        return _take_and_begin(calls, instance_id, turn=Turn(instances=1, stop=stop), most=1, counted=counted)
    except Exception as error:  # noqa: BLE001  whatever it is, this signal had its attempt
        _count_failure(instance_id, error, drained, counted)
        return 0, 0


def _count_failure(instance_id: UUID, error: Exception, drained: Drained, counted: UUID | None = None) -> None:
    if is_connection_lost():
        raise error
    log.error("a signal failed", instance=str(instance_id), exc_info=error)
    if not (is_by_chance(error) or is_waited_out(error)):
        count_attempt(instance_id, error, counted=counted)
    drained.failed += 1


def _take_one_by_one(drained: Drained, calls: CallsUnderWay, stop: Callable[[], bool]) -> tuple[int, int]:
    """Redo a failed batch instance by instance; count the attempt of each that fails by itself."""
    with transaction.atomic():
        claimed = _claim(Turn(instances=conf.drain_batch), calls)
    return _take_each(claimed, drained, calls, stop)


def _take_each(
    claimed: Iterable[UUID], drained: Drained, calls: CallsUnderWay, stop: Callable[[], bool]
) -> tuple[int, int]:
    """Take each by itself until asked to stop: each is a transaction with an allowance of its own."""
    begun = count = 0
    for instance_id in claimed:
        if stop():
            break
        try:
            called, applied = _take_and_begin(calls, instance_id, turn=Turn(instances=1, stop=stop))
        except Exception as error:
            if is_connection_lost():
                raise
            log.warning("a slice failed, taking its signals one at a time", instance=str(instance_id), error=str(error))
            called, applied = _take_singly(instance_id, drained, calls, stop)
        begun += called
        count += applied
    return begun, count


def _take_singly(
    instance_id: UUID, drained: Drained, calls: CallsUnderWay, stop: Callable[[], bool]
) -> tuple[int, int]:
    """Apply the signals of an instance one at a time, up to the one that fails by itself, and count that one."""
    begun = count = 0
    for _ in range(SIGNALS_A_SLICE):
        if stop():
            break
        try:
            called, applied = _take_and_begin(calls, instance_id, turn=Turn(instances=1, stop=stop), most=1)
        except Exception as error:  # noqa: BLE001  the same
            _count_failure(instance_id, error, drained)
            break
        if not (called or applied):
            break
        begun, count = begun + called, count + applied
    return begun, count


ASKING = 0.05
"""How many seconds the question below may take for its answer to be trusted: two clocks are compared by it."""

NEXT_LOOK = """
SELECT extract(epoch FROM least(
  (SELECT min(due_at) FROM wf_signals WHERE due_at > (SELECT clock_timestamp() - make_interval(secs => %s))),
  (SELECT min(look_at) FROM wf_schedules WHERE status = 'active'),
  (SELECT min(due_at) FROM wf_pending_answers WHERE refused_at IS NULL)) - clock_timestamp())
"""


@crossing("drain")
def seconds_to_next_look(looked_at: float) -> float:
    """Return how long nothing will be due: until the earliest signal that the last look could not see, within bounds.

    What fell due since that look is meant too: nobody else may have seen it. What was due before it is in another drain's hands.
    """
    asked_at = time.monotonic()
    with connection.cursor() as cursor:
        cursor.execute(NEXT_LOOK, [asked_at - looked_at + ASKING])
        ahead = cursor.fetchone()[0]
    if time.monotonic() - asked_at > ASKING:  # the moment of that look cannot be told well enough
        return NEAREST_LOOK
    if ahead is None:
        return FARTHEST_LOOK
    return max(NEAREST_LOOK, min(FARTHEST_LOOK, float(ahead)))
