"""The admin's first page: what runs, what stopped, what waits for people."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from engine import access
from engine.admin.base import rows_of_tenant
from engine.admin.columns import with_subject_names
from engine.admin.incidents import still
from engine.admin.rights import actor_of
from engine.admin.sentences import lines_of
from engine.kernel.transitions import InstanceStatus
from engine.models import Audit, DeadLetter
from workflowplatform.accounts.actor import Actor


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with its words and where it leads."""

    number: int
    words: str
    url: str
    bad: bool = False


def overview(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Give the first page its figures and the last acts."""
    actor = actor_of(request)
    acts = rows_of_tenant(Audit, actor).filter(subject_kind__in=("template", "person", "tenant")).order_by("-id")
    return context | {
        "title": "Overview",
        "wf_figures": figures(actor),
        "wf_acts": lines_of(with_subject_names(acts)[:12]),
    }


def figures(actor: Actor) -> list[Figure]:
    """Count what an operator looks at first."""
    instances = access.visible_instances(actor)
    running = instances.filter(status=InstanceStatus.RUNNING).count()
    stopped = instances.filter(status=InstanceStatus.INCIDENT).count()
    letters = rows_of_tenant(DeadLetter, actor).count()
    page = reverse("admin:engine_instance_changelist")
    return [
        Figure(running, "running", f"{page}?status__exact=running"),
        Figure(stopped, "with an incident", f"{page}?status__exact=incident", bad=stopped > 0),
        Figure(access.tasks_team(actor).count(), "open tasks", reverse("admin:engine_task_changelist")),
        Figure(letters, "dead letters", reverse("admin:engine_deadletter_changelist"), bad=letters > 0),
    ]


def incident_badge(request: HttpRequest) -> str:
    """Count what stands still beside its line in the side navigation; nothing where nothing does."""
    count = still(actor_of(request))
    return str(count) if count else ""


def in_instances(request: HttpRequest) -> bool:
    """Keep Instances marked while one is open, but not on the page of incidents."""
    page = reverse("admin:engine_instance_changelist")
    return request.path.startswith(page) and request.path != reverse("admin:engine_incidents")


def in_templates(request: HttpRequest) -> bool:
    """Keep Templates marked in the side navigation while a version is open."""
    pages = (reverse("admin:engine_template_changelist"), reverse("admin:engine_templateversion_changelist"))
    return request.path.startswith(pages) and request.path != reverse("admin:engine_templateversion_gallery")
