"""Notify the people of a case of a comment on the case as a whole: they took part, were mentioned, or are to answer it now."""

from collections.abc import Iterator
from uuid import UUID

from django.db.models import Q

from engine.models import Instance, Task, TaskComment
from engine.services.notifications.mentions import names_in
from engine.services.notifications.notify import News, notify_people
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_SEE_TENANT
from workflowplatform.accounts.models import User


def notify_of_comment(actor: Actor, instance: Instance, comment: TaskComment) -> None:
    """Notify everybody concerned of a comment on a case, except its author. What each may see is decided when it is sent."""
    places = dict(_places(instance)) | {instance.started_by_id: None}
    places |= {pk: None for pk in _mentioned(instance, comment.text) if pk not in places}
    key = f"comment:{comment.pk}"
    news = [
        (News("mentioned", key, task_id, instance.pk, actor.name, comment.text), person_id)
        for person_id, task_id in places.items()
        if person_id is not None and person_id != actor.person_id
    ]
    notify_people(news, comment.at)


def _places(instance: Instance) -> Iterator[tuple[UUID | None, UUID | None]]:
    """Yield who took part in a case, each with the task by which they see it; the newest counts."""
    said = TaskComment.objects.filter(tenant_id=instance.tenant_id, instance_id=instance.pk)
    yield from said.values_list("author_id", "task_id").order_by("id")
    tasks = Task.objects.filter(tenant_id=instance.tenant_id, instance_id=instance.pk).order_by("id")
    for pk, assignee, answered in tasks.values_list("pk", "assignee_id", "completed_by_id"):
        yield from ((person, pk) for person in (assignee, answered))


def _mentioned(instance: Instance, text: str) -> Iterator[UUID]:
    """Yield the people whom a comment names and who may see the case."""
    names = names_in(text)
    if names:
        seeing = Q(level__gte=TO_SEE_TENANT) | Q(pk=instance.started_by_id)
        yield from User.objects.filter(seeing, tenant_id=instance.tenant_id, username__in=names).values_list(
            "pk", flat=True
        )
