"""Incidents: what stands still, those with one cause together, and one repair for all that are chosen."""

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
MENDING = ("retry", "skip", "cancel")


def incidents_page(site: Any) -> Any:
    """Make the page for an admin site."""

    @require_http_methods(["GET", "POST"])
    def page(request: HttpRequest) -> HttpResponse:
        actor = actor_of(request)
        begun = _mend(request, site, actor) if request.method == "POST" else None
        if begun is not None:
            return begun
        context = {**site.each_context(request), "title": "Incidents", "wf_groups": groups(actor)}
        return TemplateResponse(request, "admin/incidents.html", context)

    return page


def groups(actor: Actor) -> list[dict[str, Any]]:
    """Tell each cause in a sentence, with the instances that stand there."""
    found = incidents_by_cause(actor=actor)
    titles = dict(Template.objects.filter(tenant_id=actor.tenant_id).values_list("name", "title"))
    shown = [member for group in found for member in group.instances[:SHOWN]]
    named = {row.pk: row for row in access.visible_instances(actor).filter(pk__in=shown)}
    return [
        {
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
    """Say where and how it failed."""
    step = label_of(group.step) if group.step else "A step"
    return f"{step}: {label_of(group.code or group.error_class or 'failed').lower()}"


def _mend(request: HttpRequest, site: Any, actor: Actor) -> HttpResponse | None:
    """Begin what was asked for what was chosen; where work is lost, show first what will happen."""
    action = request.POST.get("action", "")
    chosen = _chosen(request, actor)
    if action not in MENDING or not chosen:
        messages.warning(request, "Nothing was chosen. Tick the instances to mend.")
        return None
    return begin(request, site, action, chosen) if action == "retry" else confirm_page(request, site, action, chosen)


def _chosen(request: HttpRequest, actor: Actor) -> list[UUID]:
    """Return those ticked, or with one tick for all the whole group, as it is now."""
    if not request.POST.get("all"):
        return ids_in(request.POST.getlist("instance"))
    asked = request.POST.get("cause", "")
    return [member for group in incidents_by_cause(actor=actor) if group.cause == asked for member in group.instances]


def still(actor: Actor) -> int:
    """Count what stands still, for the side navigation."""
    return access.visible_instances(actor).filter(status="incident").count()
