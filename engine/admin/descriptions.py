"""Audit entries, times and values in words."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone

from engine.models import Audit
from engine.presentation.forms.numbers import number_text
from engine.presentation.narrative import timeline

NOTHING = "–"

ACTS: dict[str, str] = {
    "create_tenant": "created the tenant",
    "change_tenant": "changed the tenant",
    "enter_tenant": "entered from another tenant",
    "look_into_tenant": "viewed this tenant from another one",
    "accept_plain_audit": "accepted audit entries that were written without the key",
    "ask_erasure": "requested the erasure of this person's data",
    "refuse_erasure": "withdrew the erasure request for this person",
    "erase_person": "erased this person's data",
    "export_person": "exported this person's data",
    "export_tasks": "exported the list {new[list]}",
    "begin_bulk_act": "started to {new[action]} {new[count]} at once",
    "stop_bulk_act": "stopped the bulk operation {new[action]}, {new[count]} not done",
    "create_role": "added the role {new[name]}",
    "rename_role": "renamed the role {new[name]}",
    "mark_role": "changed whether the role {new[name]} is confidential",
    "create_person": "added this person with level {new[level]}",
    "invite_person": "sent an invitation to {new[email]}",
    "change_details": "changed the details",
    "change_level": "changed the level from {old[level]} to {new[level]}",
    "grant_role": "granted the role {new[role]}",
    "revoke_role": "removed the role {old[role]}",
    "lead_role": "made them lead of {new[role]}",
    "unlead_role": "made them lead of {old[role]} no more",
    "change_manager": "chose {new[manager]} as manager",
    "enter_absence": "entered an absence from {new[from]} until {new[until]}, with {new[deputy]} as deputy",
    "change_absence": "changed an absence: from {new[from]} until {new[until]}, with {new[deputy]} as deputy",
    "end_absence": "ended the absence that began on {old[from]}",
    "deactivate_person": "deactivated this person",
    "reactivate_person": "reactivated this person",
    "sign_in": "signed in from {new[address]}",
    "fail_sign_in": "failed to sign in from {new[address]}",
    "lock_sign_in": "was locked out for a while after failed attempts from {new[address]}",
    "sign_out": "signed out",
    "change_password": "chose a new password",
    "ask_reset": "requested a new password",
    "send_reset": "sent a password link to {new[email]}",
    "reset_password": "chose a new password with a password link",
    "confirm_email": "confirmed the e-mail address {new[email]}",
    "use_token": "used the token {new[name]} from {new[address]}",
    "create_token": "created the token {new[name]}",
    "revoke_token": "revoked the token {old[name]}",
    "create_template": "created version {new[version]}",
    "change_template": "saved the draft of version {new[version]}",
    "delete_draft": "deleted the draft of version {old[version]}",
    "activate_template": "activated version {new[version]}",
    "pause_template": "paused version {new[version]}",
    "resume_template": "resumed version {new[version]}",
    "archive_template": "archived version {new[version]}",
    "create_webhook": "created the webhook {new[name]}",
    "change_webhook": "changed the webhook {new[name]}",
    "pause_webhook": "paused the webhook {new[name]}",
    "resume_webhook": "resumed the webhook {new[name]}",
    "disable_webhook": "disabled the webhook {new[name]}",
    "rotate_webhook_secret": "gave the webhook {new[name]} a new secret",
    "delete_webhook": "deleted the webhook {new[name]}",
    "replay_deliveries": "resent deliveries of the webhook {new[name]}",
    "set_role_chat": "changed where the role {new[role]} is told ({new[chat]})",
    "mark_available": "found that this release can run version {new[version]} again",
    "mark_unavailable": "found that this release cannot run version {new[version]}",
    "schedule_workflow": "created a schedule: {new[cron]}",
    "change_schedule": "changed a schedule",
    "pause_schedule": "paused a schedule",
    "resume_schedule": "resumed a schedule",
    "cancel_schedule": "ended a schedule",
    "trigger_scheduled": "started it by a schedule",
    "run_schedule": "ran its schedule by hand",
    "refuse_event": "refused a start by an event",
    "create_secret": "created the secret {new[name]}",
    "change_secret": "changed the secret {new[name]}",
    "bind_secret": "restricted where the secret {new[name]} may be sent",
    "delete_secret": "deleted the secret {new[name]}",
    "change_calendar": "changed the calendar {new[name]}",
    "delete_calendar": "deleted the calendar {new[name]}",
    "set_retention": "changed a retention rule",
    "ask_retention": "requested that expired data is deleted",
    "apply_retention": "deleted expired data",
}
"""Actions on tenants, people and templates, in words that continue the person's name. Those on instances are in
engine.presentation.narrative."""

SPOKEN = frozenset(
    {
        "input", "error", "message", "outcome", "title", "version", "created", "sha256", "key", "name", "role", "token",
        "schedule", "webhook",
    }
)  # fmt: skip
"""Keys of `old` and `new` that the sentence already contains, or that mean nothing to a reader."""


@dataclass(frozen=True, slots=True)
class Change:
    """One value before and after."""

    key: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Line:
    """One audit entry as a reader sees it."""

    code: str
    at: datetime
    who: str
    level: int
    words: str
    about: str
    changes: tuple[Change, ...]
    cause: str
    bad: bool


def lines_of(acts: Iterable[Audit]) -> list[Line]:
    return [
        Line(
            code=act.action,
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
    return act.actor_name.capitalize() if act.actor_name else "The engine"


class _Facts(dict[str, Any]):
    """Values for a sentence; a missing one is shown as a dash."""

    def __missing__(self, key: str) -> str:
        return NOTHING


def sentence_of(act: Audit) -> str:
    """Describe one entry in words; an unknown action is shown by its name."""
    if timeline.has_message(act.action):
        entry = timeline.of_act(act)
        return f"{entry.what}: {entry.note}" if entry.note and entry.note != act.reason else entry.what
    form = ACTS.get(act.action)
    if form is None:
        return act.action.replace("_", " ")
    return form.format_map({"old": _facts(act.old), "new": _facts(act.new)})


def full_sentence(act: Audit) -> str:
    """Describe one entry with its actor, if a person acted."""
    by_itself = timeline.has_message(act.action) and not timeline.of_act(act).who
    return sentence_of(act) if by_itself else f"{who_of(act)} {sentence_of(act)}"


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
    """Write a value for people: words for yes and no, a dash for nothing, lists with commas."""
    if value is None or value == "":
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(value_words(entry) for entry in value) or "none"
    if isinstance(value, dict):
        return " · ".join(f"{key} {value_words(entry)}" for key, entry in value.items()) or "none"
    return number_text(value) if isinstance(value, float) else str(value)


def rows_of_value(value: Any, path: str = "") -> list[tuple[str, str]]:
    """Turn a JSON value into rows of path and value, one per leaf."""
    if isinstance(value, dict):
        return [
            row for key, entry in value.items() for row in rows_of_value(entry, f"{path}.{key}" if path else str(key))
        ]
    if isinstance(value, list) and any(isinstance(entry, dict | list) for entry in value):
        return [row for index, entry in enumerate(value, 1) for row in rows_of_value(entry, f"{path} {index}".strip())]
    return [(path, value_words(value))] if path else []


def moment_words(at: datetime | None) -> str:
    """Write a time in the reader's time zone."""
    return f"{timezone.localtime(at):%-d %b %Y %H:%M}" if at else NOTHING
