"""Small elements of pages: icons, times, priorities, people, statuses."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from django import template
from django.template.loader import get_template
from django.utils import timezone
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from engine.diagram import step_names
from engine.models import Instance, Task
from engine.presentation.forms import values
from engine.presentation.narrative import people_names
from engine.presentation.narrative.people_names import name_of
from engine.presentation.narrative.relative_times import (
    due_words,
    exact_words,
    last_day_words,
    length_words,
    moment_words,
    span_words,
)

register = template.Library()

AVATAR_COLOURS = 5

TONE_OF_STATUS = {
    "open": "", "skipped": "", "paused": "", "archived": "", "cancelled": "", "pending": "",
    "claimed": "accent", "running": "accent",
    "suspended": "warning", "retrying": "warning", "queued": "warning",
    "completed": "good", "active": "good", "success": "good",
    "expired": "danger", "failed": "danger", "incident": "danger", "timed_out": "danger",
    "draft": "outline",
}  # fmt: skip

WORD_OF_STATUS = {
    "open": gettext_lazy("Open"),
    "claimed": gettext_lazy("Claimed"),
    "suspended": gettext_lazy("Suspended"),
    "completed": gettext_lazy("Completed"),
    "skipped": gettext_lazy("Skipped"),
    "cancelled": gettext_lazy("Cancelled"),
    "expired": gettext_lazy("Expired"),
    "queued": gettext_lazy("Queued"),
    "running": gettext_lazy("In progress"),
    "incident": gettext_lazy("Incident"),
    "failed": gettext_lazy("Failed"),
}

ICON_OF_STATUS = {"incident": "alert-triangle"}


@dataclass(frozen=True, slots=True)
class Mark:
    """How a priority looks: normal has no mark at all."""

    icon: str
    word: Any


PRIORITY_MARKS = {
    "critical": Mark("chevrons-up", gettext_lazy("Critical")),
    "high": Mark("chevron-up", gettext_lazy("High")),
    "low": Mark("chevron-down", gettext_lazy("Low")),
}


@cache
def shape(name: str) -> SafeString:
    """Read the shape of an icon once; the files hold only shapes, so they are safe as they are."""
    return mark_safe(get_template(f"icons/{name}.svg").render().strip())  # nosec # noqa: S308


@register.simple_tag
def icon(name: str, look: str = "") -> SafeString:
    """Render an icon next to a word; screen readers skip it, since the word says it."""
    classes = "wf-icon" + (f" wf-icon--{look}" if look else "")
    return format_html('<svg class="{}" viewBox="0 0 24 24" aria-hidden="true">{}</svg>', classes, shape(name))


@register.simple_tag
def moment(at: datetime | None) -> SafeString | str:
    """Render a relative time, with the exact one in `title` and `datetime`."""
    return _time_tag(at, moment_words(at, timezone.now())) if at else ""


@register.simple_tag
def due(due_at: datetime | None, word: bool = False) -> SafeString | str:
    """Render a due date: red with an icon when late, amber when soon; with the word “due” where `word` is set."""
    if due_at is None:
        return ""
    said = due_words(due_at, timezone.now())
    words = _("due %(when)s") % {"when": said.words} if word and said.tone != "late" else said.words
    mark = {"late": icon("alert-circle"), "soon": icon("clock")}.get(said.tone, "")
    return format_html('<span class="wf-due wf-due--{}">{}{}</span>', said.tone, mark, _time_tag(due_at, words))


def _time_tag(at: datetime, words: str) -> SafeString:
    return format_html('<time datetime="{}" title="{}">{}</time>', at.isoformat(), exact_words(at), words)


@register.filter
def span(length: timedelta) -> str:
    """Describe a duration."""
    return span_words(length)


@register.filter
def age(length: timedelta) -> str:
    """Describe a duration in its largest unit."""
    return length_words(length)


@register.filter
def last_day(at: datetime) -> str:
    """Describe the last day of an absence that has begun."""
    return last_day_words(at, timezone.now())


@register.simple_tag
def priority(name: str, word: bool = False) -> SafeString | str:
    """Render the mark of a priority, its word visible or hidden."""
    mark = PRIORITY_MARKS.get(name)
    if mark is None:
        return ""
    said = (
        mark.word
        if word
        else format_html('<span class="wf-hidden">{}</span>', _("%(priority)s priority") % {"priority": mark.word})
    )
    drawn = '<span class="wf-priority wf-priority--{}" data-priority="{}">{}{}</span>'
    return format_html(drawn, name, name, icon(mark.icon, "bold"), said)


@register.simple_tag
def avatar(name: str, look: str = "") -> SafeString:
    """Render a person's initials; the colour only helps to tell people apart."""
    letters = "".join(part[0] for part in name.split()[:2]) if " " in name else name[:2]
    classes = f"wf-avatar wf-avatar--{sum(map(ord, name)) % AVATAR_COLOURS}" + (f" wf-avatar--{look}" if look else "")
    return format_html('<span class="{}" aria-hidden="true">{}</span>', classes, letters.upper())


