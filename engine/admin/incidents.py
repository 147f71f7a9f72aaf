"""Incidents, grouped by cause, and repairs for all selected instances at once."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.views.decorators.http import require_http_methods

from engine import access
from engine.admin.bulk_operations import begin, confirm_page, ids_in
from engine.admin.permissions import actor_of
from engine.diagram.step_names import label_of
from engine.models import Template
from engine.services.instances.repair import IncidentGroup, incidents_by_cause
from workflowplatform.accounts.actor import Actor
from workflowplatform.ids import uuid7

SHOWN = 200
"""How many instances of one cause are listed to choose from."""
REPAIRS = ("retry", "skip", "cancel")


def incidents_page(site: Any) -> Any:

    @require_http_methods(["GET", "POST"])
    def page(request: HttpRequest) -> HttpResponse:
        actor = actor_of(request)
        answer = _repair(request, site, actor) if request.method == "POST" else None
        if answer is not None:
            return answer
        context = {**site.each_context(request), "title": "Incidents", "wf_groups": groups(actor)}
        return TemplateResponse(request, "admin/engine/instance/incidents.html", context)

    return page


def groups(actor: Actor) -> list[dict[str, Any]]:
    """Return each cause in words, with its instances."""
    found = incidents_by_cause(actor=actor)
    titles = dict(Template.objects.filter(tenant_id=actor.tenant_id).values_list("name", "title"))
    shown = [member for group in found for member in group.instances[:SHOWN]]
    named = {row.pk: row for row in access.visible_instances(actor).filter(pk__in=shown)}
    return [
        {
            "name": group.template,
            "template": titles.get(group.template) or group.template,
            "cause": cause_words(group),
            "message": group.message,
            "key": group.cause,
            "batch": uuid7(),
            "count": len(group.instances),
            "instances": [named[member] for member in group.instances[:SHOWN] if member in named],
        }
        for group in found
    ]


def cause_words(group: IncidentGroup) -> str:
    """Name the step and how it failed."""
    step = label_of(group.step) if group.step else "A step"
    return f"{step}: {label_of(group.code or group.error_class or 'failed').lower()}"


def _repair(request: HttpRequest, site: Any, actor: Actor) -> HttpResponse | None:
    """Start the chosen repair; if work would be lost, show first what will happen."""
    action = request.POST.get("action", "")
    chosen = _chosen(request, actor)
    if action not in REPAIRS or not chosen:
        messages.warning(request, "Select at least one instance.", extra_tags="nothing_selected")
        return None
    return begin(request, site, action, chosen) if action == "retry" else confirm_page(request, site, action, chosen)


def _chosen(request: HttpRequest, actor: Actor) -> list[UUID]:
    """Return the selected instances, or all of the group as it is now."""
    if not request.POST.get("all"):
        return ids_in(request.POST.getlist("instance"))
    asked = request.POST.get("cause", "")
    return [member for group in incidents_by_cause(actor=actor) if group.cause == asked for member in group.instances]


def count_incidents(actor: Actor) -> int:
    return access.visible_instances(actor).filter(status="incident").count()
