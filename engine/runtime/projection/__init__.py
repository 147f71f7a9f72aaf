"""Turn a slice into the rows that tell it: projections, waits, tasks, signals, receipts and audit.

Pure but for fresh ids: a loaded instance, the deliveries and the kernel's slice go in, rows go into a batch.
"""

from engine.audit.chain import append
from engine.kernel.signals import SignalType
from engine.runtime.projection.history import acts, add_step_runs
from engine.runtime.projection.queued_instances import project_unborn
from engine.runtime.projection.rows import (
    add_closed,
    add_opened,
    add_places,
    add_receipts,
    hold_or_free_signals,
    signal_row,
    tell_parent,
)
from engine.runtime.projection.stage import NEVER, STANDING_STILL, Delivery, Loaded, Stage
from engine.runtime.projection.summary import add_instance, add_runtime
from engine.runtime.projection.tasks import note_answers

__all__ = ["NEVER", "STANDING_STILL", "Delivery", "Loaded", "Stage", "project", "project_unborn"]


def project(stage: Stage) -> None:
    """Add every row of this slice to the stage's batch."""
    add_receipts(stage)
    add_closed(stage)
    note_answers(stage)
    task_ids = add_opened(stage)
    add_places(stage)
    add_step_runs(stage)
    if stage.result.more:
        stage.batch.add("new_signals", signal_row(stage, SignalType.INTERNAL_CONTINUE, None, stage.now))
    rows, chain = append(stage.loaded.chain, acts(stage), actor=stage.actor, at=stage.now)
    stage.batch.extend("audit", rows)
    add_instance(stage, chain)
    add_runtime(stage, task_ids)
    hold_or_free_signals(stage)
    tell_parent(stage)
