"""What became of the tasks of a bulk action: its own page, kept for 30 days, and a list of them."""

from contextlib import suppress
from typing import Any
from uuid import UUID

from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET, require_POST

from engine import access
from engine.models import BulkReport, Task
from engine.services.tasks.bulk_reports import KEPT_FOR
from engine.services.tasks.list_exports import note_export
from tasks_inbox.decorators import InboxRequest, inbox_page
from tasks_inbox.presenters.bulk_words import act_after, heading_of
from tasks_inbox.presenters.list_csv import result_file
from tasks_inbox.presenters.lists import PAGE, list_named
from tasks_inbox.presenters.prev_next import list_address
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_OPERATE

MOST_REPORTS = 100
SHOWN = {"left": _("Not done"), "done": _("Done"), "all": _("All")}


@require_GET
@inbox_page
def reports(request: InboxRequest) -> HttpResponse:
    """List the bulk actions of the last 30 days."""
    rows = [
        {
            "report": report,
            "heading": heading_of(report.action, report.done, report.left),
            "list": list_named(QueryDict(report.query).get("view", "mine"), request.actor),
        }
        for report in access.bulk_reports(request.actor).defer("results")[:MOST_REPORTS]
    ]
    return render(request, "inbox/bulk_reports.html", {"place": "done", "rows": rows, "days": KEPT_FOR.days})


@require_GET
@inbox_page
def show(request: InboxRequest, report_id: UUID) -> HttpResponse:
    """Show the result of each task of a bulk action: first those that were not done, each with its reason."""
    return report_page(request, access.bulk_report_of(request.actor, report_id))


def report_page(request: InboxRequest, report: BulkReport) -> HttpResponse:
    """Render the results of a bulk action."""
    shown = request.GET.get("show", "")
    if shown not in SHOWN:
        shown = "left" if report.left and report.left + report.done > PAGE else "all"
    chosen = list_named(QueryDict(report.query).get("view", "mine"), request.actor)
    counts = {"left": report.left, "done": report.done, "all": report.left + report.done}
    again = [one["task"] for one in report.results if act_after(report.action, one["code"], False) == "again"]
    context = {
        "place": chosen.name,
        "again": again,
        "kept": not report._state.adding,
        "report": report,
        "list": chosen,
        "heading": heading_of(report.action, report.done, report.left),
        "back": list_address(QueryDict(report.query).urlencode()),
        "rows": _rows(request, report, shown),
        "shown": shown,
        "choices": [(name, word, counts[name]) for name, word in SHOWN.items() if counts[name]],
        "share": report.done * 100 // max(counts["all"], 1),
        "days": KEPT_FOR.days,
    }
    return render(request, "inbox/bulk.html", context)


def _rows(request: InboxRequest, report: BulkReport, shown: str) -> list[tuple[dict[str, Any], Task | None, str]]:
    """Return the results to show, each with its task where the reader still sees it, and what to do about it."""
    results = [one for one in report.results if shown == "all" or bool(one["code"]) == (shown == "left")]
    seen = {str(task.pk): task for task in access.visible_tasks(request.actor).filter(pk__in=_tasks_of(results))}
    return [
        (one, task, _act(request.actor, report, one, task))
        for one in sorted(results, key=lambda one: not one["code"])
        for task in [seen.get(one["task"])]
    ]


def _act(actor: Actor, report: BulkReport, result: dict[str, Any], task: Task | None) -> str:
    if task is None or task.is_over or not result["code"]:
        return ""
    return act_after(report.action, result["code"], actor.level >= TO_OPERATE or task.assignee_id == actor.person_id)


@require_POST
@inbox_page
def export(request: InboxRequest, report_id: UUID) -> HttpResponse:
    """Hand out the result of a bulk action as CSV, each task with its reason."""
    report = access.bulk_report_of(request.actor, report_id)
    note_export(actor=request.actor, query=f"results/{report.pk}")
    rows = [(one, task) for one, task, _act in _rows(request, report, "all")]
    root = request.build_absolute_uri(reverse("inbox:mine"))
    file = result_file(rows, lambda task_id: f"{root}tasks/{task_id}/")
    headers = {"Content-Disposition": f'attachment; filename="{report.action}-{report.created_at:%Y-%m-%d}.csv"'}
    return HttpResponse(file, content_type="text/csv; charset=utf-8", headers=headers)


def _tasks_of(results: list[dict[str, Any]]) -> list[UUID]:
    """Read the ids of the tasks; a result that was changed by hand in the database names none."""
    with suppress(ValueError):
        return [UUID(one["task"]) for one in results]
    return []
