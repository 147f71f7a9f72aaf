"""Name steps and keys for people, and say how each kind of step looks: in diagrams, outlines and lists alike."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

ABBREVIATIONS = frozenset({"hr", "id", "iban", "pr", "qa", "url", "vat"})


@dataclass(frozen=True, slots=True)
class Look:
    """How a kind is drawn: one of eight looks, an icon, and a word for steps that the author left unnamed."""

    name: str
    icon: str
    word: Any


LOOKS: Mapping[str, Look] = {
    "task": Look("person", "user", gettext_lazy("Task")),
    "call": Look("call", "arrows-right-left", gettext_lazy("Call")),
    "emit": Look("call", "arrows-right-left", gettext_lazy("Tell")),
    "workflow": Look("call", "subtask", gettext_lazy("Workflow")),
    "continue_with": Look("call", "subtask", gettext_lazy("Workflow")),
    "if": Look("choice", "git-branch", gettext_lazy("Choice")),
    "switch": Look("choice", "git-branch", gettext_lazy("Choice")),
    "decide": Look("choice", "git-branch", gettext_lazy("Decision")),
    "selector": Look("choice", "git-branch", gettext_lazy("First that works")),
    "signal": Look("wait", "broadcast", gettext_lazy("Message")),
    "first": Look("wait", "broadcast", gettext_lazy("First that happens")),
    "wait": Look("wait", "clock", gettext_lazy("Wait")),
    "set": Look("value", "variable", gettext_lazy("Note values")),
    "reference": Look("value", "variable", gettext_lazy("Reference")),
    "parallel": Look("flow", "arrows-split", gettext_lazy("At once")),
    "for_each": Look("flow", "arrows-split", gettext_lazy("For each")),
    "repeat": Look("flow", "refresh", gettext_lazy("Repeat")),
    "graph": Look("flow", "arrows-split", gettext_lazy("Steps")),
    "net": Look("flow", "arrows-split", gettext_lazy("Steps")),
    "any_order": Look("flow", "arrows-split", gettext_lazy("In any order")),
    "group": Look("flow", "arrows-split", gettext_lazy("Group")),
    "ext": Look("flow", "arrows-split", gettext_lazy("Steps")),
    "complete": Look("end", "check", gettext_lazy("Completed")),
    "exit": Look("end", "door-exit", gettext_lazy("Leave")),
    "fail": Look("bad", "x", gettext_lazy("Failed")),
    "cancel": Look("bad", "x", gettext_lazy("Cancel")),
    "compensate": Look("bad", "arrow-back-up", gettext_lazy("Undo")),
}


BAD_ENDS = re.compile(
    r"(?i)^(reject|declin|refus|den(y|ied)|withdr|cancel|abort|not[_ ]|no[_ ]"
    r"|abgelehnt|ablehn|abgewiesen|abgebrochen|verweiger|zur(ü|ue)ck(gezogen|gewiesen)|storniert|nicht[_ ]|kein)"
)
"""How authors begin the outcome of an end that turns a request down, in English and German."""
REJECTED = Look("bad", "x", gettext_lazy("Rejected"))


def look_of(step: Mapping[str, Any]) -> Look:
    """Return how a step looks: as its kind, but an end that turns a request down looks like one."""
    kind = step_kind(step)
    outcome = step[kind].get("outcome") if kind == "complete" and isinstance(step[kind], Mapping) else None
    return REJECTED if turns_down(outcome) else LOOKS[kind]


def turns_down(outcome: Any) -> bool:
    """Return whether an outcome says that a request was turned down."""
    return isinstance(outcome, str) and BAD_ENDS.match(outcome) is not None


def step_kind(step: Mapping[str, Any]) -> str:
    """Name a canonical step's kind."""
    return next(key for key in step if key in LOOKS)


def name_of(step: Mapping[str, Any]) -> str:
    """Name a step for people: its title, its task's fixed title, else its id in words."""
    task = step.get("task")
    for title in (step.get("title"), task.get("title") if isinstance(task, Mapping) else None):
        if isinstance(title, str) and title and "${" not in title:
            return title
    kind = step_kind(step)
    outcome = step[kind].get("outcome") if kind == "complete" and isinstance(step[kind], Mapping) else None
    if isinstance(outcome, str) and "${" not in outcome:
        return outcome_text(outcome)
    if kind == "set" and step.get("auto_id"):
        return _("Note %(values)s") % {"values": ", ".join(label_of(key).lower() for key in list(step[kind])[:3])}
    if kind == "ext" and step.get("auto_id"):
        return label_of(step[kind]["type"])
    return str(LOOKS[kind].word) if step.get("auto_id") else label_of(step["id"])


def label_of(key: str, schema: Mapping[str, Any] | None = None) -> str:
    """Name a key for people: its title in the schema, else the key in words."""
    title = (schema or {}).get("title")
    if isinstance(title, str) and title:
        return title
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", key).replace("_", " ").replace("-", " ").split()
    if words == ["it"]:  # the department, unless it is one of several words
        return "IT"
    said = " ".join(word.upper() if word.lower() in ABBREVIATIONS else word for word in words)
    return said[:1].upper() + said[1:] if said else key


def outcome_text(name: str) -> str:
    """Write an outcome's name, often in capitals, as words."""
    return label_of(name.lower() if name.isupper() else name)
