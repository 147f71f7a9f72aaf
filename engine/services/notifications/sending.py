"""Take messages on that are due, and settle what came of them.

All that is due for one person over one channel is taken together, under that person's lock, and becomes as few messages as the
rules ask for: a digest, one for what quiet hours held back, one for many that come at once. No transaction is open while they
are sent. Taken messages are due again after a while: if the worker dies, another sends them. Since nobody knows whether they
went out, they come again as they were, under the same message id, and never inside another message.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from django.db import connection
from django.db.models import F, Q, QuerySet

from engine.audit.chain import database_now
from engine.db.advisory_locks import TRY_LOCK, lock_name
from engine.db.transactions import in_one_transaction
from engine.models import Notification
from workflowplatform.ids import uuid7

PEOPLE_AT_ONCE = 20
ROWS_AT_ONCE = 5_000
LEASE = timedelta(minutes=5)
"""Longer than one message may take over any channel; it begins anew with each message."""
KEEP_SENT = timedelta(days=30)
FORGOTTEN_AT_ONCE = 1_000

MOST_OF_A_KIND = 3
WINDOW = timedelta(minutes=10)
"""More than so many of a kind in this time become one message."""
SETTLING, LONGEST_SETTLING = timedelta(seconds=10), timedelta(minutes=1)
"""Many of a kind wait until no more come for a moment, so that they are one message."""
IN_CROWDS = frozenset({"assigned", "offered", "handed_over"})
"""What comes in crowds: the first waits for a moment too, since it may be the first of a thousand."""

PAUSES = tuple(timedelta(seconds=seconds) for seconds in (10, 60, 300, 1800, 7200, 21600, 43200, 86400))
JITTER = 0.2

Style = Literal["single", "many", "digest"]

WHOSE = """
SELECT channel, person_id, role_id FROM (
  SELECT channel, person_id, role_id, min(due_at) AS since FROM wf_notifications
  WHERE status = 'pending' AND due_at <= (SELECT clock_timestamp()) GROUP BY 1, 2, 3) due
ORDER BY since LIMIT %s
"""
SOMETHING = (
    "SELECT EXISTS (SELECT FROM wf_notifications WHERE status = 'pending' AND due_at <= (SELECT clock_timestamp()))"
)


@dataclass(frozen=True, slots=True)
class Message:
    """What is sent as one message: committed as taken, not yet sent."""

    id: UUID
    channel: str
    style: Style
    rows: tuple[Notification, ...]
    until: datetime
    """When another worker may take it."""

    @property
    def person_id(self) -> UUID | None:
        return self.rows[0].person_id

    @property
    def role_id(self) -> UUID | None:
        return self.rows[0].role_id

    @property
    def tenant_id(self) -> UUID:
        return self.rows[0].tenant_id


@dataclass(frozen=True, slots=True)
class Sent:
    """What came of a message. `why` says what went wrong; `final` that another try would not help."""

    status: Literal["sent", "dropped", "failed"]
    why: str = ""
    final: bool = False
    is_sure: bool = True
    """Whether it is sure that a failed message did not arrive."""


def is_anything_due() -> bool:
    """Return whether a message waits to be sent now."""
    with connection.cursor() as cursor:
        cursor.execute(SOMETHING)
        return bool(cursor.fetchone()[0])


@in_one_transaction
def take_messages() -> list[Message]:
    """Take what is due for some receivers, and set it due after its deadline."""
    with connection.cursor() as cursor:
        cursor.execute(WHOSE, [PEOPLE_AT_ONCE])
        receivers = cursor.fetchall()
    return [message for receiver in receivers for message in _take_for(*receiver)]


def _take_for(channel: str, person_id: UUID | None, role_id: UUID | None) -> list[Message]:
    """Take one receiver's messages, unless another worker does so now."""
    with connection.cursor() as cursor:
        cursor.execute(TRY_LOCK, [lock_name("notify", channel, person_id or role_id)])
        if not cursor.fetchone()[0]:
            return []
    now = database_now()
    mine = _of_receiver(channel, person_id, role_id).filter(status="pending")
    due = mine.filter(Q(due_at__lte=now) | Q(way__in=AT_ONCE, message_id=None, error=""))
    rows = list(due.select_for_update(no_key=True).order_by("pk")[:ROWS_AT_ONCE])
    messages = [_taken(style, some, now) for style, some in _plan(rows, now)]
    for message in messages:
        taken = Notification.objects.filter(pk__in=[row.pk for row in message.rows])
        taken.update(due_at=message.until, message_id=message.id, tries=F("tries") + 1, error="")
    return messages


AT_ONCE = ("once", "later")
"""What is sent at once, or was held back only because many came: all of it is looked at together."""


def _of_receiver(channel: str, person_id: UUID | None, role_id: UUID | None) -> QuerySet[Notification]:
    receiver = Q(role_id=role_id) if person_id is None else Q(person_id=person_id)
    return Notification.objects.filter(receiver, channel=channel)


