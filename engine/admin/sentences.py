"""Say in sentences what rows hold in columns: acts of the audit, waits, moments and values."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.timesince import timesince

from engine.models import Audit, Instance, Task, Wait

NOTHING = "–"

ACTS: dict[str, str] = {
    "create_tenant": "founded the tenant",
    "change_tenant": "changed the tenant",
    "enter_tenant": "entered from another tenant",
    "begin_bulk_act": "began to {new[action]} {new[count]} at once",
    "stop_bulk_act": "stopped an act to {new[action]} many, {new[count]} left undone",
    "create_role": "added the role {new[name]}",
    "rename_role": "renamed the role {new[name]}",
    "create_person": "added this person with level {new[level]}",
    "invite_person": "sent an invitation to {new[email]}",
    "change_details": "changed the details",
    "change_level": "changed the level from {old[level]} to {new[level]}",
    "grant_role": "granted the role {new[role]}",
    "revoke_role": "took the role {old[role]}",
    "deactivate_person": "deactivated this person",
    "reactivate_person": "let this person in again",
    "create_token": "made the token {new[name]}",
    "revoke_token": "revoked the token {old[name]}",
    "create_template": "began version {new[version]}",
    "change_template": "saved the draft of version {new[version]}",
    "delete_draft": "deleted the draft of version {old[version]}",
    "activate_template": "activated version {new[version]}",
    "pause_template": "paused version {new[version]}",
    "resume_template": "resumed version {new[version]}",
    "archive_template": "archived version {new[version]}",
    "create_webhook": "made the webhook {new[name]}",
    "change_webhook": "changed the webhook {new[name]}",
    "pause_webhook": "paused the webhook {new[name]}",
    "resume_webhook": "resumed the webhook {new[name]}",
    "disable_webhook": "disabled the webhook {new[name]}",
    "rotate_webhook_secret": "gave the webhook {new[name]} a new secret",
    "delete_webhook": "deleted the webhook {new[name]}",
    "replay_deliveries": "sent deliveries of the webhook {new[name]} again",
    "start_workflow": "started it",
    "hold_step": "{step} is held back",
    "execute_step": "{step} began",
    "complete_step": "{step} is done",
    "fail_step": "{step} failed: {new[message]}",
    "skip_step": "{step} was skipped",
    "retry_step": "{step} will be tried again: {new[message]}",
    "expire_step": "{step} ran out of time",
    "cancel_step": "{step} was withdrawn",
    "compensate_step": "{step} was undone",
    "task_created": "the task “{new[title]}” was opened",
    "task_claimed": "claimed {step}",
    "task_released": "released {step}",
    "task_completed": "answered {step}: {new[outcome]}",
    "task_answered": "answered {step}, as one of several: {new[outcome]}",
    "task_assigned": "gave {step} to {new[assignee]}",
    "task_reassigned": "gave {step} to {new[assignee]}",
    "task_commented": "commented on {step}",
    "task_suspended": "suspended {step}",
    "task_resumed": "resumed {step}",
    "task_snoozed": "put {step} off",
    "task_ticked": "ticked a point of {step}",
    "task_unticked": "took a tick of {step} back",
    "task_attached": "added {new[name]} to {step}",
    "task_detached": "took {old[name]} away from {step}",
    "task_reminded": "wrote a reminder of {step}",
    "task_escalated": "escalated {step}",
    "task_late": "{step} was promised by now",
    "complete_workflow": "it is completed",
    "fail_workflow": "it failed: {new[message]}",
    "cancel_workflow": "cancelled it",
    "expire_workflow": "it ran out of time",
    "raise_incident": "it stopped with an incident: {new[message]}",
}
"""Every act in words; those that a person does continue the person's name."""

TOLD_OF_THE_CASE = ("{step}", "it ", "the task")
"""How sentences begin that tell what the case did, not what somebody did."""

SPOKEN = frozenset(
    {"input", "error", "message", "outcome", "title", "version", "created", "sha256", "key", "name", "role"}
)
"""Keys of `old` and `new` that the sentence says already, or that say nothing to a reader."""


@dataclass(frozen=True, slots=True)
class Change:
    """One value before and after."""

    key: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Line:
    """One act as a reader sees it: who began it, at which level, and what was done to what."""

    at: datetime
    who: str
    level: int
    words: str
    about: str
    changes: tuple[Change, ...]
    cause: str
    bad: bool


def lines_of(acts: Iterable[Audit]) -> list[Line]:
    """Tell acts as lines."""
    return [
        Line(
            at=act.at,
            who=who_of(act),
            level=act.actor_level,
            words=full_sentence(act),
            about=getattr(act, "subject_name", None) or "",
            changes=tuple(_changes(act)),
            cause=act.cause,
            bad=_is_bad(act),
        )
        for act in acts
    ]


