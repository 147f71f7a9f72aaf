"""Write notifications, in the transaction of what happened: everything that notifies people or roles calls this module.

A row is one message to one person over one channel, due when that person wants it. Its key says what it is about, so that the
same is sent once however often it is found. Whether the person may see it is decided when it is sent.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from engine.models import Notification, PushSubscription, RoleChat
from engine.services.notifications.preferences import Preferences, preferences_of
from workflowplatform.accounts.mails import can_send
from workflowplatform.accounts.models import Role, User

LONGEST_TEXT = 2000


@dataclass(frozen=True, slots=True)
class News:
    """What a notification says: its kind, its subject, and the key by which it is sent once."""

    kind: str
    key: str
    task_id: UUID | None = None
    instance_id: UUID | None = None
    actor_name: str = ""
    text: str = ""


def notify_people(news: Iterable[tuple[News, UUID]], now: datetime) -> int:
    """Write the notifications of people, by their ids, for the channels they chose; return how many messages that makes."""
    wanted = list(news)
    people = {person.pk: person for person in _listening({person_id for _, person_id in wanted})}
    wishes = preferences_of(people.values())
    pushed = set(PushSubscription.objects.filter(person_id__in=list(people)).values_list("person_id", flat=True))
    rows = [
        row
        for one, person_id in wanted
        if person_id in people
        for row in _rows(one, people[person_id], wishes[person_id], person_id in pushed, now)
    ]
    Notification.objects.bulk_create(rows, ignore_conflicts=True, batch_size=500)
    return len(rows)


def _listening(ids: Iterable[UUID]) -> Iterable[User]:
    return User.objects.filter(pk__in=list(ids), is_active=True, kind="person")


def _rows(one: News, person: User, wishes: Preferences, has_push: bool, now: datetime) -> list[Notification]:
    rows = []
    way = wishes.mail[one.kind]
    if way != "off" and person.email and can_send():
        chosen, due_at = wishes.due(way, now)
        if chosen == "daily" and one.kind == "offered":
            one = _for_digest(due_at)
        rows.append(_row(one, "mail", now, person=person, way=chosen, due_at=due_at))
    if has_push and one.kind in wishes.push:
        chosen, due_at = wishes.due("once", now)
        rows.append(_row(one, "push", now, person=person, way=chosen, due_at=due_at))
    return rows


def _for_digest(due_at: datetime) -> News:
    """Offers in a digest are one row a day, however many: the digest counts what is there when it is sent."""
    return News("offered", f"digest:{due_at.date()}")


def _row(
    one: News,
    channel: str,
    now: datetime,
    *,
    person: User | None = None,
    role: Role | None = None,
    way: str = "once",
    due_at: datetime | None = None,
) -> Notification:
    receiver = person or role
    assert receiver is not None
    return Notification(
        tenant_id=receiver.tenant_id, person=person, role=role, kind=one.kind, channel=channel, way=way, key=one.key,
        task_id=one.task_id, instance_id=one.instance_id, actor_name=one.actor_name, text=one.text[:LONGEST_TEXT],
        due_at=due_at or now, created_at=now,
    )  # fmt: skip


def notify_roles(news: Sequence[tuple[News, UUID]], now: datetime, *, chat: str | None = None) -> int:
    """Write the messages to the chats of roles, by the roles' ids, or only to chats of one kind."""
    asked = RoleChat.objects.filter(role_id__in={role_id for _, role_id in news})
    chats = list((asked if chat is None else asked.filter(chat=chat)).select_related("role"))
    rows = [
        _row(one, found.chat, now, role=found.role)
        for one, role_id in news
        for found in chats
        if found.role_id == role_id
    ]
    Notification.objects.bulk_create(rows, ignore_conflicts=True, batch_size=500)
    return len(rows)