@register.simple_tag
def status(word: str, instead: str = "") -> SafeString:
    """Render a status as a tag: word, colour, and an icon for incidents; another word may say more."""
    tone = TONE_OF_STATUS[word]
    mark = icon(ICON_OF_STATUS[word], "small") if word in ICON_OF_STATUS else ""
    classes = "wf-tag" + (f" wf-tag--{tone}" if tone else "")
    said = instead or WORD_OF_STATUS.get(word, word)
    return format_html('<span class="{}" data-status="{}">{}{}</span>', classes, word, mark, said)


@register.simple_tag
def hits(text: Any, words: Sequence[str], longest: int = 0) -> SafeString:
    """Write a text with the words that were searched for marked in it; of a long one the part around the first hit."""
    said = str(text)
    found = re.compile("|".join(re.escape(word) for word in words) or "(?!)", re.IGNORECASE)
    first = found.search(said)
    if longest and len(said) > longest:
        begin = max((first.start() if first else 0) - longest // 3, 0)
        said = ("… " if begin else "") + said[begin : begin + longest] + " …"
    parts, end = [], 0
    for hit in found.finditer(said):
        parts += [escape(said[end : hit.start()]), format_html('<mark class="wf-hit">{}</mark>', hit[0])]
        end = hit.end()
    return mark_safe("".join([*parts, escape(said[end:])]))  # nosec # noqa: S308  every part is escaped


@register.filter
def shown(value: Any) -> str:
    """Format a JSON value for people; the page escapes it."""
    return values.shown(value)


@register.filter
def first_name(name: str) -> str:
    """Return a person's name by their user name."""
    return name_of(name)


@register.filter
def said(text: str) -> str:
    """Return an author's text as its reader sees it: with dates and amounts in their way, with people's names."""
    return people_names.said(str(text))


@register.filter
def case_name(instance: Instance) -> str:
    """Return what a case is called: its title, else its reference, else its workflow."""
    return people_names.said(instance.title or "") or instance.reference or str(instance.template)


@register.filter
def holder(task: Task) -> str:
    """Name the person a task is assigned to, else the roles and people it is offered to."""
    if task.assignee:
        return task.assignee.display_name
    offered = [label(role) for role in task.effective_roles] + [name_of(name) for name in task.users]
    return ", ".join(offered) or _("Everyone")


@register.filter
def answer_title(task: Task) -> str:
    """Return the title of the chosen outcome."""
    chosen = task.outcome_named(task.outcome or "")
    return str(chosen["title"]) if chosen else step_names.outcome_text(task.outcome or "")


@register.filter
def outcome(name: str) -> str:
    """Return an outcome's name in words."""
    return step_names.outcome_text(name)


@register.filter
def label(key: str) -> str:
    """Return a key or a role's name in words."""
    return step_names.label_of(key)


@register.filter
def instead(errors: Any) -> str:
    """Return the one value that was meant, where a field's error names it."""
    found = [error.params["instead"] for error in errors.as_data() if error.params and "instead" in error.params]
    return str(found[0]) if found else ""


@register.filter
def named(found: Mapping[str, Any] | None, name: str) -> Any:
    """Return what has a name, such as a file."""
    return (found or {}).get(name)


@register.filter
def codes(errors: Any) -> str:
    """Return the codes of a field's errors, separated by spaces, for tests and programs."""
    return " ".join(error.code or "invalid" for error in errors.as_data())
