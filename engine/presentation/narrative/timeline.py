"""Timeline of an instance (from the audit) or of a task (from its events), newest first.

What only the machine does on its way (a step begins, a branch is taken) is left out of the short form and kept in the
whole one.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from engine.diagram.step_names import label_of, outcome_text
from engine.kernel.errors import ErrorClass
from engine.kernel.signals import Json
from engine.models import Audit, Task, TaskComment, TaskEvent
from engine.presentation.forms.values import NOTHING, shown, shown_as
from engine.presentation.narrative.audit_messages import (
    INSTANCE_MESSAGES,
    OPERATOR_MESSAGES,
    TASK_MESSAGES,
    AuditMessage,
)
from engine.presentation.narrative.step_outline import Step
from engine.presentation.narrative.task_changes import Diff, changes_of

ENGINE = frozenset({"", "engine"})
SHORT = 50
COMMENTED = frozenset({"task_commented", "comment_workflow"})
NO_SCHEMA: Mapping[str, Any] = {}
WHOLE = 500


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a timeline. `who` is empty for the engine; `what` continues the sentence after the name."""

    at: datetime
    who: str
    what: str
    note: str = ""
    comment: str = ""
    diffs: tuple[Diff, ...] = ()
    tone: str = ""
    icon: str = "player-play"
    act: str = ""
    """What was done, as the audit names it."""


def of_instance(
    audit: Iterable[Audit],
    steps: Mapping[str, Step],
    tasks: Iterable[Task],
    *,
    whole: bool,
    comments: Iterable[TaskComment] | None = None,
    asked: Mapping[str, Any] | None = None,
) -> list[Entry]:
    """Return the entries of an instance's audit, newest first as it is given; a claim for an answer is part of its entry.

    `comments` take the place of the acts that wrote them; `asked` is the schema by which values are named.
    """
    done = {(task.step, task.completed_at): task for task in tasks if task.completed_at}
    told = [row for row in audit if whole or (_matters(row, steps) and not _is_claim_of_answer(row, done))]
    if comments is not None:
        told = [row for row in told if row.action not in COMMENTED]
    entries = [_entry(row, steps, _answered(row, done), whole, asked or {}) for row in told]
    said = [_comment_entry(comment) for comment in comments or ()]
    return sorted(entries + said, key=lambda entry: entry.at, reverse=True) if said else entries


def _comment_entry(comment: TaskComment) -> Entry:
    message = OPERATOR_MESSAGES["comment_workflow"] if comment.task_id is None else TASK_MESSAGES["commented"]
    return Entry(
        at=comment.at,
        who=comment.author_name,
        what=str(OPERATOR_MESSAGES["comment_workflow"].by_person),
        comment=comment.text,
        icon=message.icon,
        act="comment_workflow" if comment.task_id is None else "task_commented",
    )


def _is_claim_of_answer(row: Audit, done: Mapping[tuple[str, datetime], Task]) -> bool:
    return row.action == "task_claimed" and (row.step or "", row.at) in done


def _answered(row: Audit, done: Mapping[tuple[str, datetime], Task]) -> Task | None:
    """Find the task whose answer an act is; a claim in the same instant is none."""
    return done.get((row.step or "", row.at)) if row.action == "task_completed" else None


def _matters(row: Audit, steps: Mapping[str, Step]) -> bool:
    message, step = _message_of(row.action), steps.get(row.step or "")
    if row.action == "fail_step":  # what holds a failed step fails with it, and `fail` only says how the case ends
        return step is None or not (step.branches or step.kind == "fail")
    if row.action == "cancel_step":  # so it is with what is withdrawn; of a task its own act is told
        return step is None or not (step.branches or step.kind == "task")
    if message is None or message.always:
        return True
    if row.action == "complete_step":
        return bool(row.new or row.old) or (step is not None and step.kind in {"call", "wait", "signal", "workflow"})
    return row.action == "skip_step" and bool(row.reason)


