"""Where the flow can go within a list of steps, jumps by `next` included.

A way leads from a step to one that follows it, or to the end of the list. The jumps of a step are its own and those
that lead out of it from inside: from `if` and `switch`, and from the handlers that run instead of it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.kernel.language.reading.nodes import Outline, Reading

ENDING = frozenset({"complete", "fail", "exit"})
NOT_IN_LINE = frozenset({"graph", "net", "any_order", "selector"})
END = ""
"""The end of a list."""
MOST_JUDGED = 500
"""A list with jumps and more steps than this is not judged: its results are taken as there."""


def siblings(reading: Reading) -> dict[str, list[Outline]]:
    """Group the steps by the list that contains them."""
    found: dict[str, list[Outline]] = {}
    for step in reading.steps.values():
        found.setdefault(step.list, []).append(step)
    return found


def is_body(parent: Outline, steps: list[Outline]) -> bool:
    """Return whether a list is the body of its parent, not one of its handlers."""
    return steps[0].list.startswith(f"{parent.path}/{parent.kind}/")


def is_line(reading: Reading, step: Outline) -> bool:
    """Return whether a step is in a list that runs one step after the other."""
    if step.list.endswith("/finally") or "/finally/" in step.list:
        return False
    parent = reading.steps.get(step.parent)
    return parent is None or parent.kind not in NOT_IN_LINE or not is_body(parent, [step])


def always_ends(step: Outline) -> bool:
    """Return whether nothing runs after a step in its list."""
    return ends_line(step.spec)


def ends_line(spec: Mapping[str, Any], ending: frozenset[str] = ENDING) -> bool:
    """Return whether nothing runs after a step: it ends the line itself, or each of its branches does."""
    if {"when", "on_error", "allow_failure", "on_timeout", "on"} & set(spec):
        return False
    whole = not (isinstance(spec.get("complete"), dict) and "step" in spec["complete"])
    case = isinstance(spec.get("cancel"), dict) and bool(spec["cancel"].get("case"))
    return (bool(ending & set(spec)) and whole) or case or _each_branch_ends(spec, ending)


def _each_branch_ends(spec: Mapping[str, Any], ending: frozenset[str]) -> bool:
    branches = ways_through(spec)
    return bool(branches) and all(any(ends_line(step, ending) for step in steps) for steps in branches)


def ways_through(spec: Mapping[str, Any]) -> list[list[dict[str, Any]]]:
    """Return the bodies of which exactly one runs; none where the flow may pass by all of them."""
    if "if" in spec:
        return [spec.get("then") or [], spec.get("else") or []]
    switch = spec.get("switch")
    if isinstance(switch, dict) and "default" in switch:
        return [*(case.get("steps") or [] for case in switch.get("cases", ())), switch["default"] or []]
    return []


def lists_in_reach(reading: Reading, step: Outline) -> Iterator[tuple[str, Outline]]:
    """List where `next` of a step may lead: its own list, and those around it; each with the step that is there."""
    found: Outline | None = step
    while found is not None and is_line(reading, found):
        yield found.list, found
        parent = reading.steps.get(found.parent)
        found = parent if parent is not None and leads_out(parent, found) else None


def leads_out(parent: Outline, step: Outline) -> bool:
    """Return whether a jump may leave the list of a step for that of its parent: out of a choice, or of what runs instead."""
    return _in_choice(parent, step) or is_instead(parent, step)


def _in_choice(parent: Outline, step: Outline) -> bool:
    word = step.list[len(parent.path) + 1 :].split("/")[0]
    return parent.kind == word == "switch" or (parent.kind == "if" and word in ("then", "else"))


def is_instead(parent: Outline, step: Outline) -> bool:
    """Return whether a step is in a handler that runs instead of its host: the flow then continues after the host."""
    words = step.list[len(parent.path) + 1 :].split("/")
    if words[0] in ("on_error", "on_timeout"):
        return True
    task = parent.spec.get("task")
    handlers = {("on", 1): parent.spec.get("on"), ("task", 2): task.get("escalate") if isinstance(task, dict) else None}
    handler = _handler(handlers.get((words[0], 1 if words[0] == "on" else 2)), words)
    return bool(handler.get("interrupting")) or "error" in handler


def _handler(handlers: Any, words: list[str]) -> dict[str, Any]:
    place = next((int(word) for word in words if word.isdigit()), -1)
    known = isinstance(handlers, list) and 0 <= place < len(handlers) and isinstance(handlers[place], dict)
    return handlers[place] if known else {}


@dataclass(slots=True)
class Ways:
    """Where the flow can go within one list."""

    steps: list[Outline]
    jumps: dict[str, set[str]] = field(default_factory=dict)
    """From each step, where it or something inside it jumps to."""
    instead: dict[str, set[str]] = field(default_factory=dict)
    """Those of them that leave from a handler: the step itself did not succeed then."""
    _without: dict[str, set[str]] = field(default_factory=dict)

    def after(self, place: int) -> set[str]:
        """Return all that can come after a step."""
        step = self.steps[place]
        following = self.steps[place + 1].id if place + 1 < len(self.steps) else END
        falls = not always_ends(step) and not surely_jumps(step)
        return self.jumps.get(step.id, set()) | ({following} if falls else set())

    def reached(self) -> set[str]:
        """Return the steps that the flow can come to."""
        return self._walk("")

    def surely_before(self, step: str, other: str) -> bool:
        """Return whether the flow comes to a step, or to the end, only after another succeeded."""
        if len(self.steps) > MOST_JUDGED:
            return True
        if step not in self._without:
            self._without[step] = self._walk(step)
        return other not in self._without[step]

    def _walk(self, without: str) -> set[str]:
        """Go all ways from the first step; past the one left out only as its handlers lead."""
        place = {step.id: number for number, step in enumerate(self.steps)}
        seen, pending = {self.steps[0].id}, [self.steps[0].id]
        while pending:
            name = pending.pop()
            out = self.instead.get(name, set()) if name == without else self.after(place[name])
            fresh = out - seen
            seen |= fresh
            pending += [one for one in fresh if one in place]
        return seen


def surely_jumps(step: Outline) -> bool:
    """Return whether a step never continues with the one that follows it."""
    unsure = ("when", "on_error", "on_timeout", "on", "allow_failure", "missed")
    task = step.spec.get("task")
    skipped = isinstance(task, dict) and bool(task.get("allow") or task.get("escalate"))
    edges = step.spec.get("next") or ()
    return any("when" not in edge for edge in edges) and not skipped and not any(key in step.spec for key in unsure)


def ways_of(reading: Reading) -> dict[str, Ways]:
    """Return the ways within every list in which something jumps; made once per reading."""
    if reading.ways is None:
        reading.ways = _made(reading)
    found: dict[str, Ways] = reading.ways
    return found


def _made(reading: Reading) -> dict[str, Ways]:
    lists, found = siblings(reading), dict[str, Ways]()
    for step in [one for one in reading.steps.values() if one.spec.get("next")]:
        for edge in step.spec["next"]:
            target = reading.steps.get(edge.get("to"))
            source = dict(lists_in_reach(reading, step)).get(target.list) if target is not None else None
            if target is not None and source is not None:
                ways = found.setdefault(target.list, Ways(lists[target.list]))
                ways.jumps.setdefault(source.id, set()).add(target.id)
                if _left_by_handler(reading, step, source):
                    ways.instead.setdefault(source.id, set()).add(target.id)
    return found


def _left_by_handler(reading: Reading, step: Outline, source: Outline) -> bool:
    """Return whether a jump leaves a step of its list by one of that step's handlers."""
    while step is not source:
        parent = reading.steps[step.parent]
        if parent is source:
            return is_instead(parent, step)
        step = parent
    return False
