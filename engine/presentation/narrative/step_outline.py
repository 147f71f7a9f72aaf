"""Outline of a case: its steps in the definition's order, each with its state.

The tree comes from the canonical definition, the statuses from the step runs; both are joined by path. Of several
runs of one step (rounds, attempts) the last has the word and the number of runs is said.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from engine.diagram.step_names import Look, label_of, look_of, name_of, step_kind
from engine.diagram.step_states import STATE_OF
from engine.kernel.language.step_lists import bodies
from engine.kernel.signals import Json
from engine.models import StepRun

WORDS: Mapping[str, Any] = {
    "pending": gettext_lazy("on hold"),
    "running": gettext_lazy("waits here"),
    "success": gettext_lazy("done"),
    "failed": gettext_lazy("failed"),
    "skipped": gettext_lazy("skipped"),
    "retrying": gettext_lazy("retrying"),
    "timed_out": gettext_lazy("time ran out"),
    "cancelled": gettext_lazy("withdrawn"),
    "compensated": gettext_lazy("undone"),
}

BRANCH_WORDS: Mapping[str, Any] = {
    "then": gettext_lazy("yes"),
    "else": gettext_lazy("no"),
    "default": gettext_lazy("otherwise"),
    "on_timeout": gettext_lazy("if time runs out"),
    "finally": gettext_lazy("at the end, always"),
    "undo": gettext_lazy("to undo it"),
}


@dataclass(frozen=True, slots=True)
class Step:
    """One step as the outline shows it."""

    id: str
    path: str
    name: str
    kind: str
    look: Look
    state: str = "todo"
    words: str = ""
    at: datetime | None = None
    runs: int = 0
    attempt: int = 1
    branches: tuple["Branch", ...] = ()


@dataclass(frozen=True, slots=True)
class Branch:
    """A list of steps inside a step; one that was not taken is told in a line."""

    label: str
    steps: tuple[Step, ...]
    taken: bool = True
    name: str = ""

    @property
    def names(self) -> str:
        return ", ".join(step.name for step in self.steps)


@dataclass(slots=True)
class _Seen:
    last: StepRun | None = None
    runs: set[int] = field(default_factory=set)


def outline_of(canonical: Json, step_runs: Iterable[StepRun]) -> tuple[Step, ...]:
    """Draw a definition with what its steps went through."""
    seen: dict[str, _Seen] = {}
    for run in step_runs:
        entry = seen.setdefault(run.path, _Seen())
        entry.last, entry.runs = run, entry.runs | {run.run}
    return _steps(canonical.get("steps", ()) if canonical else (), seen)


def _steps(steps: Iterable[dict[str, Any]], seen: Mapping[str, _Seen], passed: bool = False) -> tuple[Step, ...]:
    return tuple(_step(step, seen, passed) for step in steps)


def _step(step: dict[str, Any], seen: Mapping[str, _Seen], passed: bool) -> Step:
    """Draw a step; where the flow has passed its choice, a step without a run was not taken."""
    kind = step_kind(step)
    found = seen.get(step["path"], _Seen())
    became = _what_became(found, bool(bodies(step, kind))) or (
        {"state": "skipped", "words": _("not taken")} if passed else {}
    )
    over = passed or became.get("state") in {"done", "skipped"}
    branches = tuple(_branch(name, inner, seen, over) for name, inner in bodies(step, kind))
    return Step(step["id"], step["path"], name_of(step), kind, look_of(step), branches=branches, **became)


def _branch(name: str, inner: Iterable[dict[str, Any]], seen: Mapping[str, _Seen], over: bool) -> Branch:
    steps = _steps(inner, seen, over)
    return Branch(_branch_label(name), steps, taken=not over or any(step.runs for step in steps), name=name)


def _what_became(found: _Seen, holds_steps: bool) -> dict[str, Any]:
    """Describe the state of a step; one that contains others is in progress while they wait, it does not wait itself."""
    run = found.last
    if run is None:
        return {}
    inside = holds_steps and run.status == "running" and run.kind != "task"
    return {
        "state": "inside" if inside else STATE_OF[run.status],
        "words": str(_("in progress") if inside else WORDS[run.status]) + _more(len(found.runs), run.attempt),
        "at": run.ended_at or run.started_at,
        "runs": len(found.runs),
        "attempt": run.attempt,
    }


def _more(runs: int, attempt: int) -> str:
    said = ""
    if attempt > 1:
        said += ", " + _("attempt %(n)d") % {"n": attempt}
    if runs > 1:
        said += ", " + ngettext("%(n)d round", "%(n)d rounds", runs) % {"n": runs}
    return said


def _branch_label(name: str) -> str:
    if name == "steps":
        return ""
    if name in BRANCH_WORDS:
        return str(BRANCH_WORDS[name])
    base, _point, place = name.rpartition(".")
    if base == "case":
        return _("case %(n)d") % {"n": int(place) + 1}
    if base in {"on_error", "on", "reminders"}:
        return str({"on_error": _("if it fails"), "on": _("meanwhile"), "reminders": _("reminder")}[base])
    return label_of(name)


def near(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Keep the part to show next to a task: its line, expanded only where it waits and right after."""
    kept: list[Step] = []
    waits_before = False
    for step in steps:
        opened = waits_before or _waits(step)
        branches = tuple(replace(branch, steps=near(branch.steps)) for branch in step.branches) if opened else ()
        kept.append(replace(step, branches=branches))
        waits_before = _waits(step)
    return tuple(kept)


def _waits(step: Step) -> bool:
    return step.state in {"here", "again"} or any(_waits(inner) for branch in step.branches for inner in branch.steps)


def steps_by_id(steps: Iterable[Step]) -> dict[str, Step]:
    """Find every step of an outline by its id."""
    return {step.id: step for step in every_step(steps)}


def steps_by_path(steps: Iterable[Step]) -> dict[str, Step]:
    """Find every step of an outline by its path."""
    return {step.path: step for step in every_step(steps)}


def every_step(steps: Iterable[Step]) -> Iterator[Step]:
    """Yield every step of an outline, those inside others too."""
    for step in steps:
        yield step
        for branch in step.branches:
            yield from every_step(branch.steps)
