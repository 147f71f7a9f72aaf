"""Fold an instance's audit into what its projections must say: the status, every step's, every task's.

Pure: rows of one chain go in, in order, a `Folded` comes out. If it differs from the tables, something was changed past the
services, or an act was not told. A step's run has no number in the audit; runs of one step, round and attempt are told apart by
their order, and compared as a bag. A person counts as an assignee where the tenant knows them.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from engine.audit.actions import ACTION_OF_STATUS, ACTION_OF_STEP
from engine.kernel.transitions import OPEN_TASK, InstanceStatus, StepStatus, TaskStatus
from engine.models import Audit

StepPlace = tuple[str, str, int]
Steps = Counter[tuple[StepPlace, str]]

STATUS_OF_ACTION = {action: status for status, action in ACTION_OF_STATUS.items() if status != InstanceStatus.RUNNING}
STEP_OF_ACTION = {action: status for status, action in ACTION_OF_STEP.items()}
LIVE = frozenset({StepStatus.PENDING, StepStatus.RUNNING, StepStatus.RETRYING})
STANDING = frozenset({StepStatus.FAILED, StepStatus.TIMED_OUT})
"""Recorded before the step ends: an incident is at the step that failed, and what follows a timeout runs inside it. A step that
an interrupting handler withdraws is recorded twice."""
BEGINS = frozenset({StepStatus.PENDING, StepStatus.RUNNING})
TOLD_BY_NEW = frozenset({"suspend_workflow", "resume_workflow"})


@dataclass(frozen=True, slots=True)
class FoldedTask:
    """One task as its acts tell it."""

    token: int
    step: str
    iteration: str
    status: TaskStatus = TaskStatus.OPEN
    assignee: str | None = None


@dataclass(slots=True)
class Folded:
    """What a chain says about its instance."""

    status: str = ""
    runs: dict[StepPlace, list[StepStatus]] = field(default_factory=dict)
    tasks: dict[int, FoldedTask] = field(default_factory=dict)

    @property
    def steps(self) -> Steps:
        return Counter((place, status.value) for place, statuses in self.runs.items() for status in statuses)


def fold(rows: Iterable[Audit], people: Collection[str]) -> Folded:
    """Fold a chain; `people` are those whom its tenant knows."""
    folded = Folded()
    for row in rows:
        _fold_status(folded, row)
        if row.action in STEP_OF_ACTION:
            _fold_step(folded, row)
        elif row.action.startswith("task_"):
            _fold_task(folded, row, people)
    return folded


def _fold_status(folded: Folded, row: Audit) -> None:
    if row.action == "start_workflow":
        folded.status = InstanceStatus.QUEUED if (row.new or {}).get("queued") else InstanceStatus.RUNNING
    elif row.action == "admit_workflow":
        folded.status = InstanceStatus.RUNNING
    elif row.action in TOLD_BY_NEW:
        folded.status = str(row.new)
    elif row.action in STATUS_OF_ACTION:
        folded.status = STATUS_OF_ACTION[row.action]


def _fold_step(folded: Folded, row: Audit) -> None:
    """Apply an entry to its run: one that is active, one that was stopped, or a new one."""
    status = STEP_OF_ACTION[row.action]
    runs = folded.runs.setdefault((row.step or "", row.iteration or "", row.attempt or 1), [])
    moved = _moved(runs, status)
    if moved is None:
        runs.append(status)
    else:
        runs[moved] = status


def _moved(runs: list[StepStatus], status: StepStatus) -> int | None:
    movable = {StepStatus.PENDING, StepStatus.RETRYING} if status in BEGINS else LIVE
    live = [place for place, found in enumerate(runs) if found in movable]
    if live:
        return live[-1]
    before = {StepStatus.SUCCESS} if status == StepStatus.COMPENSATED else STANDING
    told_again = bool(runs) and runs[-1] == status == StepStatus.CANCELLED
    return len(runs) - 1 if status not in BEGINS and runs and (told_again or runs[-1] in before) else None


def _fold_task(folded: Folded, row: Audit, people: Collection[str]) -> None:
    told: dict[str, Any] = row.new if isinstance(row.new, dict) else {}
    kind = row.action.removeprefix("task_")
    if kind == "created":
        assignee = told.get("assignee")
        task = FoldedTask(told["token"], row.step or "", row.iteration or "")
        folded.tasks[task.token] = replace(task, assignee=assignee if assignee in people else None)
        return
    found = _meant(folded, row, told)
    act = TASK_ACTS.get(kind)
    if found is not None and act is not None:
        folded.tasks[found.token] = act(found, row, told, people)


def _meant(folded: Folded, row: Audit, told: dict[str, Any]) -> FoldedTask | None:
    """Find the task that an act speaks of: by its token, else the newest open one of that step and round."""
    if "token" in told:
        return folded.tasks.get(told["token"])
    place = (row.step or "", row.iteration or "")
    open_ones = [task for task in folded.tasks.values() if task.status in OPEN_TASK]
    return max(
        (task for task in open_ones if (task.step, task.iteration) == place), key=lambda task: task.token, default=None
    )


TaskAct = Callable[[FoldedTask, Audit, dict[str, Any], Collection[str]], FoldedTask]


def _handed(task: FoldedTask, row: Audit, told: dict[str, Any], people: Collection[str]) -> FoldedTask:
    return replace(task, status=TaskStatus.OPEN, assignee=told.get("assignee"))


def _claimed(task: FoldedTask, row: Audit, told: dict[str, Any], people: Collection[str]) -> FoldedTask:
    return replace(task, status=TaskStatus.CLAIMED, assignee=told.get("assignee"))


def _moved_to(task: FoldedTask, row: Audit, told: dict[str, Any], people: Collection[str]) -> FoldedTask:
    return replace(task, status=TaskStatus(told["status"]))


def _escalated(task: FoldedTask, row: Audit, told: dict[str, Any], people: Collection[str]) -> FoldedTask:
    return _handed(task, row, told, people) if told.get("assignee") else task


def _completed(task: FoldedTask, row: Audit, told: dict[str, Any], people: Collection[str]) -> FoldedTask:
    own = row.actor_id is not None and row.actor_name in people
    return replace(task, status=TaskStatus.COMPLETED, assignee=row.actor_name if own else task.assignee)


def _closed(status: TaskStatus) -> TaskAct:
    return lambda task, row, told, people: replace(task, status=status)


TASK_ACTS: dict[str, TaskAct] = {
    "claimed": _claimed,
    "released": _handed,
    "assigned": _handed,
    "reassigned": _handed,
    "escalated": _escalated,
    "suspended": _moved_to,
    "resumed": _moved_to,
    "completed": _completed,
    "skipped": _closed(TaskStatus.SKIPPED),
    "expired": _closed(TaskStatus.EXPIRED),
    "cancelled": _closed(TaskStatus.CANCELLED),
}
"""What an act does to a task; those that are absent (a comment, an answer of several) move nothing."""
