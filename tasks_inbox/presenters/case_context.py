"""Context of a task: the step before it, what each answer leads to, and what happens if nobody answers."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from engine import access
from engine.errors import NotFound
from engine.kernel.language.stored_definitions import UNREADABLE
from engine.models import Task
from engine.presentation.narrative.people_names import said
from engine.presentation.narrative.step_outline import near, outline_of, steps_by_id
from engine.services.tasks.outcome_preview import foresee
from tasks_inbox.presenters.field_labels import began_with
from tasks_inbox.presenters.outcome_preview import coming_of, ways_of
from workflowplatform.accounts.actor import Actor


@dataclass(frozen=True, slots=True)
class Before:
    """The last answer before this task."""

    name: str
    who: str
    at: datetime
    outcome: str = ""


def case_context_of(actor: Actor, task: Task) -> dict[str, Any]:
    """Return where the case is and its input, for people who may see the case."""
    try:
        runs = access.step_runs_of(actor, task.instance_id)
    except NotFound:
        return {"outline": (), "unreadable": task.form.get(UNREADABLE, "")}
    outline = outline_of(task.version.canonical, runs)
    steps = steps_by_id(outline)
    ahead = foresee(actor=actor, task=task)
    return {
        "outline": near(outline),
        "step_name": steps[task.step].name if task.step in steps else said(task.title),
        "before": before_of(task, {name: step.name for name, step in steps.items()}),
        "ways": ways_of(task, ahead.outcomes, outline),
        "coming": coming_of(ahead.timers, outline),
        "unreadable": task.form.get(UNREADABLE, "") or ahead.unreadable,
        "began": began_with(task.instance, task.version),
    }


def before_of(task: Task, names: dict[str, str]) -> Before | None:
    """Find what a person answered last before this task was opened."""
    earlier = task.instance.tasks.filter(status="completed", completed_at__lte=task.created_at).exclude(pk=task.pk)
    last = earlier.order_by("-completed_at").first()
    if last is None or last.completed_at is None:
        return None
    chosen = last.outcome_named(last.outcome or "")
    name = names.get(last.step) or said(last.title)
    return Before(name, last.completed_by_name, last.completed_at, str(chosen["title"]) if chosen else "")
