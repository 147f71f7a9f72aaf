"""What was done to many tasks at once, in words."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy

ALL_DONE: Mapping[str, Any] = {
    "claim": gettext_lazy("%(done)d claimed."),
    "release": gettext_lazy("%(done)d released."),
    "assign": gettext_lazy("%(done)d assigned."),
    "complete": gettext_lazy("%(done)d answered."),
    "give_back": gettext_lazy("%(done)d returned."),
}
SOME_DONE: Mapping[str, Any] = {
    "claim": gettext_lazy("%(done)d claimed, %(left)d not"),
    "release": gettext_lazy("%(done)d released, %(left)d not"),
    "assign": gettext_lazy("%(done)d assigned, %(left)d not"),
    "complete": gettext_lazy("%(done)d answered, %(left)d not"),
    "give_back": gettext_lazy("%(done)d returned, %(left)d not"),
}


RETRIED = frozenset({"status", "wip_limit", "sending", "failed"})
"""Refusals that pass by themselves: the same can be tried again."""
FOR_OTHERS = frozenset({"four_eyes", "level", "not_candidate", "same_person"})
"""Refusals that hold for this person, but not for everyone."""


def act_after(action: str, code: str, may_assign: bool) -> str:
    """Name the one act that a row offers which was not done: try again, assign, or open."""
    if code in RETRIED and action != "give_back":
        return "again"
    return "assign" if code in FOR_OTHERS and may_assign else "open"


def heading_of(action: str, done: int, left: int) -> str:
    """Return the heading of a bulk action's result."""
    if left:
        return str(SOME_DONE[action]) % {"done": done, "left": left}
    return (str(ALL_DONE[action]) % {"done": done}).rstrip(".")
