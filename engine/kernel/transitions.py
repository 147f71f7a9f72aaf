"""The tables of legal status changes.

Four life-cycles exist: a template version's, an instance's, a step run's and a task's. Each is one table, status →
the statuses that may follow it. A status without followers is terminal. The database's triggers, the docs' diagrams
and the services all read these tables; no other code decides. `waiting` is not a status: an instance that waits is
`running` and has waits.
"""

from collections.abc import Mapping
from enum import StrEnum


class VersionStatus(StrEnum):
    DRAFT = "draft"
    ACTIVE = "active"
    PAUSED = "paused"
    ARCHIVED = "archived"


class InstanceStatus(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    SUSPENDED = "suspended"
    INCIDENT = "incident"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


class StepStatus(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    SUCCESS = "success"
    FAILED = "failed"
    SKIPPED = "skipped"
    RETRYING = "retrying"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    COMPENSATED = "compensated"


class TaskStatus(StrEnum):
    OPEN = "open"
    CLAIMED = "claimed"
    SUSPENDED = "suspended"
    COMPLETED = "completed"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


class Result(StrEnum):
    """What became of an instance, in the four words integrators ask for."""

    IN_PROGRESS = "in_progress"
    SUCCESS = "success"
    FAILURE = "failure"
    CANCELLED = "cancelled"


_V, _I, _S, _T = VersionStatus, InstanceStatus, StepStatus, TaskStatus

VERSION_MOVES: Mapping[VersionStatus, frozenset[VersionStatus]] = {
    _V.DRAFT: frozenset({_V.ACTIVE}),
    _V.ACTIVE: frozenset({_V.PAUSED, _V.ARCHIVED}),
    _V.PAUSED: frozenset({_V.ACTIVE, _V.ARCHIVED}),
    _V.ARCHIVED: frozenset(),
}

_ENDS = frozenset({_I.COMPLETED, _I.FAILED, _I.CANCELLED, _I.EXPIRED})

INSTANCE_MOVES: Mapping[InstanceStatus, frozenset[InstanceStatus]] = {
    _I.QUEUED: frozenset({_I.RUNNING, _I.INCIDENT}) | _ENDS,
    _I.RUNNING: frozenset({_I.SUSPENDED, _I.INCIDENT}) | _ENDS,
    _I.SUSPENDED: frozenset({_I.RUNNING, _I.INCIDENT, _I.CANCELLED}),
    _I.INCIDENT: frozenset({_I.RUNNING, _I.SUSPENDED}) | _ENDS,
    _I.COMPLETED: frozenset(),
    _I.FAILED: frozenset(),
    _I.CANCELLED: frozenset(),
    _I.EXPIRED: frozenset(),
}

_STEP_ENDS = frozenset({_S.SUCCESS, _S.FAILED, _S.SKIPPED, _S.TIMED_OUT, _S.CANCELLED})

STEP_MOVES: Mapping[StepStatus, frozenset[StepStatus]] = {
    _S.PENDING: frozenset({_S.RUNNING}) | _STEP_ENDS,
    _S.RUNNING: frozenset({_S.RETRYING, _S.PENDING}) | _STEP_ENDS,
    _S.RETRYING: frozenset({_S.RUNNING}) | _STEP_ENDS,
    _S.SUCCESS: frozenset({_S.COMPENSATED}),
    _S.FAILED: frozenset({_S.RETRYING, _S.RUNNING}),
    _S.SKIPPED: frozenset(),
    _S.TIMED_OUT: frozenset(),
    _S.CANCELLED: frozenset(),
    _S.COMPENSATED: frozenset(),
}

TASK_MOVES: Mapping[TaskStatus, frozenset[TaskStatus]] = {
    _T.OPEN: frozenset({_T.CLAIMED, _T.SUSPENDED, _T.COMPLETED, _T.SKIPPED, _T.CANCELLED, _T.EXPIRED}),
    _T.CLAIMED: frozenset({_T.OPEN, _T.SUSPENDED, _T.COMPLETED, _T.SKIPPED, _T.CANCELLED, _T.EXPIRED}),
    _T.SUSPENDED: frozenset({_T.OPEN, _T.CLAIMED, _T.CANCELLED, _T.EXPIRED}),
    _T.COMPLETED: frozenset(),
    _T.SKIPPED: frozenset(),
    _T.CANCELLED: frozenset(),
    _T.EXPIRED: frozenset(),
}

RESULT_OF: Mapping[InstanceStatus, Result] = {
    _I.QUEUED: Result.IN_PROGRESS,
    _I.RUNNING: Result.IN_PROGRESS,
    _I.SUSPENDED: Result.IN_PROGRESS,
    _I.INCIDENT: Result.IN_PROGRESS,
    _I.COMPLETED: Result.SUCCESS,
    _I.FAILED: Result.FAILURE,
    _I.EXPIRED: Result.FAILURE,
    _I.CANCELLED: Result.CANCELLED,
}

TERMINAL_INSTANCE = frozenset(status for status, followers in INSTANCE_MOVES.items() if not followers)
OPEN_TASK = frozenset(status for status, followers in TASK_MOVES.items() if followers)
