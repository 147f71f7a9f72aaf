"""Say in one sentence where an instance stands: what it waits for, or how it ended."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from engine.diagram.step_names import label_of, outcome_text
from engine.models import Audit, Instance, Task, Wait
from engine.presentation.narrative.relative_times import moment_words, span_words
from engine.presentation.narrative.step_outline import Step


@dataclass(frozen=True, slots=True)
class Sentence:
    """The first thing an instance's page says, with its mark."""

    first: str
    more: str = ""
    tone: str = ""
    icon: str = "player-play"


def sentence_of(
    instance: Instance, waits: Iterable[Wait], tasks: Iterable[Task], steps: Mapping[str, Step], reader: UUID | None
) -> Sentence:
    """Say where an instance stands, to the person who reads."""
    said = STANDS.get(instance.status)
    if said:
        return said(instance)
    held = [wait for wait in waits if not wait.side]
    if not held:
        return Sentence(_("Goes on in a moment."), tone="accent", icon="refresh")
    first, *others = sorted(held, key=lambda wait: (wait.kind != "task", wait.due_at or wait.opened_at))
    words = _wait_sentence(first, list(tasks), steps, reader)
    more = _("It also waits for %(n)d more.") % {"n": len(others)} if others else ""
    return Sentence(words.first, f"{words.more} {more}".strip(), words.tone, words.icon)


def with_reason(sentence: Sentence, audit: Iterable[Audit]) -> Sentence:
    """Add who ended a case by hand, and why; `audit` is its own, newest first."""
    act = next((row for row in audit if row.action == "cancel_workflow" and row.reason), None)
    if act is None:
        return sentence
    return replace(
        sentence, more=_("%(name)s: “%(reason)s”") % {"name": act.actor_name.capitalize(), "reason": act.reason}
    )


def _wait_sentence(wait: Wait, tasks: list[Task], steps: Mapping[str, Step], reader: UUID | None) -> Sentence:
    step = steps[wait.step].name if wait.step in steps else label_of(wait.step)
    task = next((task for task in tasks if task.token == wait.token and not task.is_over), None)
    if task:
        return _task_sentence(task, reader)
    return WAITS[wait.kind](wait, step)


TASK_WAITS = {
    (True, True): gettext_lazy("Waits for you to answer “%(task)s”, claimed %(since)s."),
    (True, False): gettext_lazy("Waits for you to take “%(task)s”, since %(since)s."),
    (False, True): gettext_lazy("Waits for %(who)s to answer “%(task)s”, claimed %(since)s."),
    (False, False): gettext_lazy("Waits for %(who)s to take “%(task)s”, since %(since)s."),
}
"""What a task waits for: whether it is the reader's own, and whether it is claimed."""


def _task_sentence(task: Task, reader: UUID | None) -> Sentence:
    since = moment_words(task.claimed_at or task.created_at, timezone.now())
    is_own, is_claimed = task.assignee_id is not None and task.assignee_id == reader, task.status == "claimed"
    first = str(TASK_WAITS[is_own, is_claimed]) % {"task": task.title, "who": who_of(task), "since": since}
    more = _("Due %(when)s.") % {"when": moment_words(task.due_at, timezone.now())} if task.due_at else ""
    return Sentence(first, more, "accent", "user")


def who_of(task: Task) -> str:
    """Name whom a task waits for: its person, else those it is offered to."""
    if task.assignee:
        return task.assignee.display_name
    names = [label_of(role) for role in task.effective_roles] + [name.capitalize() for name in task.users]
    return _(" or ").join(names) if names else _("anybody")


def _timer(wait: Wait, step: str) -> Sentence:
    return Sentence(
        _("Waits until %(when)s (%(step)s).") % {"when": _when(wait.due_at), "step": step}, tone="accent", icon="clock"
    )


def _retry(wait: Wait, step: str) -> Sentence:
    first = _("“%(step)s” did not work and is tried again %(when)s.") % {"when": _when(wait.due_at), "step": step}
    return Sentence(first, _("Nobody needs to do anything."), "warning", "refresh")


def _call(wait: Wait, step: str) -> Sentence:
    return Sentence(
        _("Carries out “%(step)s” and waits for the answer.") % {"step": step}, tone="accent", icon="arrows-right-left"
    )


def _signal(wait: Wait, step: str) -> Sentence:
    return Sentence(
        _("Waits for the message “%(name)s” (%(step)s).") % {"name": wait.name, "step": step},
        tone="accent",
        icon="broadcast",
    )


def _child(wait: Wait, step: str) -> Sentence:
    return Sentence(
        _("Waits for the workflow that “%(step)s” started.") % {"step": step}, tone="accent", icon="subtask"
    )


def _add(wait: Wait, step: str) -> Sentence:
    return Sentence(_("Waits for more to come (%(step)s).") % {"step": step}, tone="accent", icon="broadcast")


def _task(wait: Wait, step: str) -> Sentence:
    """Say it without the task's row, which may have been closed a moment ago."""
    return Sentence(_("Waits for an answer to “%(step)s”.") % {"step": step}, tone="accent", icon="user")


WAITS: Mapping[str, Callable[[Wait, str], Sentence]] = {
    "timer": _timer,
    "retry": _retry,
    "call": _call,
    "signal": _signal,
    "child": _child,
    "add": _add,
    "task": _task,
}


def _when(at: datetime | None) -> str:
    return moment_words(at, timezone.now()) if at else _("soon")


def _ended(words: str, instance: Instance) -> str:
    at = instance.ended_at or instance.updated_at
    facts = {"when": moment_words(at, timezone.now()), "span": span_words(at - instance.started_at)}
    return words % facts


def _completed(instance: Instance) -> Sentence:
    more = _("Outcome: %(outcome)s.") % {"outcome": outcome_text(instance.outcome)} if instance.outcome else ""
    return Sentence(_ended(_("Completed %(when)s after %(span)s."), instance), more, "good", "circle-check")


def _failed(instance: Instance) -> Sentence:
    return Sentence(_ended(_("Failed %(when)s after %(span)s."), instance), _cause(instance), "danger", "circle-x")


def _expired(instance: Instance) -> Sentence:
    return Sentence(
        _ended(_("Its time ran out %(when)s after %(span)s."), instance), _cause(instance), "danger", "clock"
    )


def _cancelled(instance: Instance) -> Sentence:
    return Sentence(_ended(_("Cancelled %(when)s after %(span)s."), instance), _cause(instance), "", "ban")


def _incident(instance: Instance) -> Sentence:
    return Sentence(_("Stopped by an error and needs help."), _cause(instance), "danger", "alert-triangle")


def _queued(instance: Instance) -> Sentence:
    more = _("It starts by itself, first come first served.")
    return Sentence(_("Waits for a free place."), more, "warning", "hourglass")


def _suspended(instance: Instance) -> Sentence:
    return Sentence(_("Suspended. It goes on when somebody resumes it."), "", "warning", "player-stop")


def _cause(instance: Instance) -> str:
    error = instance.error if isinstance(instance.error, dict) else {}
    return str(error.get("message") or "")


STANDS: Mapping[str, Callable[[Instance], Sentence]] = {
    "completed": _completed,
    "failed": _failed,
    "expired": _expired,
    "cancelled": _cancelled,
    "incident": _incident,
    "queued": _queued,
    "suspended": _suspended,
}
