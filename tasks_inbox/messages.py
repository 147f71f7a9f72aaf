"""One table: what the inbox says when a service refuses. Code → what happened, what is kept, what to do."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from django.utils import timezone
from django.utils.dateformat import format as date_format
from django.utils.translation import gettext as _

from engine.errors import Conflict, Invalid, WorkflowError

STATUS_OF: Mapping[type[WorkflowError], int] = {Conflict: 409, Invalid: 400}
"""HTTP status of the page that carries the refusal; what stands not here is 403."""


@dataclass(frozen=True, slots=True)
class Notice:
    """A refusal in words: a heading, one or two sentences, how loud it looks."""

    title: str
    text: str
    tone: str = "warning"
    icon: str = "alert-triangle"


def _claimed(error: WorkflowError) -> Notice:
    winner = error.facts.get("winner_name") or str(error.facts.get("winner", "")).capitalize() or _("Somebody")
    at = error.facts.get("claimed_at")
    words = {"winner": winner, "time": date_format(timezone.localtime(at), "H:i") if at else ""}
    said = (
        _("%(winner)s claimed this task at %(time)s, before you.")
        if at
        else _("%(winner)s claimed this task before you.")
    )
    return Notice(_("%(winner)s was faster") % words, said % words + " " + _("Nothing was sent."), icon="hand-stop")


def _closed(error: WorkflowError) -> Notice:
    return Notice(_("This task is no longer open"), error.message + " " + _("Nothing was sent."))


def _answered(error: WorkflowError) -> Notice:
    return Notice(
        _("Already sent"), _("Here is what you answered. Nothing was sent a second time."), "accent", "info-circle"
    )


def _status(error: WorkflowError) -> Notice:
    return Notice(_("Not now"), error.message + " " + _("Nothing was sent."))


def _limit(error: WorkflowError) -> Notice:
    return Notice(_("No place is free"), error.message + " " + _("What you typed is kept below. Try again later."))


def _enough(error: WorkflowError) -> Notice:
    return Notice(_("You hold enough of these"), error.message, icon="hand-stop")


def _four_eyes(error: WorkflowError) -> Notice:
    return Notice(_("Someone else must do this"), error.message, icon="users")


def _not_candidate(error: WorkflowError) -> Notice:
    return Notice(_("This is for others"), error.message, icon="lock")


def _level(error: WorkflowError) -> Notice:
    return Notice(_("Your level does not reach this"), error.message, icon="lock")


SENTENCES: Mapping[str, Callable[[WorkflowError], Notice]] = {
    "claimed": _claimed,
    "closed": _closed,
    "answered": _answered,
    "status": _status,
    "limit": _limit,
    "wip_limit": _enough,
    "four_eyes": _four_eyes,
    "not_candidate": _not_candidate,
    "level": _level,
}


def notice_of(error: WorkflowError) -> Notice:
    """Say a refusal in the inbox's words; an unlisted code speaks with its own message."""
    known = SENTENCES.get(error.code)
    return known(error) if known else Notice(_("This was not done"), error.message)


def http_status_of(error: WorkflowError) -> int:
    """Return the HTTP status of the page that shows a refusal."""
    return next((status for kind, status in STATUS_OF.items() if isinstance(error, kind)), 403)
