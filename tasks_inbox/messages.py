"""One table: what the inbox says when a service refuses. Code → what happened, what is kept, what to do."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from django.utils import timezone
from django.utils.translation import gettext as _

from engine.errors import Conflict, Invalid, WorkflowError
from engine.models import PendingAnswer, Task, TaskDraft
from engine.presentation.narrative.people_names import name_of
from engine.presentation.narrative.relative_times import clock_words

STATUS_OF: Mapping[type[WorkflowError], int] = {Conflict: 409, Invalid: 400}
"""HTTP status of the page that shows the refusal; 403 for every other kind."""


@dataclass(frozen=True, slots=True)
class Notice:
    """A refusal in words: a heading, one or two sentences, how loud it looks."""

    title: str
    text: str
    tone: str = "warning"
    icon: str = "alert-triangle"
    sent_nothing: bool = False
    """Whether it adds that nothing was sent, and where what was typed is."""
    next_task: bool = False
    """Whether it offers to take another task instead."""
    code: str = ""
    """What it says, whatever the language."""
    stops: bool = False
    """Whether the task on the page can no longer be answered by its reader."""
    bar: str = ""
    """What the bar with the answers says of it, where that is not the title."""


FEW_SECONDS = timedelta(seconds=30)


def _claimed(error: WorkflowError, task: Task | None) -> Notice:
    winner = error.facts.get("winner_name") or name_of(str(error.facts.get("winner", ""))) or _("Someone")
    at = error.facts.get("claimed_at")
    words = {"winner": winner, "time": clock_words(at) if at else ""}
    said = _("%(winner)s claimed this task before you.")
    if at and timezone.now() - at < FEW_SECONDS:
        said = _("%(winner)s claimed this task at %(time)s, a few seconds before you.")
    elif at:
        said = _("%(winner)s claimed this task at %(time)s, before you.")
    title = _("%(winner)s was faster") % words
    return Notice(title, said % words, icon="hand-stop", sent_nothing=True, next_task=True)


def _closed(error: WorkflowError, task: Task | None) -> Notice:
    words = over_words(task) if task else error.message
    return Notice(_("This task is no longer open"), words, sent_nothing=True, next_task=True)


def over_words(task: Task) -> str:
    """Describe what closed a task, and when."""
    facts = {"who": name_of(task.completed_by_name), "at": clock_words(task.completed_at or task.created_at)}
    if task.status == "completed":
        return _("%(who)s answered it at %(at)s.") % facts
    if task.status == "expired":
        return _("Its time ran out at %(at)s.") % facts
    if task.status == "skipped":
        return _("It was skipped at %(at)s.") % facts
    return _withdrawn_words(task, facts)


def _withdrawn_words(task: Task, facts: dict[str, str]) -> str:
    """Describe why a task is no longer needed: the case was withdrawn, or it took another path."""
    by = cancelled_by(task)
    if by:
        return _("No longer needed: %(who)s withdrew the request at %(at)s.") % {**facts, "who": by}
    return _("No longer needed: the case continued without it at %(at)s.") % facts


def cancelled_by(task: Task) -> str:
    """Name the person who cancelled the case of a task; empty where it continued without the task."""
    by = task.events.filter(kind="cancelled").order_by("-id").values_list("actor_name", flat=True).first() or ""
    return name_of(by) if by not in ("", "engine") and task.instance.status == "cancelled" else ""


def _answered(error: WorkflowError, task: Task | None) -> Notice:
    title = _("You already answered this")
    if task and task.completed_at:
        title = _("You already answered this at %(time)s") % {"time": clock_words(task.completed_at)}
    return Notice(title, _("Here is your answer. Nothing was sent again."), "accent", "info-circle")


def _status(error: WorkflowError, task: Task | None) -> Notice:
    return Notice(_("Not now"), error.message, sent_nothing=True)


def _limit(error: WorkflowError, task: Task | None) -> Notice:
    return Notice(_("The limit is reached"), error.message + " " + _("What you typed is kept below. Try again later."))


def _enough(error: WorkflowError, task: Task | None) -> Notice:
    return Notice(_("You have enough of these"), error.message, icon="hand-stop")


def _four_eyes(error: WorkflowError, task: Task | None) -> Notice:
    return Notice(_("Someone else must do this"), error.message, icon="users", sent_nothing=True, next_task=True)


def _not_candidate(error: WorkflowError, task: Task | None) -> Notice:
    return Notice(_("This task is for other people"), error.message, icon="lock", sent_nothing=True, next_task=True)


def _level(error: WorkflowError, task: Task | None) -> Notice:
    return Notice(_("You don’t have permission for this"), error.message, icon="lock")


def _sending(error: WorkflowError, task: Task | None) -> Notice:
    by = name_of(str(error.facts.get("by", "")))
    return Notice(_("%(who)s answered this") % {"who": by}, error.message, icon="hourglass", sent_nothing=True)


SENTENCES: Mapping[str, Callable[[WorkflowError, Task | None], Notice]] = {
    "claimed": _claimed,
    "sending": _sending,
    "closed": _closed,
    "answered": _answered,
    "status": _status,
    "limit": _limit,
    "wip_limit": _enough,
    "four_eyes": _four_eyes,
    "not_candidate": _not_candidate,
    "level": _level,
}


def notice_of(error: WorkflowError, task: Task | None = None) -> Notice:
    """Return the notice for a refusal; an unlisted code uses its own message. `task` is as it is now."""
    known = SENTENCES.get(error.code)
    said = known(error, task) if known else Notice(_("This didn’t work"), error.message)
    return replace(said, code=error.first_code if isinstance(error, Invalid) else error.code)


def back_again() -> Notice:
    """Return the notice for a person whose session ended in the middle of an answer."""
    text = _("What you typed before you were signed out is still here. Nothing has been sent yet.")
    return Notice(_("Welcome back"), text, "accent", "info-circle", code="back_again")


def not_sent(pending: PendingAnswer) -> Notice:
    """Return the notice that an answer was refused when its time for undo was over."""
    words = _("%(why)s What you typed is kept.") % {"why": pending.refusal_text}
    return Notice(_("Your answer was not sent"), words, code="not_sent")


def changed_by(draft: TaskDraft) -> Notice:
    """Return the notice that another person worked on the same answer."""
    facts = {"who": name_of(draft.saved_by_name), "at": clock_words(draft.saved_at)}
    title = _("%(who)s changed this at %(at)s") % facts
    return Notice(title, _("Compare, then send again. Nothing has been sent yet."), icon="users", code="changed")


def http_status_of(error: WorkflowError) -> int:
    """Return the HTTP status of the page that shows a refusal."""
    return next((status for kind, status in STATUS_OF.items() if isinstance(error, kind)), 403)
