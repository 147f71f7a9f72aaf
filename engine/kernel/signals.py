"""Everything that can happen to an instance.

A *signal* is the durable message, a row of the queue; an *event* is its meaning for the machine. Most events
name a waiting token: the number of a leaf frame. One whose token is no live leaf is stale: it is recorded and changes
nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

Json = Any


class SignalType(StrEnum):
    """The types of rows that the queue holds."""

    TASK_COMPLETED = "TaskCompleted"
    TIMER_DUE = "TimerDue"
    RETRY_DUE = "RetryDue"
    CALL_DUE = "CallDue"
    EXTERNAL_SIGNAL = "ExternalSignal"
    SUB_WORKFLOW_COMPLETED = "SubWorkflowCompleted"
    INTERNAL_CONTINUE = "InternalContinue"
    PARENT_ENDED = "ParentEnded"


@dataclass(frozen=True, slots=True)
class Started:
    """Begin the instance: the first event of every instance. `input` already satisfies the input schema."""

    input: Json


@dataclass(frozen=True, slots=True)
class TaskCompleted:
    """A person answered. `values` already satisfy the form; `by` is the person's name; outcome one of the task's."""

    token: int
    outcome: str
    by: str | None
    values: Mapping[str, Json] = field(default_factory=dict)
    comment: str | None = None
    stood_in_for: str | None = None
    """The absent person whose task it is, where a deputy answers; four eyes count both."""
    prepared_by: tuple[str, ...] = ()
    """People who filled it in before, for the sender's final word; they took part too."""


@dataclass(frozen=True, slots=True)
class TimerDue:
    token: int


@dataclass(frozen=True, slots=True)
class RetryDue:
    token: int


@dataclass(frozen=True, slots=True)
class CallSucceeded:
    """The outside answered. `value` becomes the step's result."""

    token: int
    value: Json


@dataclass(frozen=True, slots=True)
class CallFailed:
    """The outside refused or did not answer; `error_class` is one of errors.ErrorClass."""

    token: int
    error_class: str
    code: str
    message: str
    value: Json = None


@dataclass(frozen=True, slots=True)
class NamedSignal:
    """A named signal: without key it is addressed to the instance; `all` wakes every open wait and is never kept."""

    name: str
    key: str | None
    payload: Json
    all: bool = False
    by: str | None = None
    """The person who sent it, if any, and the names that count as the same person: no signal ends a task that
    four eyes exclude its sender from."""


@dataclass(frozen=True, slots=True)
class TaskClaimed:
    """A person claimed a task: where the start picks, the other offers are withdrawn."""

    token: int
    by: str | None = None


@dataclass(frozen=True, slots=True)
class TaskReleased:
    """A person released a task: where its claim had picked, everything is offered again."""

    token: int


@dataclass(frozen=True, slots=True)
class ClockPaused:
    """A person asked a question about a task whose author lets its clock pause meanwhile."""

    token: int


@dataclass(frozen=True, slots=True)
class ClockResumed:
    """The question was answered or withdrawn: the clock of its task runs again."""

    token: int


@dataclass(frozen=True, slots=True)
class TaskSkipped:
    """A person skipped a task whose author allows that: the step ends without a result."""

    token: int
    by: str | None = None
    reason: str = ""
    stood_in_for: str | None = None


@dataclass(frozen=True, slots=True)
class TaskRedone:
    """A person wants an answered task done again, where its author allows that: the flow goes back to it."""

    step: str
    iteration: str = ""
    by: str | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ChildEnded:
    token: int
    status: str
    outcome: str | None
    output: Json
    error: Json
    instance: str
    waited: bool = False
    """Whether anything in the child waited for a person, a time, a signal or a call before it ended."""
    people: Mapping[str, str] = field(default_factory=dict)
    """The people who took part in the child or below it, with the moment when they last did."""
    operated: bool = False
    """Whether an operator intervened in the child or below it."""


@dataclass(frozen=True, slots=True)
class Continue:
    """Continue where a slice stopped early; `now` of the interrupted event travels in the snapshot."""


@dataclass(frozen=True, slots=True)
class CancelCase:
    """A person or program ends the instance: everything open is withdrawn."""

    reason: str | None = None
    outcome: str | None = None


@dataclass(frozen=True, slots=True)
class StepRetried:
    """An operator runs a failed step of an incident again: the run named, or the first that is stuck."""

    run: int | None = None
    input: Json = None
    """What replaces the step's own input, if the operator edited it."""
    by: str | None = None


@dataclass(frozen=True, slots=True)
class StepSkipped:
    """An operator skips a failed step of an incident, with values in place of its result if any are given."""

    run: int | None = None
    output: Json = None
    reason: str = ""
    by: str | None = None


@dataclass(frozen=True, slots=True)
class TaskReopened:
    """An operator reopens a task while nothing that followed its answer has been touched."""

    token: int
    """The token under which the task waited when it was answered."""
    before: Json = None
    """The snapshot that the answer found; a record of the event leaves it out, since a replay comes by it."""
    opened_at: str = ""
    """When the task was offered first: it is described as of then."""
    by: str | None = None
    reason: str = ""


Event = (
    Started
    | TaskCompleted
    | TimerDue
    | RetryDue
    | CallSucceeded
    | CallFailed
    | TaskClaimed
    | TaskReleased
    | ClockPaused
    | ClockResumed
    | TaskSkipped
    | TaskRedone
    | NamedSignal
    | ChildEnded
    | Continue
    | CancelCase
    | StepRetried
    | StepSkipped
    | TaskReopened
)


@dataclass(frozen=True, slots=True)
class InstanceFacts:
    """What expressions see as `instance`, and what never changes while it runs (but the reference)."""

    id: str
    template: str
    version: int
    started_by: str | None
    started_at: datetime
    reference: str | None = None


@dataclass(frozen=True, slots=True)
class Environment:
    """What the machine is given for one slice: the moment, and when to stop early. It has no clock of its own."""

    now: datetime
    max_steps: int = 500
    max_made: int = 8 * 1024 * 1024
    """How much the values of one slice may measure together before it stops early, in characters."""
    stop: Any = None
    """A function without arguments; true ends the slice early with a Continue. None: never."""
    largest: int = 0
    """How many characters of JSON an instance may keep; 0: any number."""
    weight: int = 0
    """How many it kept before this slice."""
    calendar: Any = None
    """A function of a business calendar's name that gives the calendar, or None where there is none of that name."""
    admit: Any = None
    """A function of (key, limit, seconds) for `rate_limit`: None lets the step continue, a moment says when to ask again."""
    has_place: Any = None
    """A function of a run's number for `throttle`: whether it was let in. None: nothing is throttled."""
    perform: Any = None
    """A function of (call, step) that makes a call here and now and gives its answer, or None where it must be waited for."""
    new_id: Any = None
    """A function of a run's number that gives the id of an instance to start. None: no id is known beforehand."""
    members: Any = None
    """A function of (roles, lowest level) that names the active people who hold any of these roles. None: nobody is known."""
    manager: Any = None
    """A function of a user name that gives the name of the person who leads them, or None. None: nobody leads anybody."""
    refuse_new_instance: Any = None
    """A function of (own_life, waited) that gives code and sentence where one more instance may not be started, else None."""
    decorator: Any = None
    """A function of a decorator's name that gives the decorator, or None where there is none of that name."""
