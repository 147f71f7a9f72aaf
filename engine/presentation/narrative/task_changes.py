"""Changes that an action on a task made, in words: assignee, priority, roles and people, date."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from engine.diagram.step_names import label_of
from engine.kernel.signals import Json
from engine.presentation.forms.values import NOTHING, shown
from engine.presentation.narrative.people_names import name_of
from engine.presentation.narrative.relative_times import moment_words


@dataclass(frozen=True, slots=True)
class Diff:
    """One value that changed; `old` is empty where there was none."""

    key: str
    old: str
    new: str


def _named(value: Json) -> str:
    return ", ".join(name_of(str(name)) for name in (value if isinstance(value, list) else [value]))


def _in_words(value: Json) -> str:
    return ", ".join(_(label_of(str(word))) for word in (value if isinstance(value, list) else [value]))


def _moment(value: Json) -> str:
    return moment_words(datetime.fromisoformat(str(value)), timezone.now())


TOLD: Mapping[str, tuple[Any, Callable[[Json], str]]] = {
    "assignee": (gettext_lazy("Assignee"), _named),
    "priority": (gettext_lazy("Priority"), _in_words),
    "roles": (gettext_lazy("Also offered to"), _in_words),
    "users": (gettext_lazy("Also offered to"), _named),
    "name": (gettext_lazy("File"), shown),
    "until": (gettext_lazy("Until"), _moment),
    "letters": (gettext_lazy("E-mails"), shown),
}
"""What is told of an act on a task, in this order: how it is called, how its value is said."""


def changes_of(old: Json, new: Json) -> tuple[Diff, ...]:
    """List what an action on a task changed."""
    before, after = (value if isinstance(value, dict) else {} for value in (old, new))
    keys = [key for key in TOLD if before.get(key) or after.get(key)]
    return tuple(Diff(str(TOLD[key][0]), _said(key, before), _said(key, after) or NOTHING) for key in keys)


def _said(key: str, values: Mapping[str, Json]) -> str:
    return TOLD[key][1](values[key]) if values.get(key) else ""
