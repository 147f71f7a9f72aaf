"""Write a slice as acts for the audit. Step runs are read from them (engine.models.step_run)."""

from collections.abc import Iterator
from typing import Any

from engine.audit.actions import ACTION_OF_STATUS, ACTION_OF_STEP
from engine.audit.chain import Act, moment
from engine.kernel.effects import OpenTask, Slice, StepRun, Wait, WaitKind
from engine.kernel.errors import error_names
from engine.kernel.signals import CancelCase, TaskCompleted
from engine.kernel.transitions import InstanceStatus, StepStatus
from engine.runtime.projection.stage import Stage
from engine.runtime.projection.tasks import TASK_STATUS_OF

STEP_ENDS = frozenset(
    {
        StepStatus.SUCCESS, StepStatus.FAILED, StepStatus.SKIPPED, StepStatus.TIMED_OUT,
        StepStatus.CANCELLED, StepStatus.COMPENSATED,
    }
)  # fmt: skip


def acts(stage: Stage) -> Iterator[Act]:
    """Return the slice as acts: what came in, each step, the tasks, the end."""
    if stage.creates_instance:
        yield Act("start_workflow", new={"input": stage.loaded.input, "reference": stage.result.reference})
    for delivery, applied in zip(stage.deliveries, stage.result.applied, strict=True):
        if applied and isinstance(delivery.event, TaskCompleted):
            yield _task_completed(stage, delivery.event)
    yield from _closed_tasks(stage)
    runs: set[tuple[int, int]] = set()
    for entry in stage.result.trace:
        yield _step_act(stage, entry, is_first=(entry.run, entry.attempt) not in runs)
        runs.add((entry.run, entry.attempt))
    yield from stage.refusals
    for wait in stage.result.opened:
        if wait.task:
            yield _task_created(wait, wait.task)
    if stage.result.status is not stage.loaded.status and stage.result.status in ACTION_OF_STATUS:
        action = ACTION_OF_STATUS[stage.result.status]
        yield Act(action, cause=_cause(stage), old=stage.loaded.status, new=_ending(stage.result))


def _cause(stage: Stage) -> str:
    """Return the reason that an operator gave, if an operator ended it."""
    given = [delivery.event.reason for delivery in stage.deliveries if isinstance(delivery.event, CancelCase)]
    return given[0] or "" if given else ""


def _task_completed(stage: Stage, completed: TaskCompleted) -> Act:
    snapshot = stage.loaded.snapshot
    at = snapshot.resume_pointer(completed.token) if snapshot else {}
    over = completed.token in {closed.token for closed in stage.result.closed}
    new = {"outcome": completed.outcome, "values": dict(completed.values), "token": completed.token}
    new |= {"for": completed.stood_in_for} if completed.stood_in_for else {}
    action = "task_completed" if over else "task_answered"
    return Act(action, step=at.get("taskName"), iteration=at.get("iteration"), new=new)


def _closed_tasks(stage: Stage) -> Iterator[Act]:
    """Return the acts of tasks that closed without an answer: withdrawn, expired or skipped."""
    answered = {
        delivery.event.token
        for delivery, applied in zip(stage.deliveries, stage.result.applied, strict=True)
        if applied and isinstance(delivery.event, TaskCompleted)
    }
    for closed in stage.result.closed:
        if closed.kind is WaitKind.TASK and closed.token not in answered:
            at = stage.loaded.snapshot.resume_pointer(closed.token) if stage.loaded.snapshot else {}
            action, new = f"task_{TASK_STATUS_OF[closed.how]}", {"token": closed.token}
            yield Act(action, step=at.get("taskName"), iteration=at.get("iteration"), new=new)


def _task_created(wait: Wait, task: OpenTask) -> Act:
    new = {"title": task.title, "token": wait.token} | ({"assignee": task.assignee} if task.assignee else {})
    return Act("task_created", step=wait.step, iteration=wait.iteration, new=new)


def _step_act(stage: Stage, entry: StepRun, *, is_first: bool) -> Act:
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
        run=_run(stage, entry, is_first=is_first),
    )


def _run(stage: Stage, entry: StepRun, *, is_first: bool) -> dict[str, Any]:
    """Describe the run of the step: its number, input and output; what never changes only with its first act in the slice."""
    fixed = {"kind": entry.kind, "path": entry.path, "parent": entry.parent} if is_first else {}
    found = {
        "n": entry.run,
        **fixed,
        "at": moment(entry.at) if entry.at != stage.now else None,
        "input": entry.input,
        "output": entry.output,
        "error": error_names(entry.error) if entry.error else None,
        "reason": entry.reason,
    }
    return {name: value for name, value in found.items() if value is not None}


def _ending(result: Slice) -> Any:
    if result.error:
        return {"error": f"{result.error.error_class}/{result.error.code}", "message": result.error.message}
    if result.status is InstanceStatus.RUNNING:
        return result.status
    return {"outcome": result.outcome} if result.outcome else None
