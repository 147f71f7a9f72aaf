"""Turn a slice into the rows that tell it: projections, waits, tasks, signals, receipts and audit.

Pure but for fresh ids: a loaded instance, the deliveries and the kernel's slice go in, rows go into a batch.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from engine.audit import Act, Chain, append
from engine.commit import Batch, Row
from engine.kernel.effects import SIGNAL_OF_WAIT, ClosedWait, Closing, Slice, StepRun, Wait, WaitKind
from engine.kernel.signals import CallFailed, CallSucceeded, Happening, InstanceFacts, SignalType, TaskCompleted
from engine.kernel.snapshot import SCHEMA_VERSION, Snapshot
from engine.kernel.transitions import RESULT_OF, TERMINAL_INSTANCE, InstanceStatus, StepStatus, TaskStatus
from engine.models.task import PRIORITIES
from workflowplatform.accounts.actor import Actor
from workflowplatform.ids import uuid7

NEVER = datetime(9999, 1, 1, tzinfo=UTC)
"""Later than anything: when held signals are due, and tasks without a date."""

PROVIDER = "kernel"


@dataclass(frozen=True, slots=True)
class Loaded:
    """An instance whose runtime row is locked, or (state_version 0) one about to be born."""

    instance_id: UUID
    tenant_id: UUID
    template_id: UUID
    version_id: UUID
    state_version: int
    snapshot: Snapshot | None
    status: InstanceStatus
    facts: InstanceFacts
    chain: Chain
    now: datetime
    started_by_id: UUID | None = None
    input: Any = None
    parent_id: UUID | None = None
    active_task_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Delivery:
    """One happening on its way into an instance: the signal it came by, and who caused it."""

    happening: Happening
    type: SignalType
    signal_id: UUID
    actor: Actor
    token: int | None = None
    queued: bool = True
    """Whether it has a row in the queue that must go."""


@dataclass(frozen=True, slots=True)
class Stage:
    """Everything one slice's rows are made from."""

    loaded: Loaded
    result: Slice
    deliveries: Sequence[Delivery]
    actor: Actor
    node: str
    batch: Batch

    @property
    def instance_id(self) -> str:
        return str(self.loaded.instance_id)

    @property
    def tenant_id(self) -> str:
        return str(self.loaded.tenant_id)

    @property
    def now(self) -> datetime:
        return self.loaded.now

    @property
    def next_version(self) -> int:
        return self.loaded.state_version + 1

    @property
    def is_held(self) -> bool:
        return self.result.status in (InstanceStatus.INCIDENT, InstanceStatus.SUSPENDED)


def project(stage: Stage) -> None:
    """Add every row of this slice to the stage's batch."""
    _add_receipts(stage)
    _add_closed(stage)
    task_ids = _add_opened(stage)
    _add_step_runs(stage)
    if stage.result.more:
        stage.batch.add("new_signals", _signal(stage, SignalType.INTERNAL_CONTINUE, None, stage.now))
    rows, chain = append(stage.loaded.chain, _acts(stage), actor=stage.actor, at=stage.now)
    stage.batch.extend("audit", rows)
    _add_instance(stage, chain)
    _add_runtime(stage, task_ids)


def _add_receipts(stage: Stage) -> None:
    for delivery, applied in zip(stage.deliveries, stage.result.applied, strict=True):
        stage.batch.add(
            "receipts",
            {
                "id": delivery.signal_id,
                "tenant_id": stage.tenant_id,
                "instance_id": stage.instance_id,
                "type": delivery.type,
                "waiting_token": delivery.token,
                "disposition": "applied" if applied else "stale",
                "at": stage.now,
            },
        )
    stage.batch.extend("signals_out", ({"id": delivery.signal_id} for delivery in stage.deliveries if delivery.queued))


def _add_closed(stage: Stage) -> None:
    answers = {
        delivery.token: delivery
        for delivery, applied in zip(stage.deliveries, stage.result.applied, strict=True)
        if applied and delivery.token
    }
    for closed in stage.result.closed:
        stage.batch.add("closed_waits", {"instance_id": stage.instance_id, "token": closed.token})
        if closed.kind is WaitKind.TASK:
            _close_task(stage, closed, answers.get(closed.token))
        elif closed.kind is WaitKind.CALL:
            _end_effect(stage, closed, answers.get(closed.token))


