"""Cases that the person started, and where each of them is."""

from typing import Any

from django.db.models import Prefetch, Q
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET

from engine import access
from engine.db.keyset_pagination import NEWEST, page_of, read_cursor
from engine.kernel.transitions import TERMINAL_INSTANCE, InstanceStatus
from engine.models import Instance, Task
from engine.presentation.narrative.status_summary import StatusSummary, summary_of, withdrawn
from engine.presentation.narrative.step_outline import outline_of, steps_by_id
from engine.services.tasks.lists import count_lists
from tasks_inbox.decorators import InboxRequest, inbox_page
from tasks_inbox.presenters.lists import PAGE, count_words
from workflowplatform.accounts.actor import Actor

SHOWN: dict[str, tuple[Any, Q]] = {
    "": (_("All"), Q()),
    "live": (_("In progress"), ~Q(status__in=TERMINAL_INSTANCE)),
    "stuck": (_("Needs attention"), Q(status=InstanceStatus.INCIDENT)),
    "over": (_("Finished"), Q(status__in=TERMINAL_INSTANCE)),
}


@require_GET
@inbox_page
def started(request: InboxRequest) -> HttpResponse:
    """Show what the person started, newest first."""
    actor = request.actor
    mine = access.visible_instances(actor).filter(started_by_id=actor.person_id)
    show = request.GET.get("show", "") if request.GET.get("show", "") in SHOWN else ""
    words = request.GET.get("q", "").replace("\0", "").strip()[:200]
    found = mine.filter(SHOWN[show][1], _has(words))
    counts = count_lists(actor, {name: mine.filter(fits) for name, (_word, fits) in SHOWN.items()} | {"found": found})
    page = page_of(
        found.prefetch_related("waits", Prefetch("tasks", queryset=Task.objects.open().select_related("assignee"))),
        NEWEST,
        _cursor(request),
        PAGE,
    )
    context = {
        "place": "started",
        "rows": _with_sentences(page.rows, actor),
        "next": page.next,
        "after": request.GET.get("after", ""),
        "page_size": PAGE,
        "show": show,
        "words": words,
        "choices": [(name, word, count_words(counts[name])) for name, (word, _fits) in SHOWN.items()],
        "any": counts[""],
        "count_words": count_words(counts["found"]),
        "count": counts["found"],
    }
    return render(request, "inbox/started.html", context)


def _has(words: str) -> Q:
    """Match cases that contain every word in title, reference or workflow."""
    found = Q()
    for word in words.split()[:8]:
        found &= Q(title__icontains=word) | Q(reference__icontains=word) | Q(template__title__icontains=word)
    return found


def _cursor(request: InboxRequest) -> Any:
    try:
        return read_cursor(request.GET["after"], NEWEST) if request.GET.get("after") else None
    except ValueError:
        return None


def _with_sentences(instances: list[Instance], actor: Actor) -> list[tuple[Instance, StatusSummary]]:
    """Pair each case with what it waits for or how it ended; steps are named once per version."""
    versions = {instance.version_id: instance.version.canonical for instance in instances}
    steps = {pk: steps_by_id(outline_of(canonical, ())) for pk, canonical in versions.items()}
    by_hand = access.withdrawn_by(actor, [each.pk for each in instances if each.status == InstanceStatus.CANCELLED])
    return [
        (
            each,
            withdrawn(each)
            if each.pk in by_hand
            else summary_of(each, each.waits.all(), each.tasks.all(), steps[each.version_id], actor.person_id),
        )
        for each in instances
    ]
