"""Know tasks, calls and instances by the names that tests give them.

`vote` is a step, `vote[2]` one of its rounds, items or occurrences of a handler, counted from 0; `sub/ask` is the task
`ask` of the child that the step `sub` started, `sub[1]/ask` of one of several.
"""

import re
from collections.abc import Iterable

Place = tuple[str, str]
"""A step's id, and which of its runs is meant: rounds, items and occurrences around it."""

_NUMBER = re.compile(r"\[(\d+)\]")


def names_at(step: str, iteration: str) -> set[str]:
    """Return the names under which a test may mean one run of a step: its id, with all numbers around it, with the last."""
    numbers = _NUMBER.findall(iteration)
    return {step, f"{step}{iteration}", f"{step}[{numbers[-1]}]" if numbers else step}


def fits(name: str, places: tuple[Place, ...]) -> bool:
    """Return whether a name, in parts from outer to inner, means the run at these places."""
    parts = name.split("/")
    return len(parts) == len(places) and all(
        part in names_at(*place) for part, place in zip(parts, places, strict=True)
    )


def most_exact(names: Iterable[str], places: tuple[Place, ...]) -> str | None:
    """Choose the name that says most among those that mean the run at these places."""
    return max((name for name in names if fits(name, places)), key=len, default=None)