def _entry(
    row: Audit, steps: Mapping[str, Step], task: Task | None, whole: bool, asked: Mapping[str, Any] = NO_SCHEMA
) -> Entry:
    message = _message_of(row.action) or _unknown(row.action)
    step = steps.get(row.step or "")
    name = step.name if step else label_of(row.step or "")
    who = "" if row.actor_name in ENGINE or _is_machine(row.action) else row.actor_name
    return Entry(
        at=row.at,
        who=who,
        what=_completed_words(task, row, name, who)
        or str(message.by_person if who else message.by_engine) % {"step": name},
        note=_in_words(_note(row)) if whole or row.action != "skip_step" else "",
        comment=task.comment if task and row.action == "task_completed" else "",
        diffs=_diffs(row, _schema_of(task, asked)),
        tone=message.tone,
        icon=message.icon,
        act=row.action,
    )


def _message_of(action: str) -> AuditMessage | None:
    return INSTANCE_MESSAGES.get(action) or OPERATOR_MESSAGES.get(action)


def has_message(action: str) -> bool:
    """Return whether the timeline of an instance has a text for an action."""
    return _message_of(action) is not None


def _unknown(action: str) -> AuditMessage:
    words = action.replace("_", " ").replace("%", "%%")
    return AuditMessage(words, words.capitalize(), "info-circle")


def _is_machine(action: str) -> bool:
    """Return whether the engine does this by itself within a person's request: no name is shown then."""
    return action.endswith("_step") or action in {
        "task_created",
        "task_cancelled",
        "task_expired",
        "complete_workflow",
        "fail_workflow",
        "expire_workflow",
        "raise_incident",
        "refuse_start",
    }


def of_act(row: Audit) -> Entry:
    """Return the entry of one act by itself, without the definition it belongs to."""
    return _entry(row, {}, None, whole=True)


def _completed_words(task: Task | None, row: Audit | None, step: str, who: str) -> str:
    outcome = _outcome(task, row)
    if not outcome or not who:
        return ""
    return _("answered %(step)s: %(outcome)s") % {"step": step, "outcome": outcome}


def _outcome(task: Task | None, row: Audit | None) -> str:
    """Name the outcome of an answer: by its title where the task is at hand."""
    if task is not None and task.outcome is not None:
        chosen = task.outcome_named(task.outcome)
        return str(chosen["title"] if chosen else task.outcome)
    if row is not None and row.action in ("task_completed", "task_answered") and isinstance(row.new, dict):
        return outcome_text(str(row.new.get("outcome") or ""))
    return ""


def _note(row: Audit) -> str:
    if isinstance(row.new, dict) and isinstance(message := row.new.get("message"), str):
        return message
    if row.action.endswith("_workflow") and isinstance(row.new, dict) and row.new.get("outcome"):
        return _("Answer: %(answer)s") % {"answer": outcome_text(str(row.new["outcome"]))}
    return row.reason


