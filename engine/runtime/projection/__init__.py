"""Turn a slice into the rows that tell it: projections, waits, tasks, signals, receipts and audit."""

from engine.runtime.projection.queued_instances import project_deferred_start
from engine.runtime.projection.rows import project
from engine.runtime.projection.stage import HELD_STATUSES, NEVER, Delivery, Loaded, Stage, new_instance

__all__ = ["HELD_STATUSES", "NEVER", "Delivery", "Loaded", "Stage", "new_instance", "project", "project_deferred_start"]
