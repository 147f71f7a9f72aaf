"""What a message says, kind by kind, in the language and zone that are current: the same words over every channel."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from engine.diagram.step_names import label_of
from engine.kernel.transitions import TaskStatus
from engine.models import Instance, StepRun, Task
from engine.presentation.narrative import people_names
from engine.presentation.narrative.relative_times import SOON
from engine.presentation.narrative.step_outline import every_step, outline_of
from engine.services.notifications.audience import Item
from engine.services.notifications.mentions import names_in
from workflowplatform.accounts.models import User
from workflowplatform.i18n.dates import date_format

LONGEST_QUOTE = 280


@dataclass(frozen=True, slots=True)
class DueWords:
    """When something is due, as a sentence, and how loud: late, soon or calm."""

    text: str
    tone: str


@dataclass(frozen=True, slots=True)
class Words:
    """One message in words."""

    heading: str
    sentence: str
    button: str
    why: str
    quote: str = ""
    due: DueWords | None = None
    sender: str = ""
    """The person behind the news, if there is one."""


def message_words(item: Item) -> Words:
    """Return what a message about one thing says."""
    return SAID[item.kind](item)


def case_title(instance: Instance) -> str:
    """Return a case's title as its reader sees it: what its author writes, else its template's."""
    return people_names.said(instance.title or "") or str(instance.template)


def subject_of(instance: Instance) -> str:
    """Return the subject of every mail about a case: the same each time, so that they form one conversation."""
    title = case_title(instance)
    return f"{title} ({instance.reference})" if instance.reference else title


def page_path(item: Item) -> str:
    """Return the page to which a message leads."""
    if item.kind == "asked":
        return reverse("inbox:questions")
    if item.task is not None:
        return reverse("inbox:task", args=[item.task.pk])
    if item.instance is not None:
        return reverse("inbox:instance", args=[item.instance.pk])
    return reverse("inbox:mine")


def _who(name: str) -> str:
    """Return how people call a person: by the first of their names."""
    if name in ("", "engine"):
        return ""
    person = User.objects.filter(username=name).only("full_name", "username").first()
    return (person.display_name if person else name.capitalize()).split(" ")[0]


def due_words(due_at: datetime, now: datetime) -> DueWords:
    """Describe when a task is due, as a mail does: with the time of day, since it may be read later."""
    then, today = timezone.localtime(due_at), timezone.localtime(now)
    clock = date_format(then, "H:i")
    if due_at < now:
        since = clock if then.date() == today.date() else date_format(then, "j M, H:i")
        return DueWords(_("Late since %(since)s.") % {"since": since}, "late")
    if then.date() != today.date():
        return DueWords(_("Due on %(day)s at %(time)s.") % {"day": date_format(then, "D j M"), "time": clock}, "calm")
    if due_at - now < SOON:
        facts = {"time": clock, "length": in_words(due_at - now)}
        return DueWords(_("Due today at %(time)s, in %(length)s.") % facts, "soon")
    return DueWords(_("Due today at %(time)s.") % {"time": clock}, "calm")


def in_words(length: timedelta) -> str:
    """Describe a length in whole hours, or in minutes below one."""
    minutes = max(round(length.total_seconds() / 60), 1)
    if minutes < 60:
        return ngettext("%(n)d minute", "%(n)d minutes", minutes) % {"n": minutes}
    hours = round(minutes / 60)
    return ngettext("%(n)d hour", "%(n)d hours", hours) % {"n": hours}


def quoted(text: str) -> str:
    """Return what was said, shortened."""
    said = " ".join(text.split())
    return said if len(said) <= LONGEST_QUOTE else said[: LONGEST_QUOTE - 1].rstrip() + "…"


# Kinds

DECIDE = gettext_lazy("Open and decide")
SEE_CASE = gettext_lazy("See the case")


def _task_of(item: Item) -> Task:
    assert item.task is not None
    return item.task


def _title(item: Item) -> str:
    if item.task is not None:
        return people_names.said(item.task.title)
    return case_title(item.instance) if item.instance else ""


def _due(item: Item) -> DueWords | None:
    due_at = item.task.due_at if item.task else None
    return due_words(due_at, timezone.now()) if due_at else None


def _assigned(item: Item) -> Words:
    who = _who(item.row.actor_name)
    said = _("%(who)s assigned this to you.") % {"who": who} if who else _("This is assigned to you.")
    why = _("You get this because a task was assigned to you.")
    return Words(_title(item), said, str(DECIDE), why, due=_due(item), sender=who)


def _offered(item: Item) -> Words:
    roles = ", ".join(label_of(role) for role in _task_of(item).effective_roles)
    said = _("This is new for %(roles)s. Anyone there can take it.") % {"roles": roles} if roles else _("This is new.")
    why = _("You get this because a task was offered to you.")
    return Words(_title(item), said, str(DECIDE), why, due=_due(item))


def _mentioned(item: Item) -> Words:
    who = _who(item.row.actor_name) or _("Someone")
    why = _("You get this because you were mentioned.")
    said = _("%(who)s mentioned you:") % {"who": who}
    if not _is_named(item):
        why = _("You get this because you take part in this case.")
        said = _("%(who)s wrote to everyone on this case:") % {"who": who}
    return Words(_title(item), said, _("Read and reply"), why, quoted(item.row.text), sender=who)


def _is_named(item: Item) -> bool:
    """Return whether a comment names its receiver; one on the whole case is told to everyone who takes part."""
    person = item.row.person
    return person is None or person.username in names_in(item.row.text)


def _asked(item: Item) -> Words:
    who = _who(item.row.actor_name) or _("Someone")
    why = _("You get this because you were asked.")
    said = _("%(who)s asks you for information. The task waits for your answer.") % {"who": who}
    return Words(_title(item) or _("A question for you"), said, _("Answer"), why, quoted(item.row.text), sender=who)


def _answered(item: Item) -> Words:
    who = _who(item.row.actor_name) or _("Someone")
    why = _("You get this because you asked.")
    said = _("%(who)s answered your question. The task is yours to decide again.") % {"who": who}
    return Words(_title(item), said, str(DECIDE), why, quoted(item.row.text), due=_due(item), sender=who)


def _due_soon(item: Item) -> Words:
    due_at = _task_of(item).due_at
    why = _("You get this because a task of yours is due soon.")
    if due_at is None:
        return Words(_title(item), _("This is due soon."), str(DECIDE), why)
    facts = {"length": in_words(due_at - timezone.now()), "time": date_format(timezone.localtime(due_at), "H:i")}
    due = DueWords(_("Due in %(length)s, at %(time)s.") % facts, "soon")
    return Words(_title(item), "", str(DECIDE), why, due=due)


def _late(item: Item) -> Words:
    why = _("You get this because a task of yours is late.")
    said = _("Can’t do it today? Hand it over.")
    return Words(_title(item), said, _("Open"), why, due=_due(item))


def _decided(item: Item) -> Words:
    case = item.instance
    assert case is not None
    why = _("You get this because it is your request.")
    answers = case.tasks.filter(status=TaskStatus.COMPLETED).order_by("-completed_at", "-id")
    last = answers.exclude(completed_by_name="").first()
    if case.status == "cancelled":
        who = _who(item.row.actor_name) or _("Someone")
        return Words(
            case_title(case), _("%(who)s withdrew your request.") % {"who": who}, str(SEE_CASE), why, sender=who
        )
    if last is None:
        return Words(case_title(case), _("Your request is finished."), str(SEE_CASE), why)
    who = _who(last.completed_by_name)
    said = f"{_decision(case, last, who)} {_following(case)}".strip()
    return Words(case_title(case), said, str(SEE_CASE), why, quoted(last.comment), sender=who)


def _decision(case: Instance, last: Task, who: str) -> str:
    """Say what an answer means to the person who asked: rejected, approved, or its own words."""
    chosen = last.outcome_named(last.outcome or "") or {}
    facts = {"who": who, "answer": chosen.get("title", "")}
    if chosen.get("reject"):
        return _("%(who)s rejected your request. You can start again with the same data.") % facts
    if last.is_decision and chosen == next(one for one in last.outcomes if not one.get("reject")):
        return _("%(who)s approved your request.") % facts
    if not case.is_over:
        return _("%(who)s answered: %(answer)s.") % facts
    return _("Your request is finished. %(who)s answered last: %(answer)s.") % facts


def _following(case: Instance) -> str:
    """Name the steps that a case has come to; one that is over has none."""
    if case.is_over:
        return ""
    runs = StepRun.objects.filter(tenant_id=case.tenant_id, instance_id=case.pk).order_by("run", "attempt")
    here = [step.name for step in every_step(outline_of(case.version.canonical, runs)) if step.state == "here"]
    return _("Next: %(steps)s.") % {"steps": ", ".join(dict.fromkeys(here))} if here else ""


def _for_another(item: Item) -> Words:
    """Write to a deputy about one task of an absent person."""
    absent = _task_of(item).assignee
    who = absent.display_name.split(" ")[0] if absent else _("Someone")
    why = _("You get this because you stand in for someone.")
    said = _("%(who)s is away, and you stand in.") % {"who": who}
    return Words(_title(item), said, str(DECIDE), why, due=_due(item))


def _handed_over(item: Item) -> Words:
    """Write to a deputy about one task, or about how long they stand in.

    Then the text is `first day/last day/number of open tasks`, as engine.services.notifications.announcements writes it.
    """
    if item.task is not None:
        return _for_another(item)
    first, last, number = (*item.row.text.split("/"), "", "", "0")[:3]
    who = _who(item.row.actor_name) or _("Someone")
    count = int(number) if number.isdigit() else 0
    said = ngettext(
        "%(n)d open task is in your list, marked “for %(who)s”. What’s left goes back after %(last)s.",
        "%(n)d open tasks are in your list, marked “for %(who)s”. What’s left goes back after %(last)s.",
        count,
    ) % {"n": count, "who": who, "last": _day(last)}
    heading = _("You stand in for %(who)s, %(first)s to %(last)s") % {
        "who": who,
        "first": _day(first),
        "last": _day(last),
    }
    why = _("You get this because you stand in for someone.")
    return Words(heading, said, _("See them"), why, sender=who)


def _not_sent(item: Item) -> Words:
    """Write to a person that their answer was refused when it was to be sent; the text is the refusal."""
    why = _("You get this because you answered a task.")
    said = _("Your answer was not sent. What you typed is kept.")
    return Words(_title(item) or _("Your answer was not sent"), said, _("Open"), why, quoted(item.row.text))


def _day(text: str) -> str:
    try:
        return date_format(date.fromisoformat(text), "j M")
    except ValueError:
        return text


SAID: Mapping[str, Callable[[Item], Words]] = {
    "assigned": _assigned,
    "offered": _offered,
    "mentioned": _mentioned,
    "asked": _asked,
    "answered": _answered,
    "due_soon": _due_soon,
    "late": _late,
    "decided": _decided,
    "handed_over": _handed_over,
    "not_sent": _not_sent,
}

KIND_WORDS: Mapping[str, Any] = {
    "assigned": gettext_lazy("A task is assigned to me"),
    "offered": gettext_lazy("A task is offered to my role"),
    "mentioned": gettext_lazy("Someone mentions me"),
    "asked": gettext_lazy("Someone asks me for information"),
    "answered": gettext_lazy("My question is answered"),
    "due_soon": gettext_lazy("A task of mine is due soon"),
    "late": gettext_lazy("A task of mine is late"),
    "decided": gettext_lazy("My request is decided"),
    "handed_over": gettext_lazy("I stand in for someone"),
    "not_sent": gettext_lazy("An answer of mine was not sent"),
}
"""How the settings name each kind."""
