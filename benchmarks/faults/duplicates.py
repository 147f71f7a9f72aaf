"""Deliver every signal one to five times, stale ones among them, in any order: the outcome stays what it is in order."""

import random
import time
from collections import Counter
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Count

from benchmarks.faults.crew import Crew, crew
from benchmarks.faults.trial import Outcome, Trial
from benchmarks.faults.waiting import PATIENCE, a_house, wait_for_ends, wait_until
from engine.audit.chain import database_now
from engine.dispatch.signal_decoder import NEED_TOKEN
from engine.models import DeadLetter, Instance, Signal, SignalReceipt, StepRun
from engine.services.instances.signals import send_keyed_signal
from tests.cast import Cast
from tests.workflows import started
from workflowplatform.ids import uuid7

WORKERS = 3
MOST_COPIES = 4
STALE_SHARE = 0.3

ORDERLESS = """
workflow: orderless
title: What comes first does not matter
steps:
  - id: gather
    parallel:
      branches:
        red: [{id: hear_red, signal: {name: red, key: "${instance.id}"}}, {id: nap, wait: {for: PT0.3S}}]
        green: [{id: hear_green, signal: {name: green, key: "${instance.id}"}}]
        blue: [{id: hear_blue, signal: {name: blue, key: "${instance.id}"}}]
        child: [{id: child, workflow: {name: small-child, input: {n: 4}}}]
  - {id: sum, set: {n: "${result.hear_red.n + result.hear_green.n + result.hear_blue.n + result.child.n}"}}
  - {id: pause, wait: {for: PT0.3S}}
  - {id: last, set: {done: true}}
"""

CHILD = """
workflow: small-child
title: A child
input: {type: object, properties: {n: {type: integer}}}
output: {n: "${start.n + 1}"}
steps:
  - {id: nap, wait: {for: PT0.3S}}
"""

DECIDED = """
workflow: decided
title: What comes first wins
steps:
  - id: race
    first:
      branches:
        red: [{id: hear_red, signal: {name: red, key: "${instance.id}"}}, {id: is_red, set: {winner: red}}]
        green: [{id: hear_green, signal: {name: green, key: "${instance.id}"}}, {id: is_green, set: {winner: green}}]
  - {id: last, set: {done: true}}
"""

WORDS = {"red": 1, "green": 10, "blue": 100}
LEGAL_ENDS = ({"winner": "red", "done": True}, {"winner": "green", "done": True})


def deliver_in_disorder(instances: int) -> Outcome:
    """Run so many of each kind in disorder, and one of each in order to compare with."""
    dice = random.Random(instances)  # noqa: S311  the same disorder each time
    with crew() as hands:
        cast = a_house(CHILD, ORDERLESS, DECIDED)
        reference = _in_order(cast, hands)
        ids = {
            name: [started(cast.actor("ada"), name).pk for _ in range(instances)] for name in ("orderless", "decided")
        }
        _send_all(cast, dice, [*ids["orderless"], *ids["decided"]])
        meddler = Meddler(dice)
        meddler.meddle()
        hands.hire(WORKERS)
        give_up = time.monotonic() + PATIENCE + instances
        while not wait_for_ends(0.05) and time.monotonic() < give_up:
            meddler.meddle()
        wait_until(lambda: not Signal.objects.exists())
        return _judge(ids, reference, meddler.added)


def _in_order(cast: Cast, hands: Crew) -> Counter[Any]:
    """Let one run alone, each signal once; return what it left behind."""
    worker = hands.hire(1)
    instance = started(cast.actor("ada"), "orderless")
    for name, number in WORDS.items():
        _send(cast, instance.pk, name, number, f"{name}-reference")
    wait_for_ends()
    hands.kill(*worker)
    return traces_of(instance.pk)


def _send_all(cast: Cast, dice: random.Random, ids: list[UUID]) -> None:
    """Send every word to every instance, one to five times under the same id, all in one shuffled row."""
    sendings = [
        (one, name, number, f"{name}-{one}")
        for one in ids
        for name, number in WORDS.items()
        for _ in range(dice.randint(1, 1 + MOST_COPIES))
    ]
    dice.shuffle(sendings)
    for sending in sendings:
        _send(cast, *sending)


