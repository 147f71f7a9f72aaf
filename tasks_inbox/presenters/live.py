"""What changed since a page was rendered: counts, new tasks of a list, rows that others claimed, and the task itself.

The stream says only that something happened; the page then asks here, through the same lists that drew it.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from engine import access
from engine.kernel.transitions import TaskStatus
from engine.models import Task
from engine.presentation.narrative.people_names import name_of
from engine.services.tasks import lists as task_lists
from engine.services.tasks.lists import MOST_COUNTED, TaskList, count_lists
from tasks_inbox.messages import Notice, cancelled_by
from tasks_inbox.presenters.lists import count_words, lists_for
from workflowplatform.accounts.actor import Actor
from workflowplatform.i18n.dates import date_format

MOST_ASKED = 60
"""Rows of a page, and tasks of events, that one question may name."""
MARGIN = timedelta(seconds=10)
"""By how much clocks of the web and the database may differ; rows that are shown are never new."""

ENDED: Mapping[str, Any] = {
    TaskStatus.CANCELLED: gettext_lazy("No longer needed"),
    TaskStatus.EXPIRED: gettext_lazy("Its time ran out"),
    TaskStatus.SKIPPED: gettext_lazy("Skipped"),
    TaskStatus.SUSPENDED: gettext_lazy("Paused"),
}


@dataclass(frozen=True, slots=True)
class Shown:
    """What a page shows: which tasks, since when, and which others it has heard of."""

    since: datetime
    tasks: Collection[UUID]
    heard: Collection[UUID]


def counts_of(actor: Actor) -> dict[str, str]:
    """Count the lists anew, as the side shows them."""
    counted = {each.name: task_lists.list_named(actor, each.view) for each in lists_for(actor) if each.counted}
    return {name: count_words(count) for name, count in count_lists(actor, counted).items()}


def fresh_in(found: TaskList, shown: Shown) -> int:
    """Count the tasks of a list that its page does not show and that came after it was drawn, capped."""
    came = Q(created_at__gt=shown.since - MARGIN) | Q(pk__in=shown.heard)
    fresh = replace(found, conditions=(*found.conditions, came, ~Q(pk__in=shown.tasks)))
    return count_lists(found.actor, {"fresh": fresh})["fresh"]


def fresh_words(count: int) -> str:
    """Write for the pill how many tasks are new."""
    if count > MOST_COUNTED:
        return _("More than %(most)d new tasks") % {"most": MOST_COUNTED}
    return ngettext("%(count)d new task", "%(count)d new tasks", count) % {"count": count}


def gone_from(actor: Actor, found: TaskList, shown: Shown) -> dict[str, dict[str, str]]:
    """Describe for each shown task that left its list what became of it."""
    rows = found.rows().filter(pk__in=shown.tasks)
    there = set(rows.order_by().values_list("pk", flat=True))
    left = [pk for pk in shown.tasks if pk not in there]
    known = {task.pk: task for task in access.tasks_heard(actor).filter(pk__in=left).select_related("assignee")}
    became = {str(pk): _became(actor, known.get(pk)) for pk in left}
    return {pk: {"code": code, "words": words} for pk, (code, words) in became.items()}


def _became(actor: Actor, task: Task | None) -> tuple[str, str]:
    """Return what became of a task, as a code and in words."""
    if task is None:
        return "unlisted", _("No longer in this list")
    if task.status in ENDED:
        return task.status, str(ENDED[task.status])
    if task.status == TaskStatus.COMPLETED:
        return ("completed_by_you", _("You answered it")) if task.completed_by_id == actor.person_id else _did(task)
    if task.assignee is None:
        return "open", _("Open to others again")
    if task.assignee_id == actor.person_id:
        return "yours", _("You took it")
    words = _("%(name)s took it") if task.status == TaskStatus.CLAIMED else _("Assigned to %(name)s")
    return task.status, words % {"name": task.assignee.display_name}


def _did(task: Task) -> tuple[str, str]:
    return "completed", _("%(name)s answered it") % {"name": name_of(task.completed_by_name) or _("Someone")}


def state_of(task: Task) -> str:
    """Write what a page of a task depends on; while it stays the same, the page is true."""
    return f"{task.status}:{task.assignee_id or ''}"


def notice_about(actor: Actor, task: Task, was: str) -> Notice | None:
    """Describe what happened to a task since its page was rendered; None if nothing relevant did."""
    if state_of(task) == was:
        return None
    time = date_format(timezone.localtime(task.completed_at or task.claimed_at or timezone.now()), "H:i")
    kept = _("What you typed stays on this page. Nothing was sent.")
    name = task.assignee.display_name if task.assignee else ""
    facts = {"name": name, "time": time, "by": name_of(task.completed_by_name)}
    if task.status == TaskStatus.COMPLETED:
        if task.completed_by_id == actor.person_id:
            words = _("You answered this task at %(time)s.") % facts
            return Notice(_("You already answered this"), words, "accent", "info-circle", code="answered")
        words = _("%(by)s answered this task at %(time)s.") % facts + " " + kept
        bar = _("%(by)s answered this") % facts
        return Notice(_("%(by)s was faster") % facts, words, code="completed", stops=True, bar=bar)
    if task.is_over:
        title, by = _("This task is no longer needed"), cancelled_by(task)
        bar = _("%(who)s cancelled this") % {"who": by} if by else ""
        words = _("It closed at %(time)s.") % facts + " " + kept
        return Notice(title, words, icon="info-circle", code="closed", stops=True, bar=bar)
    if task.status == TaskStatus.SUSPENDED:
        words = _("Nobody can work on it until it is resumed.") + " " + kept
        return Notice(_("This task is paused"), words, code="suspended", stops=True)
    if task.assignee_id == actor.person_id:
        words = _("Reload the page to answer it.")
        return Notice(_("This task is yours now"), words, "accent", "info-circle", code="yours")
    if task.assignee is None:
        words = _("Anyone who is allowed to can claim it.")
        return Notice(_("This task is open again"), words, "accent", "info-circle", code="open")
    words = (
        _("%(name)s claimed this task at %(time)s.") if task.claimed_at else _("This task was assigned to %(name)s.")
    )
    title = _("%(name)s has this task now") % facts
    return Notice(title, words % facts + " " + kept, icon="hand-stop", code="taken", stops=True)
