"""Choose the assignee of a task, where the author lets the platform choose (`assign_by`).

Everything that changes over time is passed in: the candidates, their open tasks, the last assignee, a random draw.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType

WAYS = ("random", "round_robin", "least_loaded", "most_experienced")
MANAGER = "manager_of"
"""The way that asks no candidate: the task is for the manager of the person who started the instance."""
EXPERIENCE = timedelta(days=90)
"""How long ago a person's answers to tasks of the same step still count as experience."""


def choose(
    way: str,
    fitting: Sequence[str],
    *,
    loads: Mapping[str, int],
    last: str | None,
    draw: Callable[[int], int],
    done: Mapping[str, int] = MappingProxyType({}),
) -> str | None:
    """Return one of the candidates, or None where there is none. `done` counts what each answered of this step lately."""
    names = sorted(fitting)
    if not names or way not in WAYS:
        return None
    if way == "random":
        return names[draw(len(names))]
    if way == "round_robin":
        return next((name for name in names if last is None or name > last), names[0])
    if way == "most_experienced":
        return min(names, key=lambda name: (-done.get(name, 0), loads.get(name, 0), name))
    return min(names, key=lambda name: (loads.get(name, 0), name))