def _schema_of(task: Task | None, asked: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema of each value that an act may name: the task's form first, then what the start asked for."""
    return {**asked, **((task.form or {}).get("properties") or {})} if task else asked


def _diffs(row: Audit, asked: Mapping[str, Any]) -> tuple[Diff, ...]:
    """Return the values that an act changed: a step's writes, an answer's values."""
    if row.action == "complete_step":
        return _state_diffs(row.old, row.new, asked)
    if row.action == "task_completed":
        return _state_diffs(None, row.new.get("values"), asked) if isinstance(row.new, dict) else ()
    return changes_of(row.old, row.new) if row.action in CHANGING else ()


def _state_diffs(old: Json, new: Json, asked: Mapping[str, Any]) -> tuple[Diff, ...]:
    if not isinstance(new, dict) or "message" in new:
        return ()
    before = old if isinstance(old, dict) else {}
    changed = ((key, before.get(key), value) for key, value in new.items() if key not in before or before[key] != value)
    return tuple(
        Diff(label_of(key, asked.get(key)), _old(earlier), shown_as(value, asked.get(key)))
        for key, earlier, value in changed
    )


def _old(value: Json) -> str:
    text = shown(value)
    return "" if text == NOTHING else text


CAUSES: Mapping[str, Any] = {
    "round_robin": gettext_lazy("Assigned in turn."),
    "random": gettext_lazy("Assigned at random."),
    "most_experienced": gettext_lazy("Assigned to the person who did most of these in the last 90 days."),
    "manager_of": gettext_lazy("Assigned to the manager of the person who started it."),
    "no_manager": gettext_lazy("The person who started it has no manager who may do this."),
    "least_loaded": gettext_lazy("Assigned to the person with the fewest tasks."),
    "remind": "",
    "withdrawn": "",
    "escalate": gettext_lazy("Escalated."),
    "held back: enabled": gettext_lazy("Its condition is not met yet."),
    "held back: mutex": gettext_lazy("Another step has to end first."),
    "held back: throttle": gettext_lazy("Too many of these run at once."),
    "held back: rate_limit": gettext_lazy("Too many of these ran lately."),
    "cancelled": "",
    "cancelled before it began": gettext_lazy("It had not begun."),
    "what it needs did not come about": gettext_lazy("What it needs did not come about."),
    "enabled_while became false": gettext_lazy("Its condition is no longer met."),
}
"""What the engine notes as a cause, in words."""

FAILURES: Mapping[str, Any] = {
    "timeout/no_answer": gettext_lazy("There was no answer in time."),
    "transport/no_answer": gettext_lazy("The other side could not be reached."),
    "transport/bad_answer": gettext_lazy("The answer could not be read."),
    "transport/exception": gettext_lazy("The function broke off."),
    "authorization/address_refused": gettext_lazy("This address may not be called from here."),
    "definition/bad_request": gettext_lazy("What was to be sent is not valid."),
    "definition": gettext_lazy("The workflow has a mistake at this step. Its author has to fix it."),
    "expression": gettext_lazy("A value could not be computed."),
    "transport": gettext_lazy("The other side is not able to answer now."),
    "timeout": gettext_lazy("It took too long."),
    "authorization": gettext_lazy("It was not allowed."),
    "consistency": gettext_lazy("Something else changed the same at that moment."),
    "business": gettext_lazy("The other side refused it."),
}
"""Why a step is tried again: by class and code, else by class alone."""
FAILURE = re.compile(rf"({'|'.join(ErrorClass)})/\S+")
CONDITION = re.compile(r"when: (.+) was false", re.DOTALL)


def _in_words(noted: str) -> str:
    """Return what the engine notes as a cause or as an error, in words; what people write stays as it is."""
    failure, condition = FAILURE.fullmatch(noted), CONDITION.fullmatch(noted)
    if failure is not None:
        return str(FAILURES.get(noted, FAILURES[failure[1]]))
    if condition is not None:
        return _("Its condition was not met: %(condition)s") % {"condition": condition[1]}
    return str(CAUSES.get(noted, noted))


CHANGING = frozenset(
    (
        "task_assigned",
        "task_reassigned",
        "task_released",
        "task_escalated",
        "task_attached",
        "task_detached",
        "task_snoozed",
        "attach_file",
    )
)
"""Acts that tell what they changed of a task or a case."""


def of_task(events: Iterable[TaskEvent], task: Task) -> list[Entry]:
    """Return the entries of a task's events, newest first as they are given; a claim for an answer is part of its entry."""
    told = list(events)
    ends = {event.at for event in told if event.kind == "completed"}
    return [_event_entry(event, task) for event in told if event.kind != "claimed" or event.at not in ends]


def _event_entry(event: TaskEvent, task: Task) -> Entry:
    message = TASK_MESSAGES.get(event.kind) or _unknown(event.kind)
    who = "" if event.actor_name in ENGINE or event.kind == "created" else event.actor_name
    completed = event.kind == "completed"
    words = _completed_words(task, None, _("it"), who) if completed else ""
    return Entry(
        at=event.at,
        who=who,
        what=words or str(message.by_person if who else message.by_engine),
        note=_in_words(event.cause),
        comment=task.comment if completed else "",
        diffs=_event_diffs(event, task),
        tone=message.tone,
        icon=message.icon,
        act=event.kind,
    )


def _event_diffs(event: TaskEvent, task: Task) -> tuple[Diff, ...]:
    """List what an event changed; a claim's own sentence says whose the task is."""
    if event.kind == "completed":
        return _answer_diffs(task)
    return () if event.kind == "claimed" else changes_of(event.old, event.new)


def _answer_diffs(task: Task) -> tuple[Diff, ...]:
    """List what an answer filled in, and which of the task's own values it changed."""
    answer = task.answer if isinstance(task.answer, dict) else {}
    brought = task.payload if isinstance(task.payload, dict) else {}
    asked = (task.form or {}).get("properties") or {}
    return tuple(
        Diff(label_of(key, asked.get(key)), _old(brought.get(key)), shown_as(value, asked.get(key)))
        for key, value in answer.items()
        if key in asked and value != brought.get(key) and value is not False
    )
