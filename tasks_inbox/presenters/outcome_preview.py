"""Describe what follows from each answer to a task, and what time will bring."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from engine.diagram.step_names import LOOKS, Look, label_of, outcome_text
from engine.models import Task
from engine.presentation.narrative.step_outline import Step, steps_by_path
from engine.services.tasks.outcome_preview import Ahead, AtTime

MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Next:
    """One step that follows, as the page shows it."""

    name: str
    look: Look
    who: str = ""


@dataclass(frozen=True, slots=True)
class Way:
    """What one outcome leads to."""

    outcome: str
    reject: bool
    steps: tuple[Next, ...] = ()
    words: str = ""
    """In place of steps, where there is none or none is known."""


@dataclass(frozen=True, slots=True)
class Coming:
    """What time will bring, if nobody acts before."""

    at: datetime
    words: str


def ways_of(task: Task, ahead: Mapping[str, Ahead], steps: Iterable[Step]) -> list[Way]:
    """Describe for each outcome what it leads to."""
    known = steps_by_path(steps)
    found = [(outcome, ahead[outcome["name"]]) for outcome in task.outcomes if outcome["name"] in ahead]
    return [
        Way(outcome["title"], bool(outcome.get("reject")), _steps(after, known), _words(after))
        for outcome, after in found
    ]


def _steps(ahead: Ahead, known: Mapping[str, Step]) -> tuple[Next, ...]:
    who = ahead.who or {}
    steps = [(path, known[path]) for path in ahead.steps if path in known]
    found = [Next(step.name, step.look, _people(who.get(path, ""))) for path, step in steps[:MOST_NAMED]]
    ended = ahead.status == "completed" and not any(step.kind == "complete" for _path, step in steps)
    return (*found, Next(_("Completed"), LOOKS["complete"])) if ended else tuple(found)


def _people(names: str) -> str:
    return ", ".join(label_of(name) for name in names.split(", ")) if names else ""


def _words(ahead: Ahead) -> str:
    if not ahead.known:
        return _("depends on what you fill in")
    if ahead.stays:
        return _("waits for the other answers")
    return "" if ahead.steps or ahead.ends else _("continues")


def sentences_of(ways: Sequence[Way]) -> list[str]:
    """Describe what comes next, one sentence per outcome."""
    return [_("%(outcome)s: %(steps)s.") % {"outcome": way.outcome, "steps": _told(way)} for way in ways]


def _told(way: Way) -> str:
    named = [f"{step.name} ({step.who})" if step.who else step.name for step in way.steps]
    return _(", then ").join(named) or way.words


def coming_of(timers: Iterable[AtTime], steps: Iterable[Step]) -> list[Coming]:
    """Describe what each timer will do."""
    known = steps_by_path(steps)
    told = [Coming(timer.at, _brings(timer.ahead, known)) for timer in timers]
    return [one for one in told if one.words]


def _brings(ahead: Ahead, known: Mapping[str, Step]) -> str:
    said = [*_changes(ahead), *_emails(ahead)]
    if not ahead.stays and ahead.known:
        said.append(_("the time is up"))
    next_steps = [step.name for step in _steps(ahead, known)]
    if next_steps:
        said.append(_("continues with %(steps)s") % {"steps": ", ".join(next_steps)})
    if ahead.outcome and not ahead.stays:
        said.append(_("ends as %(outcome)s") % {"outcome": outcome_text(ahead.outcome)})
    return ", ".join(said)


def _changes(ahead: Ahead) -> list[str]:
    change = ahead.change
    if change is None:
        return []
    said = [_("priority becomes %(name)s") % {"name": change.priority}] if change.priority else []
    asked = [label_of(name) for name in (*change.roles, *change.users)]
    said += [_("also offered to %(names)s") % {"names": ", ".join(asked)}] if asked else []
    said += [_("assigned to %(name)s") % {"name": label_of(change.assignee)}] if change.assignee else []
    return said + ([_("SLA ends")] if change.late else [])


def _emails(ahead: Ahead) -> list[str]:
    if ahead.emails is None:
        return []
    to = [label_of(name) if "@" not in name else name for name in ahead.emails.to]
    return [_("e-mail to %(names)s") % {"names": ", ".join(to)} if to else _("e-mail to the people it is waiting for")]
