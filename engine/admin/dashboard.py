"""The dashboard: what runs, what has stopped, and what waits for people."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from engine import access
from engine.admin.base import rows_of_tenant
from engine.admin.descriptions import lines_of
from engine.admin.incidents import count_incidents
from engine.admin.instances import WAITS
from engine.admin.permissions import actor_of
from engine.kernel.effects import WaitKind
from engine.kernel.transitions import InstanceStatus
from engine.models import DeadLetter
from engine.presentation.narrative.relative_times import span_words
from engine.services.audit.exports import with_subject_names
from engine.services.insights.dashboard import Figures, tenant_figures
from workflowplatform.accounts.actor import Actor

BAD_BACKLOG = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with its label and the list behind it."""

    name: str
    number: int | str
    words: str
    url: str
    bad: bool = False


def overview(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    actor = actor_of(request)
    acts = access.visible_audit(actor).filter(subject_kind__in=("template", "person", "tenant")).order_by("-id")
    flow = tenant_figures(actor=actor)
    return context | {
        "title": "Dashboard",
        "wf_figures": [*figures(actor), backlog(flow)],
        "wf_waiting": waiting(flow),
        "wf_days": flow.days[::-1],
        "wf_chart": chart(flow),
        "wf_acts": lines_of(with_subject_names(acts)[:12]),
    }


def figures(actor: Actor) -> list[Figure]:
    instances = access.visible_instances(actor)
    running = instances.filter(status=InstanceStatus.RUNNING).count()
    stopped = instances.filter(status=InstanceStatus.INCIDENT).count()
    letters = rows_of_tenant(DeadLetter, actor).count()
    page = reverse("admin:engine_instance_changelist")
    return [
        Figure("running", running, "running", f"{page}?status__exact=running"),
        Figure("incidents", stopped, "with an incident", reverse("admin:engine_incidents"), bad=stopped > 0),
        Figure("tasks", access.tasks_team(actor).count(), "open tasks", reverse("admin:engine_task_changelist")),
        Figure("dead_letters", letters, "dead letters", reverse("admin:engine_deadletter_changelist"), bad=letters > 0),
    ]


def backlog(flow: Figures) -> Figure:
    """Return how many signals are overdue and for how long; seconds are normal, minutes are not."""
    page = reverse("admin:engine_signal_changelist")
    if flow.oldest_due_for is None:
        return Figure("overdue", 0, "signals overdue", page)
    words = "signal overdue for" if flow.due == 1 else "signals overdue, the oldest for"
    late = flow.oldest_due_for > BAD_BACKLOG
    return Figure("overdue", f"{flow.due:,}", f"{words} {span_words(flow.oldest_due_for)}", page, bad=late)


def waiting(flow: Figures) -> list[dict[str, Any]]:
    """Return what instances wait for, most frequent first, each with the list behind it."""
    page, most = reverse("admin:engine_instance_changelist"), max((count for _, count in flow.waiting), default=1)
    return [
        {"words": WAITS[WaitKind(kind)], "count": count, "most": most, "url": f"{page}?waiting={kind}"}
        for kind, count in flow.waiting
    ]


def chart(flow: Figures) -> dict[str, Any]:
    """Return the numbers for the chart; the table next to it has the same ones."""
    return {
        "labels": [f"{day.on:%-d %b}" for day in flow.days],
        "series": [
            {"label": "Started", "colour": "--wf-accent", "values": [day.started for day in flow.days]},
            {"label": "Ended", "colour": "--wf-good", "values": [day.ended for day in flow.days]},
        ],
    }


def incident_badge(request: HttpRequest) -> str:
    """Return the number of incidents for the side navigation, or nothing for zero."""
    count = count_incidents(actor_of(request))
    return str(count) if count else ""


def in_instances(request: HttpRequest) -> bool:
    """Mark Instances as current on its pages, but not on Incidents."""
    page = reverse("admin:engine_instance_changelist")
    return request.path.startswith(page) and request.path != reverse("admin:engine_incidents")


def in_signals(request: HttpRequest) -> bool:
    """Mark Signals as current on its pages, but not on Workers and queues."""
    page = reverse("admin:engine_signal_changelist")
    return request.path.startswith(page) and request.path != reverse("admin:engine_workers")


def in_workers(request: HttpRequest) -> bool:
    """Mark Workers and queues as current on RQ's own pages too."""
    return request.path.startswith((reverse("admin:engine_workers"), reverse("django_rq:home")))


def in_templates(request: HttpRequest) -> bool:
    """Mark Templates as current while a version is open."""
    pages = (reverse("admin:engine_template_changelist"), reverse("admin:engine_templateversion_changelist"))
    return request.path.startswith(pages) and request.path != reverse("admin:engine_templateversion_gallery")