def _taken(style: Style, rows: Sequence[Notification], now: datetime) -> Message:
    return Message(rows[0].message_id or uuid7(), rows[0].channel, style, tuple(rows), now + LEASE)


Planned = tuple[Style, Sequence[Notification]]


def _plan(rows: Sequence[Notification], now: datetime) -> Iterator[Planned]:
    """Group what is due: what another worker may have sent as it was then, and everything else by the rules."""
    for before in dict.fromkeys(row.message_id for row in rows if row.message_id):
        again = [row for row in rows if row.message_id == before]
        yield _style_of(again), again
    fresh = [row for row in rows if row.message_id is None]
    if any(row.way == "daily" for row in fresh):
        yield "digest", fresh
    elif fresh:
        yield from _plan_fresh(fresh, now)


def _style_of(rows: Sequence[Notification]) -> Style:
    if any(row.way == "daily" for row in rows):
        return "digest"
    return "single" if len(rows) == 1 else "many"


def _plan_fresh(rows: Sequence[Notification], now: datetime) -> Iterator[Planned]:
    """Send a few of a kind one by one; what quiet hours held back, and all that came in crowds, become one message each."""
    held, crowd = [row for row in rows if row.way == "quiet"], []
    if held:
        yield _style_of(held), held
    at_once = [row for row in rows if row.way in AT_ONCE]
    for kind in dict.fromkeys(row.kind for row in at_once):
        some = [row for row in at_once if row.kind == kind]
        recent = _recent(some[0], now)
        if len(some) + len(recent) <= MOST_OF_A_KIND and all(row.way == "once" for row in some):
            yield from _one_by_one(some, now)
        elif recent:
            _postpone(some, max(recent) + WINDOW, way="later")
        elif _still_come(some, now):
            _postpone(some, now + SETTLING)
        else:
            crowd += some
    if crowd:
        yield _style_of(crowd), crowd


def _one_by_one(rows: Sequence[Notification], now: datetime) -> Iterator[Planned]:
    """Send each by itself; of what comes in crowds only once no more comes."""
    if rows[0].kind in IN_CROWDS and _still_come(rows, now):
        _postpone(rows, now + SETTLING)
        return
    yield from (("single", [row]) for row in rows)


def _recent(like: Notification, now: datetime) -> list[datetime]:
    """Return when the receiver was lately told something of this kind."""
    same = _of_receiver(like.channel, like.person_id, like.role_id).filter(kind=like.kind, status="sent")
    lately = same.filter(way__in=AT_ONCE, sent_at__gt=now - WINDOW)
    return [sent_at for sent_at in lately.values_list("sent_at", flat=True) if sent_at]


def _still_come(rows: Sequence[Notification], now: datetime) -> bool:
    first, last = min(row.created_at for row in rows), max(row.created_at for row in rows)
    return now - last < SETTLING and now - first < LONGEST_SETTLING


def _postpone(rows: Sequence[Notification], due_at: datetime, *, way: str = "once") -> None:
    """Hold messages back, so that they become one."""
    Notification.objects.filter(pk__in=[row.pk for row in rows]).update(due_at=due_at, way=way)


@in_one_transaction
def is_still_ours(message: Message) -> bool:
    """Lengthen a message's time before it is sent; False where that ran out and another worker may have taken it."""
    now = database_now()
    rows = Notification.objects.filter(pk__in=[row.pk for row in message.rows], status="pending")
    return bool(rows.filter(due_at=message.until, due_at__gt=now).update(due_at=now + LEASE))


@in_one_transaction
def settle_message(message: Message, sent: Sent) -> None:
    """Record what came of a message; what failed is due again after a pause, until there were too many tries.

    What surely did not arrive is free to become part of another message: after an outage many become one.
    """
    now = database_now()
    rows = Notification.objects.filter(pk__in=[row.pk for row in message.rows], status="pending", message_id=message.id)
    if sent.status != "failed":
        rows.update(status=sent.status, sent_at=now, error=sent.why)
        return
    tries = max(row.tries for row in message.rows) + 1
    pause = None if sent.final else pause_after(tries)
    if pause is None:
        rows.update(status="failed", sent_at=now, error=sent.why)
    else:
        rows.update(due_at=now + pause, error=sent.why, message_id=None if sent.is_sure else message.id)


def pause_after(tries: int) -> timedelta | None:
    """Return how long to wait after so many tries; None: it was the last."""
    if tries > len(PAUSES):
        return None
    return PAUSES[tries - 1] * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311  spreads, keeps no secret


def forget_old_messages() -> int:
    """Delete messages that were settled long ago, some at a time; return how many these were."""
    over = Notification.objects.exclude(status="pending").filter(sent_at__lt=database_now() - KEEP_SENT)
    some = list(over.values_list("pk", flat=True)[:FORGOTTEN_AT_ONCE])
    Notification.objects.filter(pk__in=some).delete()
    return len(some)
