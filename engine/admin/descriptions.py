"""Say in sentences what rows hold in columns: acts of the audit, waits, moments and values."""

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
    "create_tenant": "founded the tenant",
    "change_tenant": "changed the tenant",
    "enter_tenant": "entered from another tenant",
    "look_into_tenant": "looked at this tenant from another one",
    "accept_plain_audit": "accepted rows of the audit that were written without the key",
    "ask_erasure": "asked that this person be erased",
    "refuse_erasure": "withdrew the erasure of this person",
    "erase_person": "erased this person",
    "export_person": "took along all that is kept of this person",
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
    "sign_in": "signed in from {new[address]}",
    "fail_sign_in": "somebody failed to sign in from {new[address]}",
    "lock_sign_in": "signing in was closed for a while after failures from {new[address]}",
    "sign_out": "signed out",
    "change_password": "chose a new password",
    "ask_reset": "asked for a new password",
    "send_reset": "sent a link for a new password to {new[email]}",
    "reset_password": "chose a new password by a mailed link",
    "confirm_email": "confirmed the mail address {new[email]}",
    "use_token": "used the token {new[name]} from {new[address]}",
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
    "mark_available": "found that this release can run version {new[version]} again",
    "mark_unavailable": "found that this release cannot run version {new[version]}",
    "schedule_workflow": "made a schedule: {new[cron]}",
    "change_schedule": "changed a schedule",
    "pause_schedule": "held a schedule",
    "resume_schedule": "let a schedule go on",
    "cancel_schedule": "ended a schedule",
    "trigger_scheduled": "started it by a schedule",
    "run_schedule": "started it by hand, as its schedule would",
    "refuse_event": "refused what an event would have started",
    "create_secret": "wrote the secret {new[name]}",
    "change_secret": "wrote the secret {new[name]} anew",
    "bind_secret": "narrowed where the secret {new[name]} may be sent",
    "delete_secret": "forgot the secret {new[name]}",
    "change_calendar": "wrote the calendar {new[name]}",
    "delete_calendar": "deleted the calendar {new[name]}",
    "set_retention": "changed how long work is kept",
    "ask_retention": "asked that what is past its time is let go",
    "apply_retention": "let go what was past its time",
}
"""Acts on tenants, people and templates in words that continue the person's name; those on a case engine.presentation.narrative
tells."""

SPOKEN = frozenset(
    {
        "input", "error", "message", "outcome", "title", "version", "created", "sha256", "key", "name", "role", "token",
        "schedule", "webhook",
    }
)  # fmt: skip
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
    """Say one act in words; an act no table knows is said by its name."""
    if timeline.is_told(act.action):
        entry = timeline.of_act(act)
        return f"{entry.what}: {entry.note}" if entry.note and entry.note != act.reason else entry.what
    form = ACTS.get(act.action, act.action.replace("_", " "))
    return form.format_map({"old": _facts(act.old), "new": _facts(act.new)})


def full_sentence(act: Audit) -> str:
    """Say one act with its doer, where somebody did it."""
    by_itself = timeline.is_told(act.action) and not timeline.of_act(act).who
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
    """Write a value as a person would: words for yes, no and nothing; lists with commas."""
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
    """Lay a JSON value out as a table: one line a leaf, its path before it."""
    if isinstance(value, dict):
        return [
            row for key, entry in value.items() for row in rows_of_value(entry, f"{path}.{key}" if path else str(key))
        ]
    if isinstance(value, list) and any(isinstance(entry, dict | list) for entry in value):
        return [row for index, entry in enumerate(value, 1) for row in rows_of_value(entry, f"{path} {index}".strip())]
    return [(path, value_words(value))] if path else []


def moment_words(at: datetime | None) -> str:
    """Write a moment in the reader's zone."""
    return f"{timezone.localtime(at):%-d %b %Y %H:%M}" if at else NOTHING
