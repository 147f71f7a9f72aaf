"""List the steps of an instance: every run, and the steps of open graphs that are still to come."""

from collections.abc import Iterator
from contextlib import suppress
from uuid import UUID

from engine import access
from engine.definitions import definition_of
from engine.kernel.pending import Pending, pending_steps
from engine.kernel.snapshot import Snapshot, UnreadableSnapshot
from engine.kernel.transitions import StepStatus
from engine.models import Instance, RuntimeState, StepRun
from workflowplatform.accounts.actor import Actor


def list_steps(*, actor: Actor, instance_id: UUID) -> list[StepRun]:
    """Return the runs of an instance's steps in the order begun, then what of its graphs is pending."""
    instance = access.instance_of(actor, instance_id)
    runs = list(instance.step_runs.order_by("run", "attempt"))
    return [*runs, *(_row(instance, step) for step in _pending(instance))]


def _pending(instance: Instance) -> Iterator[Pending]:
    """Give what is pending; only a live instance whose author wrote a graph is asked for its snapshot."""
    if instance.is_over or not any(step.kind == "graph" for step in definition_of(instance.version_id).steps.values()):
        return
    stored = RuntimeState.objects.filter(pk=instance.pk).values_list("snapshot", flat=True).first()
    with suppress(UnreadableSnapshot):
        yield from pending_steps(definition_of(instance.version_id), Snapshot.from_json(stored or {}))


def _row(instance: Instance, step: Pending) -> StepRun:
    return StepRun(
        tenant_id=instance.tenant_id,
        instance=instance,
        run=None,
        attempt=0,
        step=step.step,
        kind=step.kind,
        path=step.path,
        iteration=step.iteration,
        status=StepStatus.PENDING,
        started_at=None,
        parent_run=step.parent,
    )
