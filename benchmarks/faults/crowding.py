"""Let everybody want the same at once: eight workers one instance, two hundred starts ten places."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import accumulate
from uuid import UUID

from django.db import connection, connections

from benchmarks.faults.crew import crew
from benchmarks.faults.trial import Outcome, Trial
from benchmarks.faults.waiting import PATIENCE, a_house, wait_for_ends, wait_until
from engine.audit.chain import database_now
from engine.kernel.signals import SignalType
from engine.models import Audit, DeadLetter, Instance, Signal, SignalReceipt
from engine.services.instances.lifecycle import start_instance
from engine.services.instances.signals import send_signal
from tests.cast import Cast
from tests.workflows import started
from workflowplatform.accounts.actor import Actor
from workflowplatform.ids import uuid7

WORKERS = 8
DIRECT = 20
"""So many of the signals are sent through the service while workers drain; the others are in the queue from the start."""

COUNTING = """
workflow: counting
title: Counts what it hears
input: {type: object, properties: {until: {type: integer}}}
steps:
  - {id: zero, set: {n: 0}}
  - id: hear
    repeat:
      while: state.n < start.until
      max: 20000
      steps:
        - {id: tick, signal: {name: tick}}
        - {id: count, set: {n: "${state.n + 1}"}}
"""

LIMIT = 10
LIMITED = f"""
workflow: crowded
title: Crowded
limits: {{concurrent: {LIMIT}}}
steps:
  - {{id: stay, wait: {{for: PT0.05S}}}}
"""

CALLERS = 40


def count_together(signals: int) -> Outcome:
    """Let eight workers apply so many signals to one instance."""
    with crew() as hands:
        cast = a_house(COUNTING)
        instance = started(cast.actor("ada"), "counting", until=signals)
        before = count_deadlocks()
        _queue_ticks(instance, signals - DIRECT)
        hands.hire(WORKERS)
        caller = hands.fork(partial(_send_ticks, cast, instance.pk))
        codes = hands.wait_for(caller)
        faults = ["a sender failed"] * sum(map(bool, codes))
        ended = wait_until(lambda: Instance.objects.get(pk=instance.pk).is_over, patience=PATIENCE + signals)
        faults += [] if ended else [f"it stands at {Instance.objects.get(pk=instance.pk).state}"]
        faults += [f"worker {pid} ended" for pid in hands.ended()]
        return _judge_count(instance.pk, signals, count_deadlocks() - before, faults)


def count_deadlocks() -> int:
    """Ask PostgreSQL how often it had to end one of two that waited for each other."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot()")
        cursor.execute("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
        return int(cursor.fetchone()[0])


def _queue_ticks(instance: Instance, number: int) -> None:
    now = database_now()
    payload = {"name": "tick", "key": None, "payload": {}}
    kind = SignalType.EXTERNAL_SIGNAL
    facts = {"tenant_id": instance.tenant_id, "instance_id": instance.pk, "type": kind, "payload": payload}
    Signal.objects.bulk_create(
        [Signal(id=uuid7(), occurred_at=now, due_at=now, **facts) for _ in range(number)], batch_size=1000
    )


def _send_ticks(cast: Cast, instance_id: UUID) -> None:
    for _ in range(DIRECT):
        send_signal(actor=cast.actor("ada"), instance_id=instance_id, name="tick")


def _judge_count(instance_id: UUID, signals: int, deadlocks: int, faults: list[str]) -> Outcome:
    counted = Instance.objects.get(pk=instance_id).state["n"]
    applied = SignalReceipt.objects.filter(instance_id=instance_id, disposition="applied").count()
    if (counted, applied) != (signals, signals):
        faults.append(f"{counted} were counted and {applied} applied of {signals}")
    if dead := DeadLetter.objects.count():
        faults.append(f"{dead} dead letters")
    if deadlocks:
        faults.append(f"{deadlocks} deadlocks")
    return Outcome({"signals": signals, "workers": WORKERS, "applied": applied, "deadlocks": deadlocks}, tuple(faults))


def start_in_a_crowd(starts: int) -> Outcome:
    """Start so many at the same moment where ten may run."""
    with crew() as hands:
        cast = a_house(LIMITED)
        hands.hire(2)
        actor = cast.actor("ada")
        with ThreadPoolExecutor(CALLERS) as pool:
            starting = [pool.submit(_start, actor) for _ in range(starts)]
            most_seen = _watch(lambda: all(one.done() for one in starting))
        failures = [error for one in starting if (error := one.exception()) is not None]
        most_seen = max(most_seen, _watch(lambda: not Instance.objects.live().exists()))
        faults = [f"a start failed: {error}" for error in failures]
        faults += [] if wait_for_ends() else ["some never ended"]
        return _judge_limit(starts, most_seen, faults)


def _start(actor: Actor) -> None:
    try:
        start_instance(actor=actor, template="crowded", input={})
    finally:
        connections.close_all()


def _watch(is_over: Callable[[], bool]) -> int:
    """Count who runs, again and again; return the most."""
    most = 0

    def look() -> bool:
        nonlocal most
        most = max(most, Instance.objects.filter(status__in=("running", "suspended", "incident")).count())
        return is_over()

    wait_until(look)
    return most


MOVES = {"start_workflow": 1, "admit_workflow": 1, "complete_workflow": -1}


def _most_by_audit() -> int:
    """Play the audit of all instances in the order of its moments; return the most that ran. Ends come before starts.

    A start and an admission are dated under the limit's lock, an end before that lock is taken: so an instance is never counted
    together with the one whose place it took.
    """
    queued = set(Audit.objects.filter(action="start_workflow", new__queued=True).values_list("subject_id", flat=True))
    rows = Audit.objects.filter(subject_kind="instance", action__in=MOVES).values_list("at", "action", "subject_id")
    moves = sorted(
        (at, MOVES[action]) for at, action, one in rows if not (action == "start_workflow" and one in queued)
    )
    return max(accumulate(move for _, move in moves), default=0)


def _judge_limit(starts: int, most_seen: int, faults: list[str]) -> Outcome:
    ended = Instance.objects.filter(status="completed").count()
    by_audit = _most_by_audit()
    if ended != starts:
        faults.append(f"{ended} of {starts} ended")
    faults += [f"{most} ran at once where {LIMIT} may" for most in (most_seen, by_audit) if most > LIMIT]
    figures = {"starts": starts, "limit": LIMIT, "most seen": most_seen, "most by audit": by_audit, "ended": ended}
    return Outcome(figures, tuple(faults))


TOGETHER = Trial("one-instance", "eight workers on one instance never collide", 400, 10_000, count_together, "signals")
CROWDED = Trial("limit", "a limit of ten is never eleven", 40, 200, start_in_a_crowd, "starts")
TRIALS = (TOGETHER, CROWDED)
