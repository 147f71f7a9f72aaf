"""The page of a team for its leads: who has how much, what waits, and whose tasks to move."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from engine.services.insights.team_load import PersonLoad, TeamLoad, team_load
from engine.services.tasks.list_exports import note_export
from tasks_inbox.decorators import InboxRequest, inbox_page
from tasks_inbox.presenters.list_csv import load_as_csv
from tasks_inbox.presenters.team import (
    MOST_SHOWN,
    STEP,
    THICK,
    WIDE,
    Opened,
    address_of,
    back_query,
    limit_at,
    opened_in,
    people_rows,
    queue_rows,
    sentence_of,
)
from workflowplatform.accounts.models import Role


@require_GET
@inbox_page
def show(request: InboxRequest) -> HttpResponse:
    """Show the load of the teams that a person leads; wrong values in the address are ignored."""
    load = team_load(actor=request.actor, role=request.GET.get("role", ""))
    person, queue = request.GET.get("person", ""), request.GET.get("queue", "")
    opened = opened_in(request.actor, load, person, queue)
    people = people_rows(load, person if opened and opened.person else "")
    shown = people if "all" in request.GET else people[:MOST_SHOWN]
    context: dict[str, Any] = {
        "place": "load",
        "load": load,
        "tabs": _tabs(load),
        "sentence": sentence_of(load) if load.people else "",
        "people": shown,
        "hidden": len(people) - len(shown),
        "queues": queue_rows(load, queue if opened and opened.queue else ""),
        "days": [{"on": days[0].on, "queues": days} for days in zip(*(one.days for one in load.queues), strict=True)],
        "opened": opened,
        "receivers": _receivers(load, opened),
        "back": back_query(load, **_opened_words(opened)),
        "limit_at": limit_at(load),
        "wide": WIDE,
        "step": STEP,
        "thick": THICK,
        "all_address": address_of(load, all="1"),
        "closed_address": address_of(load),
    }
    return render(request, "inbox/team.html", context)


@require_POST
@inbox_page
def export(request: InboxRequest) -> HttpResponse:
    """Hand out the load of a team as CSV."""
    load = team_load(actor=request.actor, role=request.POST.get("role", ""))
    note_export(actor=request.actor, query=address_of(load))
    name = f"{load.chosen.name if load.chosen else 'team'}-{timezone.localdate().isoformat()}.csv"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(load_as_csv(load), content_type="text/csv; charset=utf-8", headers=headers)


def _tabs(load: TeamLoad) -> list[tuple[str, Role, bool]]:
    """Return the roles to choose from, each with its address; none where there is one."""
    if len(load.roles) < 2:
        return []
    page = address_of(TeamLoad((), None, (), (), load.now))
    return [(f"{page}?role={role.name}", role, role == load.chosen) for role in load.roles]


def _receivers(load: TeamLoad, opened: Opened | None) -> list[PersonLoad]:
    """List the people to move tasks to, by name; the rules decide for each task when it is moved."""
    own = opened.person.person.pk if opened and opened.person else None
    people = [each for each in load.people if each.person.pk != own]
    return sorted(people, key=lambda each: each.person.display_name.casefold())


def _opened_words(opened: Opened | None) -> dict[str, str]:
    if opened and opened.person:
        return {"person": opened.person.person.username}
    return {"queue": opened.queue.role.name} if opened and opened.queue else {}
