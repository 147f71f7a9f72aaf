"""One message for many things: the daily digest, what quiet hours held back, many of a kind."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from engine import access
from engine.diagram.step_names import label_of
from engine.models import Notification, Task
from engine.presentation.narrative import people_names
from engine.services.notifications.audience import items_for
from engine.services.notifications.preferences import Preferences
from engine.services.notifications.sending import Message
from tasks_inbox.notices.words import case_title, message_words, page_path
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.models import User
from workflowplatform.http.public_links import public_address
from workflowplatform.i18n.dates import date_format
from workflowplatform.mail_texts import Link

MOST_LINES = 6
MOST_COUNTED = 100
ABOUT_TASKS = frozenset({"assigned", "offered", "due_soon", "late", "handed_over"})
MONDAY = 0


@dataclass(frozen=True, slots=True)
class Line:
    """One task or message in a digest."""

    title: str
    below: str
    when: str
    tone: str
    url: Link


@dataclass(frozen=True, slots=True)
class Section:
    """Lines under a heading, and how many more there are."""

    name: str
    title: str
    lines: tuple[Line, ...]
    more: int = 0

    @property
    def count(self) -> int:
        return len(self.lines) + self.more


@dataclass(frozen=True, slots=True)
class Digest:
    """A message about many things, in words."""

    subject: str
    heading: str
    sentence: str
    sections: tuple[Section, ...]
    button: str
    path: str
    why: str


def digest_for(actor: Actor, person: User, message: Message, wishes: Preferences) -> Digest | None:
    """Write a digest of what is there now, or None where that is nothing."""
    if message.style == "digest":
        return _daily(actor, person, message, wishes)
    return _many(actor, message)


def _many(actor: Actor, message: Message) -> Digest | None:
    """Write what came at once: the first few by name, the others as a number."""
    seen = _still_seen(actor, message)
    found = items_for(actor, seen[:MOST_LINES])
    if not found:
        return None
    lines = tuple(_news_line(item) for item in found)
    number = len(lines) + max(len(seen) - MOST_LINES, 0)
    if all(_is_about_task(row) for row in seen):
        subject = ngettext("%(n)d task for you", "%(n)d tasks for you", number) % {"n": number}
        sentence = _("They came within a short time, so this is one message.")
    else:
        subject = ngettext("%(n)d message for you", "%(n)d messages for you", number) % {"n": number}
        sentence = _("They came within a short time or in your quiet hours, so this is one message.")
    section = Section("news", _("New for you"), lines, number - len(lines))
    path = _list_path(available=all(row.kind == "offered" for row in seen))
    why = _("You get this because of your settings.")
    return Digest(subject, subject, sentence, (section,), _("Open my tasks"), path, why)


def _list_path(*, available: bool) -> str:
    return reverse("inbox:mine") + ("?view=available" if available else "")


def _still_seen(actor: Actor, message: Message) -> list[Any]:
    """Leave out what is about tasks that the actor does not see any more, with one query however many there are."""
    asked = [row.task_id for row in message.rows if row.task_id]
    open_ones = set(access.visible_tasks(actor).open().filter(pk__in=asked).values_list("pk", flat=True))
    return [row for row in message.rows if not _is_about_task(row) or row.task_id in open_ones]


def _is_about_task(row: Notification) -> bool:
    """Return whether a message is only about a task, which lists show by themselves."""
    return row.kind in ABOUT_TASKS and row.task_id is not None


def _news_line(item: Any) -> Line:
    words = message_words(item)
    said = f"{words.sentence} “{words.quote}”" if words.quote else words.sentence
    below = " · ".join(part for part in (_reference(item.task) if item.task else "", said) if part)
    due = words.due
    return Line(
        words.heading,
        below,
        due.text if due else "",
        due.tone if due else "calm",
        Link(public_address(page_path(item))),
    )


# The daily digest


def _daily(actor: Actor, person: User, message: Message, wishes: Preferences) -> Digest | None:
    now = timezone.now()
    today = timezone.localtime(now)
    night = (today + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    own = access.tasks_mine(actor)
    sections = [
        _tasks("late", _("Late"), own.filter(due_at__lt=now), now),
        _tasks("today", _("Due today"), own.filter(due_at__gte=now, due_at__lt=night), now),
        _tasks("new", _new_title(actor), _fresh(actor, wishes, now), now),
        _other_news(actor, message),
    ]
    shown = tuple(section for section in sections if section.count)
    if not shown:
        return None
    number = own.count()
    said = ngettext("You have %(n)d task.", "You have %(n)d tasks.", number) % {"n": number}
    if sections[0].count:
        said += " " + ngettext("Start with the late one.", "Start with the late ones.", sections[0].count)
    why = _("You get this every day at %(time)s.") % {"time": date_format(wishes.digest_at, "H:i")}
    if wishes.quiet_weekend:
        why = _("You get this every working day at %(time)s.") % {"time": date_format(wishes.digest_at, "H:i")}
    path = _list_path(available=not number and bool(sections[2].count))
    heading = _greeting(today) % {"name": person.display_name.split(" ")[0]}
    return Digest(_subject(today, shown, actor), heading, said, shown, _("Open my tasks"), path, why)


def _greeting(now: datetime) -> str:
    if now.hour < 12:
        return _("Good morning, %(name)s")
    return _("Good afternoon, %(name)s") if now.hour < 18 else _("Good evening, %(name)s")


def _fresh(actor: Actor, wishes: Preferences, now: datetime) -> Any:
    """Return the tasks that came since the digest before: a day ago, or before the weekend."""
    local = now.astimezone(wishes.zone)
    days = 3 if wishes.quiet_weekend and local.weekday() == MONDAY else 1
    return access.tasks_available(actor).filter(created_at__gt=now - timedelta(days=days))


def _role_words(actor: Actor) -> str:
    return ", ".join(label_of(role.name, {"title": role.title}) for role in _roles(actor))


def _roles(actor: Actor) -> Iterable[Any]:
    return access.visible_roles(actor).filter(pk__in=actor.roles)


def _new_title(actor: Actor) -> str:
    roles = _role_words(actor)
    return _("New for %(roles)s, anyone can take them") % {"roles": roles} if roles else _("New, anyone can take them")


def _subject(today: datetime, sections: Sequence[Section], actor: Actor) -> str:
    roles = _role_words(actor)
    forms = {"late": _("%(n)d late"), "today": _("%(n)d due today"), "other": _("%(n)d more")}
    forms["new"] = _("%(n)d new for %(roles)s") if roles else _("%(n)d new")
    said = ", ".join(forms[section.name] % {"n": section.count, "roles": roles} for section in sections)
    return f"{date_format(today, 'D j M')}: {said}"


def _tasks(name: str, title: str, tasks: Any, now: datetime) -> Section:
    some = list(tasks[: MOST_LINES + 1])
    more = max(tasks.order_by()[:MOST_COUNTED].count() - MOST_LINES, 0) if len(some) > MOST_LINES else 0
    return Section(name, title, tuple(_task_line(task, now) for task in some[:MOST_LINES]), more)


def _task_line(task: Task, now: datetime) -> Line:
    when, tone = _when(task, now)
    return Line(
        people_names.said(task.title),
        " · ".join(part for part in (_reference(task), case_title(task.instance)) if part),
        when,
        tone,
        Link(public_address(reverse("inbox:task", args=[task.pk]))),
    )


def _reference(task: Task) -> str:
    return task.business_reference or ""


def _when(task: Task, now: datetime) -> tuple[str, str]:
    if task.due_at is None:
        return "", "calm"
    then, today = timezone.localtime(task.due_at), timezone.localtime(now)
    clock = date_format(then, "H:i")
    if task.due_at < now:
        since = clock if then.date() == today.date() else date_format(then, "j M")
        return _("since %(when)s") % {"when": since}, "late"
    if then.date() == today.date():
        return clock, "soon" if task.due_at - now < timedelta(hours=4) else "calm"
    if then.date() == today.date() + timedelta(days=1):
        return _("tomorrow"), "calm"
    return date_format(then, "D" if then.date() - today.date() < timedelta(days=7) else "j M"), "calm"


def _other_news(actor: Actor, message: Message) -> Section:
    """List what is not about tasks that are there anyway: mentions, questions, decisions."""
    rows = [
        row for row in message.rows if row.kind not in ABOUT_TASKS or (row.kind == "handed_over" and not row.task_id)
    ]
    lines = tuple(_news_line(item) for item in items_for(actor, rows[:MOST_LINES]))
    return Section("other", _("What else happened"), lines, max(len(rows) - MOST_LINES, 0) if lines else 0)