TASK_STATUS_OF = {
    Closing.ANSWERED: TaskStatus.COMPLETED,
    Closing.EXPIRED: TaskStatus.EXPIRED,
    Closing.WITHDRAWN: TaskStatus.CANCELLED,
}


def _close_task(stage: Stage, closed: ClosedWait, delivery: Delivery | None) -> None:
    status = TASK_STATUS_OF[closed.how]
    row: Row = {
        "instance_id": stage.instance_id,
        "token": closed.token,
        "status": status,
        "completed_at": stage.now,
        "completed_by_name": "",
    }
    if delivery and isinstance(delivery.happening, TaskCompleted):
        row |= _answer(stage, delivery.happening, delivery.actor)
    stage.batch.add("closed_tasks", row)
    actor = delivery.actor if delivery else stage.actor
    event = _event(stage, status, actor, new={"outcome": row.get("outcome")} if row.get("outcome") else None)
    stage.batch.add("closing_events", event | {"token": closed.token})


def _answer(stage: Stage, completed: TaskCompleted, actor: Actor) -> Row:
    return {
        "outcome": completed.outcome,
        "answer": dict(completed.values),
        "comment": completed.comment,
        "completed_by_id": actor.person_id,
        "completed_by_name": actor.name,
        "assignee_id": actor.person_id if not actor.crosses else None,
        "claimed_at": stage.now,
    }


def _end_effect(stage: Stage, closed: ClosedWait, delivery: Delivery | None) -> None:
    happening = delivery.happening if delivery else None
    status, result = "withdrawn", None
    if isinstance(happening, CallSucceeded):
        status, result = "succeeded", happening.value
    elif isinstance(happening, CallFailed):
        status = "failed"
        result = {"class": happening.error_class, "code": happening.code, "message": happening.message}
    stage.batch.add(
        "ended_effects",
        {
            "instance_id": stage.instance_id,
            "token": closed.token,
            "status": status,
            "result": result,
            "ended_at": stage.now,
        },
    )


def _event(stage: Stage, kind: str, actor: Actor, *, new: Any = None) -> Row:
    return {
        "id": uuid7(),
        "tenant_id": stage.tenant_id,
        "instance_id": stage.instance_id,
        "kind": kind,
        "at": stage.now,
        "actor_id": actor.person_id,
        "actor_name": actor.name,
        "actor_level": actor.level,
        "cause": "",
        "new": new,
    }


def _add_opened(stage: Stage) -> dict[int, UUID]:
    """Add waits with what each needs beside it; return the ids of new tasks by token."""
    task_ids: dict[int, UUID] = {}
    for wait in stage.result.opened:
        stage.batch.add("new_waits", _wait(stage, wait))
        if wait.kind in SIGNAL_OF_WAIT:
            stage.batch.add(
                "new_signals", _signal(stage, SIGNAL_OF_WAIT[wait.kind], wait.token, _wakes_at(stage, wait))
            )
        if wait.call:
            stage.batch.add("new_effects", _effect(stage, wait))
        if wait.task:
            task_ids[wait.token] = _open_task(stage, wait)
    return task_ids


def _wait(stage: Stage, wait: Wait) -> Row:
    return {
        "instance_id": stage.instance_id,
        "tenant_id": stage.tenant_id,
        "token": wait.token,
        "kind": wait.kind,
        "step": wait.step,
        "path": wait.path,
        "iteration": wait.iteration,
        "run": wait.run,
        "due_at": wait.due_at,
        "name": wait.name,
        "key": wait.key,
        "side": wait.side,
        "opened_at": stage.now,
    }


def _wakes_at(stage: Stage, wait: Wait) -> datetime:
    """Say when a wait's signal is due: a call at once (its own date is the answer's deadline), a timer at its time."""
    return stage.now if wait.kind is WaitKind.CALL else wait.due_at or stage.now


def _signal(stage: Stage, kind: SignalType, token: int | None, due_at: datetime) -> Row:
    return {
        "id": uuid7(),
        "tenant_id": stage.tenant_id,
        "instance_id": stage.instance_id,
        "runtime_provider": PROVIDER,
        "type": kind,
        "expected_version": stage.next_version,
        "waiting_token": token,
        "occurred_at": stage.now,
        "due_at": NEVER if stage.is_held else due_at,
        "held_due_at": due_at if stage.is_held else None,
        "payload": {},
        "attempts": 0,
    }


