"""The people's part of a case, in at most a few stops: who decides, in which order, how long it usually takes.

What machines do in between is left out, but for the end. A task that only some cases come to is told with its condition.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.utils.translation import gettext as _

from engine.diagram.step_names import label_of, outcome_text, turns_down
from engine.kernel.signals import Json
from engine.models import Instance, Task
from engine.presentation.narrative.decisions import rejection_of
from engine.presentation.narrative.people_names import name_of
from engine.presentation.narrative.step_outline import Step

MOST_STOPS = 5
NOT_KNOWN: Mapping[str, timedelta] = {}
STARTER = "${instance.started_by}"
ALWAYS = frozenset({"group", "parallel", "graph", "any_order", "net", "for_each", "repeat"})
"""Kinds whose steps every case comes to."""
ASIDE = frozenset({"on_timeout", "on_error", "on", "reminders", "undo"})
"""Branches that are taken when something goes wrong, or besides."""


@dataclass(frozen=True, slots=True)
class Stop:
    """One stop: what it is called, who acts there, and what became of it."""

    name: str
    who: str = ""
    state: str = "todo"
    icon: str = "user"
    at: datetime | None = None
    usual: timedelta | None = None
    condition: str = ""
    """Only some cases come here."""
    step: str = ""


def stops_ahead(outline: Sequence[Step], canonical: Json, usual: Mapping[str, timedelta]) -> list[Stop]:
    """Return the stops of a case before it starts: who will decide, in which order."""
    asked = _asked_in(canonical)
    return [
        Stop(
            step.name, _who(asked.get(step.id, {})), usual=usual.get(step.id), condition=_condition(sure), step=step.id
        )
        for step, sure in _tasks(outline)
    ]


def stops_of(
    instance: Instance,
    outline: Sequence[Step],
    tasks: Iterable[Task],
    reader: str,
    *,
    usual: Mapping[str, timedelta] = NOT_KNOWN,
    withdrawn: bool = False,
) -> list[Stop]:
    """Return the stops of a case for its starter: sent, who decided, who decides now, who comes next, how it ended."""
    latest = {task.step: task for task in sorted(tasks, key=lambda task: task.pk)}
    asked = _asked_in(instance.version.canonical)
    sent = Stop(_("Sent"), _you_or(instance.started_by_name, reader), "done", "check", instance.started_at)
    found = [_stop(step, latest.get(step.id), asked, sure, reader) for step, sure in _tasks(outline)]
    found = [replace(stop, usual=usual.get(stop.step)) if stop.state in ("todo", "here") else stop for stop in found]
    shown = [stop for stop in found if stop.state != "skipped" and (not instance.is_over or stop.state != "todo")]
    return _few([sent, *shown, *_end(instance, rejection_of(instance, latest.values()), withdrawn)])


def _few(stops: list[Stop]) -> list[Stop]:
    """Keep the stops around the place where the case is now."""
    here = next((at for at, stop in enumerate(stops) if stop.state == "here"), len(stops) - 1)
    first = min(max(here - 2, 0), max(len(stops) - MOST_STOPS, 0))
    kept = stops[first : first + MOST_STOPS]
    return [stops[0], *kept[1:]] if first else kept


def _tasks(steps: Iterable[Step], sure: bool = True) -> Iterator[tuple[Step, bool]]:
    """Find the steps of people, in order, and whether every case comes to them."""
    for step in steps:
        if step.kind == "task":
            yield step, sure
        for branch in step.branches:
            if branch.taken and step.kind != "task" and branch.name.partition(".")[0] not in ASIDE:
                yield from _tasks(branch.steps, sure and step.kind in ALWAYS)


def _condition(sure: bool) -> str:
    return "" if sure else _("in some cases")


def _asked_in(canonical: Json) -> dict[str, Mapping[str, Any]]:
    """Find what each task asks for, by its step."""
    found: dict[str, Mapping[str, Any]] = {}
    parts = [canonical]
    while parts:
        part = parts.pop()
        if isinstance(part, dict):
            if isinstance(part.get("task"), dict) and "id" in part:
                found[part["id"]] = part["task"]
            parts.extend(part.values())
        elif isinstance(part, list):
            parts.extend(part)
    return found


def _who(task: Mapping[str, Any]) -> str:
    """Name whom an author asks; people that are computed are not known before."""
    if task.get("assignee") == STARTER:
        return _("you")
    if isinstance(person := task.get("assignee"), str) and "${" not in person:
        return name_of(person)
    roles = [label_of(role) for role in _plain(task.get("roles"))]
    people = [name_of(name) for name in _plain(task.get("users"))]
    return _(" or ").join([*roles, *people])


def _plain(given: Any) -> list[str]:
    return [one for one in given if isinstance(one, str) and "${" not in one] if isinstance(given, list) else []


def _you_or(name: str, reader: str) -> str:
    return _("you") if name == reader else name_of(name)


def _stop(step: Step, task: Task | None, asked: Mapping[str, Mapping[str, Any]], sure: bool, reader: str) -> Stop:
    if task is None:
        state = "skipped" if step.state in ("skipped", "done", "failed") else "todo"
        return Stop(step.name, _who(asked.get(step.id, {})), state, condition=_condition(sure), step=step.id)
    if task.is_over:
        return _ended_stop(step, task, reader)
    who = _you_or(task.assignee.username, reader) if task.assignee else _who(asked.get(step.id, {})) or _("anyone")
    return Stop(step.name, who, "here", at=task.claimed_at or task.created_at, step=step.id)


def _ended_stop(step: Step, task: Task, reader: str) -> Stop:
    if task.status != "completed":
        return Stop(
            step.name, "", "skipped" if task.status == "cancelled" else "bad", "x", task.completed_at, step=step.id
        )
    chosen = task.outcome_named(task.outcome or "") or {}
    who = _you_or(task.completed_by_name, reader)
    words = f"{who}: {chosen['title']}" if len(task.outcomes) > 1 and chosen else who
    bad = bool(chosen.get("reject"))
    return Stop(step.name, words, "bad" if bad else "done", "x" if bad else "check", task.completed_at, step=step.id)


ENDS: Mapping[str, tuple[str, str]] = {
    "completed": ("done", "check"),
    "failed": ("bad", "x"),
    "expired": ("bad", "clock"),
    "cancelled": ("bad", "ban"),
}


def _end(instance: Instance, rejected: Task | None, withdrawn: bool) -> list[Stop]:
    """Return how a case ended; one that lives has no end yet."""
    if instance.status not in ENDS:
        return []
    if rejected is not None:
        return [Stop(_("Rejected"), "", "bad", "x", instance.ended_at)]
    if instance.status == "completed" and turns_down(instance.outcome):
        return [Stop(outcome_text(instance.outcome or ""), "", "bad", "x", instance.ended_at)]
    state, icon = ENDS[instance.status]
    words = {
        "completed": _("Finished"),
        "failed": _("Failed"),
        "expired": _("Expired"),
        "cancelled": _("Withdrawn") if withdrawn else _("Cancelled"),
    }
    return [Stop(words[instance.status], "", state, icon, instance.ended_at)]
