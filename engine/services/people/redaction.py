"""Write a pseudonym for a name in one value: a snapshot, a row of the audit, an event of a task.

Nothing is read or written here; engine.services.people.pseudonyms finds the rows.
"""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from engine.kernel.json_text import read_json, write_json
from engine.models import JournalRow, TaskEvent
from engine.models.audit import cause_with, split_cause

OWN_FACTS = ("email", "full_name")
"""Keys of a person's own audit rows that hold personal data besides the name."""
PEOPLE_KEYS = ("assignee", "owner", "made_by", "changed_by", "for", "person", "deputy", "manager")
"""Keys under which rows of the audit and task events name a person."""


@dataclass(frozen=True, slots=True)
class Names:
    """The person to erase: their names until now, and from now on."""

    person_id: UUID
    tenant_id: UUID
    name: str
    display: str
    pseudonym: str
    tenants: tuple[UUID, ...]
    """Where the name may be, home first."""


ANSWERS = ("results", "received", "undoable", "frames")
"""The parts of a snapshot in which an answer says by whom it was given."""


def renamed_snapshot(snapshot: dict[str, Any], names: Names) -> dict[str, Any]:
    """Rename the person in who took part, and in who gave an answer."""
    people = {
        step: {names.pseudonym if name == names.name else name: at for name, at in took_part.items()}
        for step, took_part in (snapshot.get("people") or {}).items()
    }
    answers = {part: renamed_result(snapshot[part], names) for part in ANSWERS if part in snapshot}
    return snapshot | ({"people": people} if "people" in snapshot else {}) | answers


def renamed_result(value: Any, names: Names) -> Any:
    """Rename the person who gave an answer, in a result and in the answers inside it."""
    if isinstance(value, list):
        return [renamed_result(one, names) for one in value]
    if not isinstance(value, dict):
        return value
    inner = {key: renamed_result(one, names) for key, one in value.items()}
    return inner | {"by": names.pseudonym} if value.get("by") == names.name else inner


def leaving_words(display: str) -> str:
    """Return the reason that deactivating writes at tasks that it releases."""
    return f"{display} was deactivated."


def redact_acts(row: JournalRow, names: Names, *, own: bool) -> bool:
    """Replace the name in the acts of a row and in what the kernel was told; return whether anything changed."""
    before = (row.acts, row.told)
    if row.acts is not None:
        row.acts = write_json([_redacted_act(act, names, own=own) for act in read_json(row.acts)])
    if row.told is not None:
        row.told = write_json([_renamed_turn(turn, names) for turn in read_json(row.told)])
    return before != (row.acts, row.told)


CONTENT = frozenset({"values", "comment", "payload", "value", "input", "output", "reason", "message", "error"})
"""What people and programs wrote into an event."""


def _renamed_turn(turn: dict[str, Any], names: Names) -> dict[str, Any]:
    """Rename the person in what the kernel was told: who did something, who took part, who holds a role."""
    events = [
        {key: value if key in CONTENT else _renamed_everywhere(value, names) for key, value in event.items()}
        for event in turn["events"]
    ]
    members = {"members": _renamed_everywhere(turn["members"], names)} if "members" in turn else {}
    return turn | {"events": events} | members


def _renamed_everywhere(value: Any, names: Names) -> Any:
    if isinstance(value, str):
        return " ".join(names.pseudonym if word == names.name else word for word in value.split(" "))
    if isinstance(value, list):
        return [_renamed_everywhere(one, names) for one in value]
    if isinstance(value, dict):
        return {_renamed_everywhere(key, names): _renamed_everywhere(one, names) for key, one in value.items()}
    return value


def _redacted_act(act: dict[str, Any], names: Names, *, own: bool) -> dict[str, Any]:
    sides = {side: _redacted(act[side], names, own=own) for side in ("old", "new") if side in act}
    cause = {"cause": _redacted_cause(act["cause"], names)} if "cause" in act else {}
    run = {"run": renamed_result(act["run"], names)} if "run" in act else {}
    return act | sides | cause | run


def _redacted_cause(cause: str, names: Names) -> str:
    if cause == leaving_words(names.display):
        return leaving_words(names.pseudonym)
    reason, via = split_cause(cause)
    maker = f", made by {names.name}"
    return cause_with(reason, f"{via.removesuffix(maker)}, made by {names.pseudonym}") if via.endswith(maker) else cause


def redact(row: JournalRow | TaskEvent, names: Names, *, own: bool) -> bool:
    """Replace the name in a row in memory; return whether anything changed."""
    before = (row.actor_name, row.cause, row.old, row.new)
    if row.actor_name == names.name:
        row.actor_name = names.pseudonym
    row.cause = _redacted_cause(row.cause, names)
    row.old, row.new = (_redacted(value, names, own=own) for value in (row.old, row.new))
    return before != (row.actor_name, row.cause, row.old, row.new)


def _redacted(value: Any, names: Names, *, own: bool) -> Any:
    if not isinstance(value, dict):
        return value
    keys = (*PEOPLE_KEYS, "name") if own else PEOPLE_KEYS
    named = {key: names.pseudonym for key in keys if value.get(key) == names.name}
    facts = {key: "" for key in OWN_FACTS if own and value.get(key)}
    return value | named | facts
