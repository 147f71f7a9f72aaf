"""List the steps of an instance: every run, and the steps of open graphs that are still to come."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from engine import access
from engine.errors import Unreadable
from engine.kernel.interpreter.pending_steps import pending_steps
from engine.kernel.transitions import StepStatus
from engine.models import Instance, RuntimeState, StepRun
from engine.runtime.claims import read_snapshot
from engine.runtime.definition_cache import definition_of
from workflowplatform.accounts.actor import Actor


@dataclass(frozen=True, slots=True)
class PendingStep:
    """A step that waits for what it needs, under the names that a run has."""

    step: str
    kind: str
    path: str
    iteration: str
    parent_run: int
    status: str = StepStatus.PENDING.value
    attempt: int = 0
    run: None = None
    started_at: None = None
    ended_at: None = None
    input: Any = None
    output: Any = None
    error: Any = None
    reason: None = None


def list_steps(*, actor: Actor, instance_id: UUID) -> list[StepRun | PendingStep]:
    """Return the runs of an instance's steps in the order begun, then what of its graphs is pending."""
    instance = access.instance_of(actor, instance_id)
    return [*instance.step_runs.order_by("run", "attempt"), *_pending(instance)]


def _pending(instance: Instance) -> Iterator[PendingStep]:
    """Return what is pending; only a live instance whose author wrote a graph is asked for its snapshot."""
    definition = definition_of(instance.version_id)
    if instance.is_over or not any(step.kind == "graph" for step in definition.steps.values()):
        return
    stored = RuntimeState.objects.filter(pk=instance.pk).values_list("snapshot", flat=True).first()
    with suppress(Unreadable):
        for step in pending_steps(definition, read_snapshot(stored or {})):
            yield PendingStep(step.step, step.kind, step.path, step.iteration, step.parent)
