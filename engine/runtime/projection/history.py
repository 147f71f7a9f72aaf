"""Rows of the past: step runs for the timeline, acts for the audit."""

from collections.abc import Iterator
from typing import Any

from engine.audit.actions import ACTION_OF_STATUS, ACTION_OF_STEP
from engine.audit.chain import Act
from engine.kernel.effects import OpenTask, Slice, StepRun, Wait, WaitKind
from engine.kernel.errors import error_names
from engine.kernel.signals import CancelCase, TaskCompleted
from engine.kernel.transitions import InstanceStatus, StepStatus
from engine.runtime.commit import Row
from engine.runtime.projection.stage import Stage
from engine.runtime.projection.tasks import TASK_STATUS_OF

STEP_ENDS = frozenset(
    {
        StepStatus.SUCCESS, StepStatus.FAILED, StepStatus.SKIPPED, StepStatus.TIMED_OUT,
        StepStatus.CANCELLED, StepStatus.COMPENSATED,
    }
)  # fmt: skip


def add_step_runs(stage: Stage) -> None:
    """Add one row an attempt: of several entries in this slice the last has the word."""
    rows: dict[tuple[int, int], Row] = {}
    for entry in stage.result.trace:
        rows[entry.run, entry.attempt] = _step_run(stage, entry, rows.get((entry.run, entry.attempt)))
    stage.batch.extend("step_runs", rows.values())


def _step_run(stage: Stage, entry: StepRun, before: Row | None) -> Row:
    return {
        "instance_id": stage.instance_id,
        "tenant_id": stage.tenant_id,
        "run": entry.run,
        "attempt": entry.attempt,
        "step": entry.step,
        "kind": entry.kind,
        "path": entry.path,
        "iteration": entry.iteration,
        "status": entry.status,
        "started_at": before["started_at"] if before else entry.at,
        "ended_at": entry.at if entry.status in STEP_ENDS else None,
        "input": entry.input if entry.input is not None else before["input"] if before else None,
        "output": entry.output,
        "error": error_names(entry.error) if entry.error else None,
        "reason": entry.reason,
        "parent_run": entry.parent,
    }


def acts(stage: Stage) -> Iterator[Act]:
    """Tell the slice as acts: what came in, each step, the tasks, the end."""
    if stage.is_birth:
        yield Act("start_workflow", new={"input": stage.loaded.input, "reference": stage.result.reference})
    for delivery, applied in zip(stage.deliveries, stage.result.applied, strict=True):
        if applied and isinstance(delivery.happening, TaskCompleted):
            yield _task_completed(stage, delivery.happening)
    yield from _closed_tasks(stage)
    for entry in stage.result.trace:
        yield _step_act(stage, entry)
    yield from stage.refusals
    for wait in stage.result.opened:
        if wait.task:
            yield _task_created(wait, wait.task)
    if stage.result.status is not stage.loaded.status and stage.result.status in ACTION_OF_STATUS:
        action = ACTION_OF_STATUS[stage.result.status]
        yield Act(action, cause=_cause(stage), old=stage.loaded.status, new=_ending(stage.result))


def _cause(stage: Stage) -> str:
    """Return the reason that an operator gave, if an operator ended it."""
    given = [delivery.happening.reason for delivery in stage.deliveries if isinstance(delivery.happening, CancelCase)]
    return given[0] or "" if given else ""


def _task_completed(stage: Stage, completed: TaskCompleted) -> Act:
    snapshot = stage.loaded.snapshot
    at = snapshot.resume_pointer(completed.token) if snapshot else {}
    over = completed.token in {closed.token for closed in stage.result.closed}
    new = {"outcome": completed.outcome, "values": dict(completed.values), "token": completed.token}
    action = "task_completed" if over else "task_answered"
    return Act(action, step=at.get("taskName"), iteration=at.get("iteration"), new=new)


def _closed_tasks(stage: Stage) -> Iterator[Act]:
    """Tell the tasks that closed without an answer: withdrawn, expired or skipped."""
    answered = {
        delivery.happening.token
        for delivery, applied in zip(stage.deliveries, stage.result.applied, strict=True)
        if applied and isinstance(delivery.happening, TaskCompleted)
    }
    for closed in stage.result.closed:
        if closed.kind is WaitKind.TASK and closed.token not in answered:
            at = stage.loaded.snapshot.resume_pointer(closed.token) if stage.loaded.snapshot else {}
            action, new = f"task_{TASK_STATUS_OF[closed.how]}", {"token": closed.token}
            yield Act(action, step=at.get("taskName"), iteration=at.get("iteration"), new=new)


def _task_created(wait: Wait, task: OpenTask) -> Act:
    new = {"title": task.title, "token": wait.token} | ({"assignee": task.assignee} if task.assignee else {})
    return Act("task_created", step=wait.step, iteration=wait.iteration, new=new)


def _step_act(stage: Stage, entry: StepRun) -> Act:
    changes = (
        [change for change in stage.result.changes if change.run == entry.run] if entry.status in STEP_ENDS else []
    )
    old = {change.key: change.old for change in changes} or None
    new: Any = {change.key: change.new for change in changes} or None
    if entry.status is StepStatus.SKIPPED and entry.output is not None:
        new = {"output": entry.output}
    if entry.error:
        new = {"error": f"{entry.error.error_class}/{entry.error.code}", "message": entry.error.message}
    return Act(
        ACTION_OF_STEP[entry.status],
        step=entry.step,
        iteration=entry.iteration,
        attempt=entry.attempt,
        cause=entry.reason or "",
        old=old,
        new=new,
    )


def _ending(result: Slice) -> Any:
    if result.error:
        return {"error": f"{result.error.error_class}/{result.error.code}", "message": result.error.message}
    if result.status is InstanceStatus.RUNNING:
        return result.status
    return {"outcome": result.outcome} if result.outcome else None
