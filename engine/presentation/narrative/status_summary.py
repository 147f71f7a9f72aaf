"""Describe in one sentence what an instance waits for, or how it ended."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from engine.diagram.step_names import label_of, outcome_text, turns_down
from engine.models import Audit, Instance, Task, Wait
from engine.presentation.narrative.decisions import rejection_of
from engine.presentation.narrative.people_names import name_of, said
from engine.presentation.narrative.relative_times import moment_words, span_words
from engine.presentation.narrative.step_outline import Step


@dataclass(frozen=True, slots=True)
class StatusSummary:
    """The first thing an instance's page says, with its mark."""

    first: str
    more: str = ""
    tone: str = ""
    icon: str = "player-play"
    word: str = ""
    """The status in a word, where another than its own says more."""


def summary_of(
    instance: Instance, waits: Iterable[Wait], tasks: Iterable[Task], steps: Mapping[str, Step], reader: UUID | None
) -> StatusSummary:
    """Describe what an instance waits for or how it ended, addressed to the reader."""
    said = SUMMARIES.get(instance.status)
    if said:
        return said(instance, tasks)
    held = in_order(waits)
    if not held:
        return StatusSummary(_("Continues in a moment."), tone="accent", icon="refresh")
    first, *others = held
    task = task_at(first, tasks)
    is_own = reader is not None and instance.started_by_id == reader
    words = _task_sentence(task, reader, is_own) if task else WAITS[first.kind](first, _name_of_step(first, steps))
    more = _("It is also waiting for %(n)d more.") % {"n": len(others)} if others else ""
    return StatusSummary(words.first, f"{words.more} {more}".strip(), words.tone, words.icon)


def in_order(waits: Iterable[Wait]) -> list[Wait]:
    """Put what a case waits for in the order of telling: people first."""
    held = [wait for wait in waits if not wait.side]
    return sorted(held, key=lambda wait: (wait.kind != "task", wait.due_at or wait.opened_at))


def task_at(wait: Wait, tasks: Iterable[Task]) -> Task | None:
    """Return the open task of a wait."""
    return next((task for task in tasks if task.token == wait.token and not task.is_over), None)


def with_reason(sentence: StatusSummary, instance: Instance, audit: Iterable[Audit]) -> StatusSummary:
    """Add who ended a case by hand, and why; `audit` is its own, newest first."""
    act = next((row for row in audit if row.action == "cancel_workflow" and row.reason), None)
    if act is None:
        return sentence
    if act.actor_id is not None and act.actor_id == instance.started_by_id:
        sentence = withdrawn(instance)
    return replace(sentence, more=_("%(name)s: “%(reason)s”") % {"name": name_of(act.actor_name), "reason": act.reason})


def withdrawn(instance: Instance) -> StatusSummary:
    """Say that the person who asked for it withdrew a case."""
    return StatusSummary(_ended(_("Withdrawn %(when)s after %(span)s."), instance), icon="ban", word=_("Withdrawn"))


def _name_of_step(wait: Wait, steps: Mapping[str, Step]) -> str:
    return steps[wait.step].name if wait.step in steps else label_of(wait.step)


TASK_WAITS = {
    (True, True): gettext_lazy("Waiting for you to answer “%(task)s”, claimed %(since)s."),
    (True, False): gettext_lazy("Waiting for you to claim “%(task)s”, since %(since)s."),
    (False, True): gettext_lazy("Waiting for %(who)s to answer “%(task)s”, claimed %(since)s."),
    (False, False): gettext_lazy("Waiting for %(who)s to claim “%(task)s”, since %(since)s."),
}
"""What a task waits for: whether it is the reader's own, and whether it is claimed."""


AT_WORK = {
    True: gettext_lazy("%(who)s is deciding, since %(since)s."),
    False: gettext_lazy("%(who)s is working on “%(task)s”, since %(since)s."),
}
"""What a person does for the starter of a case: whether it is a decision."""


def _task_sentence(task: Task, reader: UUID | None, for_starter: bool = False) -> StatusSummary:
    since = moment_words(task.claimed_at or task.created_at, timezone.now())
    is_own, is_claimed = task.assignee_id is not None and task.assignee_id == reader, task.status == "claimed"
    words, who = TASK_WAITS[is_own, is_claimed], who_of(task)
    if for_starter and is_claimed and not is_own:
        words, who = AT_WORK[task.is_decision], _person_in_role(task)
    first = str(words) % {"task": said(task.title), "who": who, "since": since}
    more = _("Due %(when)s.") % {"when": moment_words(task.due_at, timezone.now())} if task.due_at else ""
    return StatusSummary(first, more, "accent", "user")


