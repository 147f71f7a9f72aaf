"""Visibility of drafts of start forms, and of the files that came with a request."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from engine.access.instances import visible_instances
from engine.access.tasks import task_of, visible_tasks
from engine.models import CaseFile, StartDraft, TaskQuestion, TemplateVersion
from workflowplatform.accounts.actor import Actor


def start_drafts(actor: Actor) -> QuerySet[StartDraft]:
    """Return the start forms that the actor has begun; nobody else sees them, whatever their level."""
    if actor.person_id is None:
        return StartDraft.objects.none()
    return StartDraft.objects.filter(tenant_id=actor.tenant_id, owner_id=actor.person_id)


def start_files(actor: Actor, version: TemplateVersion, number: str) -> QuerySet[CaseFile]:
    """Return the files of a start form that the actor has begun."""
    drafts = start_drafts(actor).filter(template_id=version.template_id, number=number)
    return CaseFile.objects.filter(tenant_id=actor.tenant_id, draft__in=drafts).order_by("id")


def files_of_own_drafts(actor: Actor, version: TemplateVersion) -> QuerySet[CaseFile]:
    """Return the files of all start forms of a template that the actor has begun."""
    drafts = start_drafts(actor).filter(template_id=version.template_id)
    return CaseFile.objects.filter(tenant_id=actor.tenant_id, draft__in=drafts)


def case_files(actor: Actor, instance_id: UUID) -> QuerySet[CaseFile]:
    """Return the files that came with an instance which the actor sees."""
    seen = visible_instances(actor).filter(pk=instance_id)
    return CaseFile.objects.filter(tenant_id=actor.tenant_id, instance__in=seen).order_by("id")


def case_files_of_task(actor: Actor, task_id: UUID) -> list[CaseFile]:
    """Return the files of a task's instance: all to those who see the instance, else those that the task's values name."""
    task = task_of(actor, task_id)
    if visible_instances(actor).filter(pk=task.instance_id).exists():
        return list(case_files(actor, task.instance_id))
    named = set(_texts(task.payload))
    return [
        file
        for file in CaseFile.objects.filter(tenant_id=task.tenant_id, instance_id=task.instance_id).order_by("id")
        if file.name in named
    ]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(inner)


def questions_of_case(actor: Actor, instance_id: UUID) -> QuerySet[TaskQuestion]:
    """Return what was asked about the tasks of an instance, of those tasks that the actor sees, oldest first."""
    seen = visible_tasks(actor).filter(instance_id=instance_id).order_by().values("pk")
    return TaskQuestion.objects.filter(tenant_id=actor.tenant_id, task_id__in=seen).order_by("id")
