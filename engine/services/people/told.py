"""What people are told about work that changes hands: one call per kind, written in the act's own transaction.

What an act tells is a kind of notification.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.utils import timezone

from engine.audit.chain import database_now
from engine.models import Task
from engine.services.notifications.telling import News
from engine.services.notifications.telling import tell as write_down
from workflowplatform.accounts.actor import Actor
from workflowplatform.ids import uuid7


@dataclass(frozen=True, slots=True)
class Told:
    """One thing that one person is told."""

    kind: str
    person_id: UUID
    by: Actor
    task_id: UUID | None = None
    text: str = ""
    facts: dict[str, Any] = field(default_factory=dict)


def tell(told: Told) -> None:
    """Tell a person something, unless they did it themselves."""
    if told.person_id != told.by.person_id:
        for listener in listeners:
            listener(told)


def notify(told: Told) -> None:
    """Write the notification of a kind of news, if it has one."""
    if told.kind in NEWS_OF:
        write_down([(NEWS_OF[told.kind](told), told.person_id)], database_now())


listeners: list[Callable[[Told], None]] = [notify]
"""Called within the act's transaction: what they write is written with the act, or not."""


def _about_task(kind: str) -> Callable[[Told], News]:
    return lambda told: News(kind, f"{kind}:{uuid7()}", told.task_id, actor_name=told.by.name, text=told.text)


def _stands_in(told: Told) -> News:
    """Name the days and how many tasks are waiting; the sender is the absent person."""
    absent, days = told.facts["person"], (told.facts["from"], told.facts["until"])
    count = Task.objects.open().filter(tenant_id=told.by.tenant_id, assignee__username=absent).count()
    first, last = (timezone.localtime(moment).date().isoformat() for moment in days)
    return News("handed_over", f"handed_over:{uuid7()}", actor_name=absent, text=f"{first}/{last}/{count}")


NEWS_OF: dict[str, Callable[[Told], News]] = {
    "delegated": _about_task("assigned"),
    "returned": _about_task("assigned"),
    "asked": _about_task("asked"),
    "answered": _about_task("answered"),
    "deputy_named": _stands_in,
    "not_sent": _about_task("not_sent"),
}
"""What is told by a notification. That a task was assigned is read from the audit, like every other assignment."""