def _effect(stage: Stage, wait: Wait) -> Row:
    call = wait.call
    assert call
    return {
        "instance_id": stage.instance_id,
        "tenant_id": stage.tenant_id,
        "token": wait.token,
        "path": wait.path,
        "transport": call.transport,
        "request": dict(call.request),
        "key": call.key,
        "attempt": call.attempt,
        "timeout_seconds": call.timeout_seconds,
        "status": "intended",
        "made": 0,
        "intended_at": stage.now,
    }


def _open_task(stage: Stage, wait: Wait) -> UUID:
    task = wait.task
    assert task
    task_id = uuid7()
    priority = PRIORITIES.index(task.priority) if task.priority in PRIORITIES else 1
    reference = stage.result.reference or stage.loaded.facts.reference
    stage.batch.add(
        "new_tasks",
        {
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
            "outcomes": [asdict(outcome) for outcome in task.outcomes],
            "comment_rule": task.comment,
            "effective_roles": task.roles,
            "owner": "",
            "business_reference": reference,
            "priority": priority,
            "created_at": stage.now,
            "completed_by_name": "",
            "comment": "",
            "assignee_name": task.assignee,
        }
        | {
            name: getattr(task, name)
            for name in (
                "type", "route", "title", "description", "instructions", "payload", "form", "columns", "users",
                "min_level", "excluded", "extra", "due_at", "follow_up_at",
            )
        },
    )  # fmt: skip
    stage.batch.extend("new_candidates", _candidates(stage, wait, task_id, priority))
    stage.batch.add("new_events", _event(stage, "created", stage.actor) | {"task_id": task_id})
    if task.assignee:
        event = _event(stage, "assigned", stage.actor, new={"assignee": task.assignee})
        stage.batch.add("new_events", event | {"task_id": task_id})
    return task_id


def _candidates(stage: Stage, wait: Wait, task_id: UUID, priority: int) -> Iterator[Row]:
    """Offer the task to its roles and people, or to everybody where the author named nobody."""
    task = wait.task
    assert task
    row = {
        "tenant_id": stage.tenant_id,
        "task_id": task_id,
        "rank": len(PRIORITIES) - priority,
        "due_at": task.due_at or NEVER,
        "everybody": False,
    }
    for role in task.roles:
        yield row | {"role": role}
    for person in (*task.users, *([task.assignee] if task.assignee else [])):
        yield row | {"person": person}
    if not (task.roles or task.users or task.assignee):
        yield row | {"everybody": True}


STEP_ENDS = frozenset(
    {
        StepStatus.SUCCESS, StepStatus.FAILED, StepStatus.SKIPPED, StepStatus.TIMED_OUT,
        StepStatus.CANCELLED, StepStatus.COMPENSATED,
    }
)  # fmt: skip


def _add_step_runs(stage: Stage) -> None:
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
        "error": asdict(entry.error) if entry.error else None,
        "reason": entry.reason,
    }


ACTION_OF_STEP = {
    StepStatus.PENDING: "hold_step",
    StepStatus.RUNNING: "execute_step",
    StepStatus.SUCCESS: "complete_step",
    StepStatus.FAILED: "fail_step",
    StepStatus.SKIPPED: "skip_step",
    StepStatus.RETRYING: "retry_step",
    StepStatus.TIMED_OUT: "expire_step",
    StepStatus.CANCELLED: "cancel_step",
    StepStatus.COMPENSATED: "compensate_step",
}

ACTION_OF_STATUS = {
    InstanceStatus.COMPLETED: "complete_workflow",
    InstanceStatus.FAILED: "fail_workflow",
    InstanceStatus.CANCELLED: "cancel_workflow",
    InstanceStatus.EXPIRED: "expire_workflow",
    InstanceStatus.INCIDENT: "raise_incident",
}


def _acts(stage: Stage) -> Iterator[Act]:
    """Tell the slice as acts: what came in, each step, the tasks, the end."""
    if stage.loaded.snapshot is None:
        yield Act("start_workflow", new={"input": stage.loaded.input, "reference": stage.result.reference})
    for delivery in stage.deliveries:
        if isinstance(delivery.happening, TaskCompleted) and delivery.token in {c.token for c in stage.result.closed}:
            yield _task_completed(stage, delivery.happening)
    for entry in stage.result.trace:
        yield _step_act(stage, entry)
    for wait in stage.result.opened:
        if wait.task:
            yield Act("task_created", step=wait.step, iteration=wait.iteration, new={"title": wait.task.title})
    if stage.result.status is not stage.loaded.status and stage.result.status in ACTION_OF_STATUS:
        yield Act(ACTION_OF_STATUS[stage.result.status], old=stage.loaded.status, new=_ending(stage.result))


