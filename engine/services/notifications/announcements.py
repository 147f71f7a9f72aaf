"""Announce to people that work has changed hands, in the act's own transaction; `NEWS_OF` has the notification of each kind."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.utils import timezone

from engine.audit.chain import database_now
from engine.models import Task
from engine.services.notifications.notify import News, notify_people
from workflowplatform.accounts.actor import Actor
from workflowplatform.ids import uuid7


@dataclass(frozen=True, slots=True)
class Announcement:
    """What one person should hear of an act: its kind, its subject and the person who did it."""

    kind: str
    person_id: UUID
    by: Actor
    task_id: UUID | None = None
    text: str = ""
    facts: dict[str, Any] = field(default_factory=dict)


def announce(announcement: Announcement) -> None:
    """Announce an act to a person, unless they did it themselves."""
    if announcement.person_id != announcement.by.person_id:
        for listener in listeners:
            listener(announcement)


def write_notification(announcement: Announcement) -> None:
    """Write the notification of an announcement, if its kind has one."""
    if announcement.kind in NEWS_OF:
        notify_people([(NEWS_OF[announcement.kind](announcement), announcement.person_id)], database_now())


listeners: list[Callable[[Announcement], None]] = [write_notification]
"""Called within the act's transaction: what they write is written with the act, or not."""


def _about_task(kind: str) -> Callable[[Announcement], News]:
    return lambda announcement: News(
        kind, f"{kind}:{uuid7()}", announcement.task_id, actor_name=announcement.by.name, text=announcement.text
    )


def _stands_in(announcement: Announcement) -> News:
    """Name the days and how many tasks are waiting; the sender is the absent person."""
    absent, days = announcement.facts["person"], (announcement.facts["from"], announcement.facts["until"])
    count = Task.objects.open().filter(tenant_id=announcement.by.tenant_id, assignee__username=absent).count()
    first, last = (timezone.localtime(moment).date().isoformat() for moment in days)
    return News("handed_over", f"handed_over:{uuid7()}", actor_name=absent, text=f"{first}/{last}/{count}")


NEWS_OF: dict[str, Callable[[Announcement], News]] = {
    "delegated": _about_task("assigned"),
    "returned": _about_task("assigned"),
    "asked": _about_task("asked"),
    "answered": _about_task("answered"),
    "deputy_named": _stands_in,
    "not_sent": _about_task("not_sent"),
}
"""Which notification an announcement becomes. That a task was assigned is read from the audit, like every other assignment."""