def _send(cast: Cast, instance_id: UUID, name: str, number: int, external_id: str) -> None:
    send_keyed_signal(
        actor=cast.actor("ada"), name=name, key=str(instance_id), payload={"n": number}, external_id=external_id
    )


class Meddler:
    """Copies what is in the queue up to four times, adds stale signals, and shuffles."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.seen: set[UUID] = set()
        self.added = 0

    def meddle(self) -> None:
        """Copy everything that was not there the last time."""
        now = database_now()
        rows = list(Signal.objects.filter(instance__status="running").exclude(pk__in=self.seen))
        copies = [self._copy(row, now) for row in rows for _ in range(self.dice.randint(0, MOST_COPIES))]
        stale = [self._copy(row, now, waiting_token=STALE_TOKEN) for row in rows if self.dice.random() < STALE_SHARE]
        added = copies + [row for row in stale if row.type in NEED_TOKEN]
        Signal.objects.bulk_create(added)
        self.seen.update(row.pk for row in (*rows, *added))
        self.added += len(added)

    def _copy(self, row: Signal, now: datetime, **changes: Any) -> Signal:
        """Give a copy any place among what is due, or after its original where that is ahead: nothing comes early."""
        ahead = row.due_at > now
        off = timedelta(seconds=self.dice.random() * SPREAD)
        names = [field.attname for field in Signal._meta.concrete_fields]
        same = {name: getattr(row, name) for name in names}
        return Signal(**same | {"id": uuid7(), "due_at": row.due_at + off if ahead else now - off} | changes)


SPREAD = 0.4
"""Seconds over which copies are spread: longer than the timers, so that some come while the next one waits."""
STALE_TOKEN = 999_999
"""A number that no wait of these instances ever has."""


def traces_of(instance_id: UUID) -> Counter[Any]:
    """Return what a run leaves behind, whatever the order in which it came about."""
    instance = Instance.objects.get(pk=instance_id)
    runs = StepRun.objects.filter(instance_id=instance_id).values_list("path", "iteration", "attempt", "status")
    applied = SignalReceipt.objects.filter(instance_id=instance_id, disposition="applied").values_list(
        "type", flat=True
    )
    left = [("status", instance.status, str(instance.state)), *(("run", str(run)) for run in runs)]
    return Counter(left) + Counter(("applied", kind) for kind in applied)


def _judge(ids: dict[str, list[UUID]], reference: Counter[Any], added: int) -> Outcome:
    faults = [
        f"{one} differs: {_difference(one, reference)}" for one in ids["orderless"] if traces_of(one) != reference
    ]
    decided = Instance.objects.filter(pk__in=ids["decided"])
    faults += [f"{one.pk} ended as {one.state}" for one in decided if one.state not in LEGAL_ENDS]
    faults += [f"token {token} of {one} was answered {count} times" for one, token, count in _answered_twice()]
    if left := Signal.objects.count() + DeadLetter.objects.count():
        faults.append(f"{left} signals or dead letters are left")
    stale = SignalReceipt.objects.filter(disposition="stale").count()
    figures = {"instances": sum(map(len, ids.values())), "added": added, "stale": stale, "other outcomes": len(faults)}
    return Outcome(figures, tuple(faults))


def _answered_twice() -> list[tuple[UUID, int, int]]:
    applied = SignalReceipt.objects.filter(disposition="applied", waiting_token__isnull=False)
    counted = applied.values_list("instance_id", "waiting_token").annotate(count=Count("pk"))
    return list(counted.filter(count__gt=1).order_by())


def _difference(one: UUID, reference: Counter[Any]) -> str:
    traces = traces_of(one)
    return f"{dict(traces - reference)} instead of {dict(reference - traces)}"[:400]


DISORDERED = Trial(
    "duplicates",
    "repeated, stale and reordered signals change no outcome",
    12,
    600,
    deliver_in_disorder,
    "of each kind",
)
TRIALS = (DISORDERED,)