def who_of(act: Audit) -> str:
    """Name who acted, as people call them."""
    return act.actor_name.capitalize() if act.actor_name else "The engine"


class _Facts(dict[str, Any]):
    """Values for a sentence; what an act does not hold is left out of it."""

    def __missing__(self, key: str) -> str:
        return NOTHING


def sentence_of(act: Audit) -> str:
    """Say one act in words; an act the table does not know is said by its name."""
    form = ACTS.get(act.action, act.action.replace("_", " "))
    facts = {"old": _facts(act.old), "new": _facts(act.new), "step": act.step or "a step"}
    return form.format_map(facts)


def full_sentence(act: Audit) -> str:
    """Say one act with its doer, where somebody did it."""
    words = sentence_of(act)
    told = ACTS.get(act.action, "").startswith(TOLD_OF_THE_CASE)
    return words[0].upper() + words[1:] if told else f"{who_of(act)} {words}"


def _facts(value: Any) -> _Facts:
    return _Facts(value) if isinstance(value, dict) else _Facts()


def _changes(act: Audit) -> Iterable[Change]:
    old, new = dict(rows_of_value(act.old)), dict(rows_of_value(act.new))
    for key in dict.fromkeys([*old, *new]):
        if not SPOKEN.intersection(key.split(".")[:1]) and not _is_said(act, key):
            yield Change(key, old.get(key, ""), new.get(key, ""))


def _is_said(act: Audit, key: str) -> bool:
    form = ACTS.get(act.action, "")
    return f"[{key}]" in form


def _is_bad(act: Audit) -> bool:
    return act.action in {"fail_step", "fail_workflow", "raise_incident", "expire_workflow", "expire_step"}


def value_words(value: Any) -> str:
    """Write a value as a person would: words for yes, no and nothing; lists with commas."""
    if value is None or value == "":
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(value_words(entry) for entry in value) or "none"
    if isinstance(value, dict):
        return " · ".join(f"{key} {value_words(entry)}" for key, entry in value.items()) or "none"
    return str(value)


def rows_of_value(value: Any, path: str = "") -> list[tuple[str, str]]:
    """Lay a JSON value out as a table: one line a leaf, its path before it."""
    if isinstance(value, dict):
        return [
            row for key, entry in value.items() for row in rows_of_value(entry, f"{path}.{key}" if path else str(key))
        ]
    if isinstance(value, list) and any(isinstance(entry, dict | list) for entry in value):
        return [row for index, entry in enumerate(value, 1) for row in rows_of_value(entry, f"{path} {index}".strip())]
    return [(path, value_words(value))] if path else []


WAITS: dict[str, str] = {
    "task": "Waits for a person at {step}",
    "timer": "Waits for its time at {step}",
    "signal": "Waits for the signal {name} at {step}",
    "child": "Waits for another workflow at {step}",
    "retry": "Will try {step} again",
    "call": "Waits for an answer from outside at {step}",
    "add": "Waits for more at {step}",
}


def wait_sentence(wait: Wait, tasks: Mapping[int, Task] | None = None) -> str:
    """Say what an instance waits for, and until when; of a task that is at hand also for whom."""
    task = (tasks or {}).get(wait.token)
    if task:
        return f"Waits for {awaited(task)}: {task.title}."
    words = WAITS[wait.kind].format(step=wait.step, name=wait.name or NOTHING)
    return f"{words}, due {moment_words(wait.due_at)}." if wait.due_at else f"{words}."


def awaited(task: Task) -> str:
    """Say whose answer a task needs: its assignee's, one of its roles', or anybody's."""
    if task.assignee:
        return str(task.assignee)
    names = [*task.effective_roles, *task.users]
    return " or ".join(names) if names else "anybody"


def moment_words(at: datetime | None) -> str:
    """Write a moment in the reader's zone."""
    return f"{timezone.localtime(at):%-d %b %Y %H:%M}" if at else NOTHING


def instance_sentence(instance: Instance, waits: Iterable[Wait], tasks: Mapping[int, Task] | None = None) -> str:
    """Say first what matters about an instance: what it waits for, or how it ended."""
    if instance.is_over:
        span = timesince(instance.started_at, instance.ended_at)
        ending = f" as {instance.outcome}" if instance.outcome else ""
        return f"{instance.status.capitalize()}{ending} on {moment_words(instance.ended_at)} after {span}."
    if instance.status == "incident":
        return f"Stopped with an incident: {_error_words(instance.error)}"
    told = " ".join(wait_sentence(wait, tasks) for wait in waits if not wait.side)
    return told or f"It is {instance.status}."


def _error_words(error: Any) -> str:
    return str(_facts(error)["message"]) if error else "no message was kept."
