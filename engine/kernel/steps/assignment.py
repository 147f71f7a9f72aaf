"""Choose the assignee of a task, where the author lets the platform choose (`assign_by`).

Everything that changes over time is passed in: the candidates, their open tasks, the last assignee, a random draw.
"""

from collections.abc import Callable, Mapping, Sequence

WAYS = ("random", "round_robin", "least_loaded")


def choose(
    way: str, fitting: Sequence[str], *, loads: Mapping[str, int], last: str | None, draw: Callable[[int], int]
) -> str | None:
    """Return one of the candidates, or None where there is none."""
    names = sorted(fitting)
    if not names or way not in WAYS:
        return None
    if way == "random":
        return names[draw(len(names))]
    if way == "round_robin":
        return next((name for name in names if last is None or name > last), names[0])
    return min(names, key=lambda name: (loads.get(name, 0), name))
