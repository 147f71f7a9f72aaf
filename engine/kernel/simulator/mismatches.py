"""Describe in sentences how a simulated instance differs from what its test expects."""

import json
import re
from collections.abc import Callable, Mapping

from engine.kernel.signals import Json

LONGEST = 300
_PLACE = re.compile(r"(\w+)(?:\[(\d+)\])?")


def differs(where: str, found: Json, wanted: Json) -> str:
    """Describe something that is not what was expected."""
    place = _PLACE.fullmatch(where)
    say = SAID.get(place[1]) if place else None
    if place is None or say is None:
        return f"{where} is {spelled(found)}, where {spelled(wanted)} was expected"
    number = None if place[2] is None else int(place[2]) + 1
    return f"{say(found, number)}, where {_words(wanted)} was expected"


def lacks(where: str, wanted: Json) -> str:
    """Describe something expected that is not there."""
    return f"{where} is missing, where {spelled(wanted)} was expected"


def spelled(value: Json) -> str:
    """Write a value as a test does, shortened where it is long."""
    if value is None:
        return "nothing"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) < LONGEST else text[: LONGEST - 3] + "…"


def _words(value: Json) -> str:
    """Write names without quotes, and several in their order."""
    if isinstance(value, list):
        return ", ".join(map(_words, value)) or "nothing"
    return value if isinstance(value, str) else spelled(value)


def _status(found: Json, _number: int | None) -> str:
    return f"the case is {_words(found)}"


def _outcome(found: Json, _number: int | None) -> str:
    return "the instance has no outcome" if found is None else f"the outcome is {_words(found)}"


def _path(found: Json, number: int | None) -> str:
    return f"step {number} of its way is {_words(found)}" if number else f"its way is {_words(found)}"


def _tasks(found: Json, number: int | None) -> str:
    if number:
        return f"open task {number} is {_words(found)}"
    return f"{_words(found)} is open" if found else "no task is open"


SAID: Mapping[str, Callable[[Json, int | None], str]] = {
    "status": _status,
    "outcome": _outcome,
    "path": _path,
    "tasks": _tasks,
}
"""What an author most often expects, in words of its own; everything else is named by its place."""


def act_words(number: int, act: Mapping[str, Json], word: str | None) -> str:
    """Name an act of a test by its place and by what is done."""
    about = act.get(word) if word else None
    return f"act {number + 1} ({word} {about})" if isinstance(about, str) else f"act {number + 1}"
