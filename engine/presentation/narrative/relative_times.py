"""Moments in the words people use, in the person's time zone.

Each function takes `now` and answers a value; the zone is the current one, which the middleware sets from the person.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from workflowplatform.i18n.dates import date_format

SOON = timedelta(hours=4)
WEEK = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Due:
    """When something is due, in words; `tone` is late, soon or calm."""

    words: str
    tone: str


def length_words(length: timedelta) -> str:
    """Describe a length in its largest unit, such as 40 min, 3 h or 2 d."""
    minutes = max(int(length.total_seconds() // 60), 1)
    if minutes < 60:
        return _("%(n)d min") % {"n": minutes}
    if minutes < 24 * 60:
        return _("%(n)d h") % {"n": minutes // 60}
    return _("%(n)d d") % {"n": minutes // (24 * 60)}


def span_words(length: timedelta) -> str:
    """Describe a duration in its two largest units."""
    seconds = int(length.total_seconds())
    if seconds < 60:
        return ngettext("%(n)d second", "%(n)d seconds", max(seconds, 1)) % {"n": max(seconds, 1)}
    days, rest = divmod(seconds, 86400)
    hours, minutes = rest // 3600, rest % 3600 // 60
    units = [(_("%(n)d d"), days), (_("%(n)d h"), hours), (_("%(n)d min"), minutes)]
    named = [text % {"n": n} for text, n in units]
    first = next(at for at, (_text, n) in enumerate(units) if n)
    return " ".join(
        word for word, (_text, n) in zip(named[first : first + 2], units[first : first + 2], strict=True) if n
    )


def due_words(due_at: datetime, now: datetime) -> Due:
    """Describe when something is due, and how urgent that is."""
    if due_at < now:
        return Due(_("%(length)s overdue") % {"length": length_words(now - due_at)}, "late")
    if due_at - now < SOON:
        return Due(_("in %(length)s") % {"length": length_words(due_at - now)}, "soon")
    return Due(_future_words(timezone.localtime(due_at), timezone.localtime(now)), "calm")


def last_day_words(at: datetime, now: datetime) -> str:
    """Describe the last day of an absence that has begun."""
    then, today = timezone.localtime(at), timezone.localtime(now)
    return _("today") if then.date() == today.date() else _future_words(then, today)


def _future_words(then: datetime, today: datetime) -> str:
    days = (then.date() - today.date()).days
    if days == 0:
        return _("today %(time)s") % {"time": date_format(then, "H:i")}
    if days == 1:
        return _("tomorrow")
    if days < WEEK.days:
        return date_format(then, "D")
    return _day_words(then, today)


def moment_words(at: datetime, now: datetime) -> str:
    """Describe a moment in the past or future, with its time of day."""
    then, today = timezone.localtime(at), timezone.localtime(now)
    clock = date_format(then, "H:i")
    days = (then.date() - today.date()).days
    if days == 0:
        return _("today %(time)s") % {"time": clock}
    if days == -1:
        return _("yesterday %(time)s") % {"time": clock}
    if days == 1:
        return _("tomorrow %(time)s") % {"time": clock}
    day = date_format(then, "D") if abs(days) < WEEK.days else _day_words(then, today)
    return f"{day} {clock}"


def _day_words(then: datetime, today: datetime) -> str:
    return date_format(then, "j M" if then.year == today.year else "j M Y")


def exact_words(at: datetime) -> str:
    """Describe a moment in full, for a title: weekday, date, time, zone."""
    return date_format(timezone.localtime(at), "l j F Y, H:i T")


def clock_words(at: datetime) -> str:
    """Describe a moment by its time of day, with the date where it is not today."""
    local, today = timezone.localtime(at), timezone.localtime()
    return date_format(local, "H:i" if local.date() == today.date() else "H:i, j M")
