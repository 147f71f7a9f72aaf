"""Take messages on that are due, and settle what came of them.

All that is due for one person over one channel is taken together, under that person's lock, and becomes as few messages as the
rules ask for: a digest, one for what quiet hours held back, one for many of a kind. Taken messages are due again after a while:
if the worker dies, another sends them, under the same message id. No transaction is open while they are sent.
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
ROWS_AT_ONCE = 1_000
LEASE = timedelta(minutes=2)
KEEP_SENT = timedelta(days=30)
FORGOTTEN_AT_ONCE = 1_000

MOST_OF_A_KIND = 3
WINDOW = timedelta(minutes=10)
"""More than so many of a kind in this time become one message."""
SETTLING, LONGEST_SETTLING = timedelta(seconds=10), timedelta(minutes=1)
"""Many of a kind wait until no more come for a moment, so that they are one message."""

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
    rows = list(mine.filter(due_at__lte=now).select_for_update(no_key=True).order_by("pk")[:ROWS_AT_ONCE])
    messages = list(_messages(rows, now)) if rows else []
    for message in messages:
        taken = Notification.objects.filter(pk__in=[row.pk for row in message.rows])
        taken.update(due_at=now + LEASE, message_id=message.id, tries=F("tries") + 1)
    return messages


def _of_receiver(channel: str, person_id: UUID | None, role_id: UUID | None) -> QuerySet[Notification]:
    receiver = Q(role_id=role_id) if person_id is None else Q(person_id=person_id)
    return Notification.objects.filter(receiver, channel=channel)


def _messages(rows: Sequence[Notification], now: datetime) -> Iterator[Message]:
    """Group what is due: the digest takes everything with it; what was held back is one message; many of a kind are one."""
    if any(row.way == "daily" for row in rows):
        yield _message("digest", rows)
        return
    held = [row for row in rows if row.way == "quiet"]
    if held:
        yield _message("single" if len(held) == 1 else "many", held)
    for kind in dict.fromkeys(row.kind for row in rows):
        yield from _of_kind([row for row in rows if row.way == "once" and row.kind == kind], now)


def _of_kind(rows: Sequence[Notification], now: datetime) -> Iterator[Message]:
    """Send a few one by one and many as one; after that one, what follows waits until the time is over."""
    if not rows:
        return
    recent = _recent(rows[0], now)
    if len(rows) + len(recent) <= MOST_OF_A_KIND:
        yield from (_message("single", [row]) for row in rows)
    elif recent:
        _postpone(rows, max(recent) + WINDOW)
    elif _still_come(rows, now):
        _postpone(rows, now + SETTLING)
    else:
        yield _message("single" if len(rows) == 1 else "many", rows)


def _recent(like: Notification, now: datetime) -> list[datetime]:
    """Return when the receiver was lately told something of this kind."""
    same = _of_receiver(like.channel, like.person_id, like.role_id).filter(kind=like.kind, status="sent", way="once")
    return [sent_at for sent_at in same.filter(sent_at__gt=now - WINDOW).values_list("sent_at", flat=True) if sent_at]


def _still_come(rows: Sequence[Notification], now: datetime) -> bool:
    first, last = min(row.created_at for row in rows), max(row.created_at for row in rows)
    return now - last < SETTLING and now - first < LONGEST_SETTLING


def _postpone(rows: Sequence[Notification], due_at: datetime) -> None:
    """Hold messages back, as quiet hours do: they become one."""
    Notification.objects.filter(pk__in=[row.pk for row in rows]).update(due_at=due_at, way="quiet")


def _message(style: Style, rows: Sequence[Notification]) -> Message:
    """Name a message by the try before where it holds the same, so that a repeat is recognised."""
    known = {row.message_id for row in rows}
    (before,) = known if len(known) == 1 else (None,)
    return Message(before or uuid7(), rows[0].channel, style, tuple(rows))


@in_one_transaction
def settle_message(message: Message, sent: Sent) -> None:
    """Record what came of a message; what failed is due again after a pause, until there were too many tries."""
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
        rows.update(due_at=now + pause, error=sent.why)


def pause_after(tries: int) -> timedelta | None:
    """Return how long to wait after so many tries; None: it was the last."""
    if tries > len(PAUSES):
        return None
    return PAUSES[tries - 1] * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311  spreads, keeps no secret


def forget_old_messages() -> int:
    """Delete messages that were settled long ago, some at a time; return how many."""
    over = Notification.objects.exclude(status="pending").filter(sent_at__lt=database_now() - KEEP_SENT)
    some = list(over.values_list("pk", flat=True)[:FORGOTTEN_AT_ONCE])
    Notification.objects.filter(pk__in=some).delete()
    return len(some)