def _task_completed(stage: Stage, completed: TaskCompleted) -> Act:
    snapshot = stage.loaded.snapshot
    step = snapshot.resume_pointer(completed.token).get("taskName") if snapshot else None
    return Act("task_completed", step=step, new={"outcome": completed.outcome, "values": dict(completed.values)})


def _step_act(stage: Stage, entry: StepRun) -> Act:
    changes = (
        [change for change in stage.result.changes if change.run == entry.run] if entry.status in STEP_ENDS else []
    )
    old = {change.key: change.old for change in changes} or None
    new: Any = {change.key: change.new for change in changes} or None
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
    return {"outcome": result.outcome} if result.outcome else None


def _add_instance(stage: Stage, chain: Chain) -> None:
    loaded, result = stage.loaded, stage.result
    row: Row = {
        "id": stage.instance_id,
        "status": result.status,
        "result": RESULT_OF[result.status],
        "outcome": result.outcome,
        "reference": result.reference or loaded.facts.reference,
        "state": result.snapshot.state,
        "output": result.output,
        "error": asdict(result.error) if result.error else None,
        "ended_at": stage.now if result.status in TERMINAL_INSTANCE else None,
        "updated_at": stage.now,
        "audit_seq": chain.seq,
        "audit_hash": chain.hash,
    }
    if loaded.snapshot is not None:
        stage.batch.add("instances", row)
        return
    stage.batch.add(
        "new_instances",
        row
        | {
            "tenant_id": stage.tenant_id,
            "template_id": loaded.template_id,
            "version_id": loaded.version_id,
            "parent_id": loaded.parent_id,
            "input": loaded.input,
            "started_by_id": loaded.started_by_id,
            "started_by_name": loaded.facts.started_by or "",
            "started_at": loaded.facts.started_at,
        },
    )


def _add_runtime(stage: Stage, task_ids: dict[int, UUID]) -> None:
    loaded, result = stage.loaded, stage.result
    row = {
        "instance_id": stage.instance_id,
        "snapshot_schema_version": SCHEMA_VERSION,
        "snapshot": result.snapshot.to_json(),
        "runtime_status": result.status,
        "business_reference": result.reference or loaded.facts.reference,
        "last_signal_id": stage.deliveries[-1].signal_id if stage.deliveries else None,
        "last_error_code": result.error.code if result.error else None,
        "last_error_json": asdict(result.error) if result.error else None,
        "last_executed_by": stage.actor.name,
        "last_executed_on": stage.node,
        "updated_at": stage.now,
        "completed_at": stage.now if result.status in TERMINAL_INSTANCE else None,
    } | _next_wait(stage, task_ids)
    if loaded.snapshot is not None:
        stage.batch.add("runtimes", row | {"expected_version": loaded.state_version})
        _hold_signals(stage)
        return
    stage.batch.add(
        "new_runtimes",
        row
        | {
            "tenant_id": stage.tenant_id,
            "state_version": stage.next_version,
            "runtime_provider": PROVIDER,
            "runtime_instance_id": stage.instance_id,
            "created_at": stage.now,
        },
    )


def _hold_signals(stage: Stage) -> None:
    if not stage.is_held:
        return
    stage.batch.add(
        "signals_held",
        {
            "instance_id": stage.instance_id,
            "except_ids": [delivery.signal_id for delivery in stage.deliveries],
            "except_tokens": [closed.token for closed in stage.result.closed],
        },
    )


def _next_wait(stage: Stage, task_ids: dict[int, UUID]) -> Row:
    """Fill the single-wait columns with the wait that is due next; they are for people, the engine never reads them."""
    snapshot = stage.result.snapshot
    wait = min(snapshot.waits, key=lambda wait: (wait["side"], wait["dueAt"] or "9", wait["token"]), default=None)
    if wait is None:
        return {}
    task_id = task_ids.get(wait["token"]) if wait["kind"] == WaitKind.TASK else None
    return {
        "waiting_kind": wait["kind"],
        "waiting_token": wait["token"],
        "waiting_until": wait["dueAt"],
        "active_task_id": task_id or stage.loaded.active_task_id,
        "resume_pointer": snapshot.resume_pointer(wait["token"]),
    }
