"""Rows of human tasks: opened with their candidates, closed with their answers, each with its event."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any
from uuid import UUID

from engine.kernel.effects import PRIORITIES, ClosedWait, Closing, OpenTask, Outcome, Wait
from engine.kernel.signals import TaskCompleted, TaskSkipped
from engine.kernel.transitions import TaskStatus
from engine.runtime.commit import Row
from engine.runtime.projection.stage import NEVER, Delivery, Loaded, Stage
from workflowplatform.accounts.actor import Actor
from workflowplatform.ids import uuid7

TASK_STATUS_OF = {
    Closing.ANSWERED: TaskStatus.COMPLETED,
    Closing.EXPIRED: TaskStatus.EXPIRED,
    Closing.SKIPPED: TaskStatus.SKIPPED,
    Closing.WITHDRAWN: TaskStatus.CANCELLED,
}

PLAIN = (
    "type", "route", "title", "description", "instructions", "payload", "form", "columns", "users",
    "min_level", "excluded", "familiar", "due_at", "follow_up_at", "sla_at",
)  # fmt: skip
"""What a task row takes over from the kernel's task under the same name."""


def close_task(stage: Stage, closed: ClosedWait, delivery: Delivery | None) -> None:
    """Close a task with its answer, or as withdrawn or expired, and note the event."""
    status = TASK_STATUS_OF[closed.how]
    row: Row = {
        "instance_id": stage.instance_id,
        "token": closed.token,
        "status": status,
        "completed_at": stage.now,
        "completed_by_name": "",
    }
    if delivery and isinstance(delivery.event, TaskCompleted):
        row |= _answer(stage, delivery.event, delivery.actor)
    stage.batch.add("closed_tasks", row)
    actor = delivery.actor if delivery else stage.actor
    entry = _event(stage, status, actor, new=_closing_facts(row, delivery))
    stage.batch.add("closing_events", entry | {"token": closed.token, "cause": _cause(delivery)})


def note_answers(stage: Stage) -> None:
    """Note each answer to a task that stays open: several people answer it, and not all have."""
    closed = {closed.token for closed in stage.result.closed}
    for delivery, applied in zip(stage.deliveries, stage.result.applied, strict=True):
        event = delivery.event
        if applied and isinstance(event, TaskCompleted) and event.token not in closed:
            place = {"instance_id": stage.instance_id, "token": event.token}
            names = [delivery.actor.name, *([event.stood_in_for] if event.stood_in_for else [])]
            stage.batch.add("answered_tasks", place | {"names": names})
            new = {"outcome": event.outcome, "values": dict(event.values), "comment": event.comment}
            new |= {"for": event.stood_in_for} if event.stood_in_for else {}
            entry = _event(stage, "answered", delivery.actor, new=new)
            stage.batch.add("answering_events", entry | {"token": event.token})


def _closing_facts(row: Row, delivery: Delivery | None) -> Row | None:
    """Return what the closing event tells: the outcome, and whom a deputy stood in for."""
    event = delivery.event if delivery else None
    absent = event.stood_in_for if isinstance(event, TaskCompleted | TaskSkipped) else None
    facts = {"outcome": row.get("outcome"), "for": absent}
    return {name: fact for name, fact in facts.items() if fact} or None


def _cause(delivery: Delivery | None) -> str:
    return delivery.event.reason if delivery and isinstance(delivery.event, TaskSkipped) else ""


def _answer(stage: Stage, completed: TaskCompleted, actor: Actor) -> Row:
    return {
        "outcome": completed.outcome,
        "answer": dict(completed.values),
        "comment": completed.comment,
        "completed_by_id": actor.person_id,
        "completed_by_name": actor.name,
        "completed_for_name": completed.stood_in_for,
        "assignee_id": actor.person_id if not actor.crosses else None,
        "claimed_at": stage.now,
    }


def open_task(stage: Stage, wait: Wait, task: OpenTask) -> UUID:
    """Add a task with its candidates and first events; return its id."""
    task_id = uuid7()
    stage.batch.add("new_tasks", _task(stage, wait, task, task_id))
    stage.batch.extend("new_candidates", _candidates(stage, task, task_id))
    stage.batch.add("new_events", _event(stage, "created", stage.actor) | {"task_id": task_id})
    if task.assignee:
        entry = _event(stage, "assigned", stage.actor, new={"assignee": task.assignee})
        stage.batch.add("new_events", entry | {"task_id": task_id})
    return task_id


def _priority(task: OpenTask) -> int:
    return PRIORITIES.index(task.priority) if task.priority in PRIORITIES else PRIORITIES.index("normal")


def _task(stage: Stage, wait: Wait, task: OpenTask, task_id: UUID) -> Row:
    return {
        "id": task_id,
        "tenant_id": stage.tenant_id,
        "instance_id": stage.instance_id,
        "version_id": stage.loaded.version_id,
        "token": wait.token,
        "step": wait.step,
        "path": wait.path,
        "iteration": wait.iteration,
        "status": TaskStatus.OPEN,
        "name": wait.step,
        "outcomes": [_outcome(outcome) for outcome in task.outcomes],
        "comment_rule": task.comment,
        "effective_roles": task.roles,
        "owner": "",
        "business_reference": stage.reference,
        "priority": _priority(task),
        "created_at": stage.now,
        "completed_by_name": "",
        "comment": "",
        "assignee_name": task.assignee,
        "extra": task.rules.to_json(),
    } | {name: getattr(task, name) for name in PLAIN}


def _outcome(outcome: Outcome) -> Row:
    """Write an outcome; few are secure or say how long they can be taken back, so the others do not say that they are not."""
    row = asdict(outcome)
    usual = {"secure": False, "undo": None}
    return {key: value for key, value in row.items() if key not in usual or value != usual[key]}


def _candidates(stage: Stage, task: OpenTask, task_id: UUID) -> Iterator[Row]:
    """Offer the task to its roles and people, or to everybody where the author named nobody."""
    row = {
        "tenant_id": stage.tenant_id,
        "task_id": task_id,
        "rank": len(PRIORITIES) - _priority(task),
        "due_at": task.due_at or NEVER,
        "everybody": False,
    }
    for role in task.roles:
        yield row | {"role": role}
    for person in (*task.users, *([task.assignee] if task.assignee else [])):
        yield row | {"person": person}
    if not (task.roles or task.users or task.assignee):
        yield row | {"everybody": True}


def _event(stage: Stage, kind: str, actor: Actor, *, new: Any = None) -> Row:
    return task_event(stage.loaded, None, kind, actor, new=new)


def task_event(loaded: Loaded, task_id: UUID | None, kind: str, actor: Actor, *, new: Any = None) -> Row:
    """Write what happened to a task; the task may be named later."""
    return {
        "id": uuid7(),
        "tenant_id": loaded.tenant_id,
        "instance_id": loaded.instance_id,
        "task_id": task_id,
        "kind": kind,
        "at": loaded.now,
        "actor_id": actor.person_id,
        "actor_name": actor.name,
        "actor_level": actor.level,
        "cause": "",
        "new": new,
    }
