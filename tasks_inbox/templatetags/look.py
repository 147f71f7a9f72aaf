"""Draw the small parts of a page: icons, times, priorities, people, statuses."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from django import template
from django.template.loader import get_template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from engine.diagram import step_names
from engine.models import Task
from engine.presentation.forms import values
from engine.presentation.narrative.relative_times import due_words, exact_words, moment_words, span_words

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
    "running": gettext_lazy("Running"),
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
    """Draw an icon beside a word; it is hidden from readers, since the word says it."""
    classes = "wf-icon" + (f" wf-icon--{look}" if look else "")
    return format_html('<svg class="{}" viewBox="0 0 24 24" aria-hidden="true">{}</svg>', classes, shape(name))


@register.simple_tag
def moment(at: datetime | None) -> SafeString | str:
    """Say when, with the exact time in title and machine form."""
    return _time_tag(at, moment_words(at, timezone.now())) if at else ""


@register.simple_tag
def due(due_at: datetime | None, word: bool = False) -> SafeString | str:
    """Say when it is due: red with a mark when late, amber when soon; with the word before it where it stands alone."""
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
    """Say how long something took."""
    return span_words(length)


@register.simple_tag
def priority(name: str, word: bool = False) -> SafeString | str:
    """Draw the mark of a priority, its word shown or hidden."""
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
    """Draw a person's two letters; the colour is only a help to the eye."""
    letters = "".join(part[0] for part in name.split()[:2]) if " " in name else name[:2]
    classes = f"wf-avatar wf-avatar--{sum(map(ord, name)) % AVATAR_COLOURS}" + (f" wf-avatar--{look}" if look else "")
    return format_html('<span class="{}" aria-hidden="true">{}</span>', classes, letters.upper())


@register.simple_tag
def status(word: str) -> SafeString:
    """Draw a status as a tag: word, colour and for incidents an icon."""
    tone = TONE_OF_STATUS[word]
    mark = icon(ICON_OF_STATUS[word], "small") if word in ICON_OF_STATUS else ""
    classes = "wf-tag" + (f" wf-tag--{tone}" if tone else "")
    said = WORD_OF_STATUS.get(word, word)
    return format_html('<span class="{}" data-status="{}">{}{}</span>', classes, word, mark, said)


@register.filter
def shown(value: Any) -> str:
    """Write a JSON value as a person reads it; the page escapes it."""
    return values.shown(value)


@register.filter
def first_name(name: str) -> str:
    """Write a person's sign-in name as a name."""
    return name[:1].upper() + name[1:]


@register.filter
def answer_title(task: Task) -> str:
    """Write the chosen outcome as its button said it."""
    chosen = task.outcome_named(task.outcome or "")
    return str(chosen["title"]) if chosen else step_names.outcome_text(task.outcome or "")


@register.filter
def outcome(name: str) -> str:
    """Write an outcome's name as words."""
    return step_names.outcome_text(name)


@register.filter
def label(key: str) -> str:
    """Write a key or a role's name in words."""
    return step_names.label_of(key)


@register.filter
def codes(errors: Any) -> str:
    """Return the codes of a field's errors, parted by spaces: what tests and programs go by."""
    return " ".join(error.code or "invalid" for error in errors.as_data())
