"""Incidents: what stands still, those with one cause together, and one repair for all that are chosen."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.views.decorators.http import require_http_methods

from engine import access
from engine.admin.rights import actor_of
from engine.diagram.naming import label_of
from engine.errors import WorkflowError
from engine.models import Template
from engine.services.many import Outcome, mend_instances
from engine.services.operations import IncidentGroup, incidents_by_cause
from workflowplatform.accounts.actor import Actor

SHOWN = 200
"""How many instances of one cause are listed to choose from."""
DONE = {"retry": "tried again", "skip": "passed over", "cancel": "cancelled"}


def incidents_page(site: Any) -> Any:
    """Make the page for an admin site."""

    @require_http_methods(["GET", "POST"])
    def page(request: HttpRequest) -> HttpResponse:
        actor = actor_of(request)
        outcomes = _mend(request, actor) if request.method == "POST" else []
        context = {
            **site.each_context(request),
            "title": "Incidents",
            "wf_groups": groups(actor),
            "wf_outcomes": outcomes,
        }
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
            "count": len(group.instances),
            "instances": [named[member] for member in group.instances[:SHOWN] if member in named],
        }
        for group in found
    ]


def cause_words(group: IncidentGroup) -> str:
    """Say where and how it failed."""
    step = label_of(group.step) if group.step else "A step"
    return f"{step}: {label_of(group.code or group.error_class or 'failed').lower()}"


def _mend(request: HttpRequest, actor: Actor) -> list[Outcome]:
    """Do what was asked to what was chosen; say what to do when nothing was."""
    chosen = [UUID(text) for text in request.POST.getlist("instance") if _is_id(text)]
    action = request.POST.get("action", "")
    if not chosen:
        messages.warning(request, "Nothing was chosen. Tick the instances to mend.")
        return []
    try:
        outcomes = mend_instances(
            actor=actor, action=action, instance_ids=chosen, reason=request.POST.get("reason", "")
        )
    except WorkflowError as refusal:
        messages.error(request, refusal.message)
        return []
    done = sum(outcome.ok for outcome in outcomes)
    told = f"{done} of {len(outcomes)} {DONE[action]}."
    (messages.success if done == len(outcomes) else messages.warning)(request, told)
    return outcomes


def _is_id(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def still(actor: Actor) -> int:
    """Count what stands still, for the side navigation."""
    return access.visible_instances(actor).filter(status="incident").count()