def who_of(task: Task) -> str:
    """Name whom a task waits for: its person, else those it is offered to."""
    if task.assignee:
        return task.assignee.display_name
    names = [label_of(role) for role in task.effective_roles] + [name_of(name) for name in task.users]
    return _(" or ").join(names) if names else _("anyone")


def _person_in_role(task: Task) -> str:
    """Name who has a task, with the role for which they do it where there is just one."""
    roles = task.effective_roles
    if len(roles) != 1:
        return who_of(task)
    return _("%(name)s in %(role)s") % {"name": who_of(task), "role": label_of(roles[0])}


def _timer(wait: Wait, step: str) -> StatusSummary:
    return StatusSummary(
        _("Waiting until %(when)s (%(step)s).") % {"when": _when(wait.due_at), "step": step},
        tone="accent",
        icon="clock",
    )


def _retry(wait: Wait, step: str) -> StatusSummary:
    first = _("“%(step)s” failed and will be retried %(when)s.") % {"when": _when(wait.due_at), "step": step}
    return StatusSummary(first, _("Nobody needs to do anything."), "warning", "refresh")


def _call(wait: Wait, step: str) -> StatusSummary:
    return StatusSummary(
        _("Waiting for a response to “%(step)s”.") % {"step": step}, tone="accent", icon="arrows-right-left"
    )


def _signal(wait: Wait, step: str) -> StatusSummary:
    return StatusSummary(
        _("Waiting for the message “%(name)s” (%(step)s).") % {"name": wait.name, "step": step},
        tone="accent",
        icon="broadcast",
    )


def _child(wait: Wait, step: str) -> StatusSummary:
    return StatusSummary(
        _("Waiting for the workflow that “%(step)s” started.") % {"step": step}, tone="accent", icon="subtask"
    )


def _add(wait: Wait, step: str) -> StatusSummary:
    return StatusSummary(_("Waiting for more items (%(step)s).") % {"step": step}, tone="accent", icon="broadcast")


def _task(wait: Wait, step: str) -> StatusSummary:
    """Describe it without the task's row, which may have been closed a moment ago."""
    return StatusSummary(_("Waiting for an answer to “%(step)s”.") % {"step": step}, tone="accent", icon="user")


WAITS: Mapping[str, Callable[[Wait, str], StatusSummary]] = {
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


def _completed(instance: Instance, tasks: Iterable[Task]) -> StatusSummary:
    ended, rejected = _ended(_("Completed %(when)s after %(span)s."), instance), rejection_of(instance, tasks)
    if rejected is None:
        more = _("Answer: %(answer)s.") % {"answer": outcome_text(instance.outcome)} if instance.outcome else ""
        mark = ("danger", "circle-x") if turns_down(instance.outcome) else ("good", "circle-check")
        return StatusSummary(ended, more, *mark)
    words = _("Rejected by %(who)s: “%(comment)s”") if rejected.comment else _("Rejected by %(who)s.")
    facts = {"who": name_of(rejected.completed_by_name), "comment": rejected.comment}
    return StatusSummary(words % facts, ended, "danger", "circle-x")


def _failed(instance: Instance, _tasks: Iterable[Task]) -> StatusSummary:
    return StatusSummary(_ended(_("Failed %(when)s after %(span)s."), instance), _cause(instance), "danger", "circle-x")


def _expired(instance: Instance, _tasks: Iterable[Task]) -> StatusSummary:
    return StatusSummary(_ended(_("Expired %(when)s after %(span)s."), instance), _cause(instance), "danger", "clock")


def _cancelled(instance: Instance, _tasks: Iterable[Task]) -> StatusSummary:
    return StatusSummary(_ended(_("Cancelled %(when)s after %(span)s."), instance), _cause(instance), "", "ban")


def _incident(instance: Instance, _tasks: Iterable[Task]) -> StatusSummary:
    return StatusSummary(_("Stopped by an error. Needs attention."), _cause(instance), "danger", "alert-triangle")


def _queued(instance: Instance, _tasks: Iterable[Task]) -> StatusSummary:
    more = _("Starts automatically.")
    return StatusSummary(_("In the queue."), more, "warning", "hourglass")


def _suspended(instance: Instance, _tasks: Iterable[Task]) -> StatusSummary:
    return StatusSummary(_("Suspended until someone resumes it."), "", "warning", "player-stop")


def _cause(instance: Instance) -> str:
    error = instance.error if isinstance(instance.error, dict) else {}
    return str(error.get("message") or "")


SUMMARIES: Mapping[str, Callable[[Instance, Iterable[Task]], StatusSummary]] = {
    "completed": _completed,
    "failed": _failed,
    "expired": _expired,
    "cancelled": _cancelled,
    "incident": _incident,
    "queued": _queued,
    "suspended": _suspended,
}
