"""The values that describe what a slice asks the outside to do.

The interpreter returns one `Slice`; the runtime writes its rows, and nothing here knows how. Rows to insert and
delete in `wf_waits` are `opened` and `closed`; every wait of kind timer, retry and call also needs its delayed
signal, by `SIGNAL_OF_WAIT`. What every slice makes is a named tuple: as immutable as a frozen dataclass,
and made in a fifth of the time.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, Protocol

from engine.kernel.signals import Json, SignalType
from engine.kernel.snapshot import Snapshot
from engine.kernel.tasks.rules import NO_RULES, TaskRules
from engine.kernel.transitions import InstanceStatus, StepStatus


class WaitKind(StrEnum):
    TASK = "task"
    TIMER = "timer"
    SIGNAL = "signal"
    CHILD = "child"
    RETRY = "retry"
    CALL = "call"
    ADD = "add"


SIGNAL_OF_WAIT: Mapping[WaitKind, SignalType] = {
    WaitKind.TIMER: SignalType.TIMER_DUE,
    WaitKind.RETRY: SignalType.RETRY_DUE,
    WaitKind.CALL: SignalType.CALL_DUE,
}
"""Which delayed signal wakes a wait; kinds that are absent wait for a person or a sender."""


PRIORITIES = ("low", "normal", "high", "critical")
"""The names of priorities, the least urgent first."""


class Closing(StrEnum):
    """Why a wait is gone: it got its answer, its time ran out, a person skipped it, or the flow withdrew it."""

    ANSWERED = "answered"
    EXPIRED = "expired"
    SKIPPED = "skipped"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True)
class Outcome:
    name: str
    title: str
    reject: bool = False
    comment: str | None = None
    secure: bool = False
    """Whether it takes a sign-in: no link in a message is enough."""
    undo: float | None = None
    """How many seconds it can be taken back; None: as the task says."""


@dataclass(frozen=True, slots=True)
class OpenTask:
    """A human task, every expression evaluated. `excluded` may not act (four eyes); only `familiar` people, if any, may."""

    title: str
    description: str = ""
    instructions: str = ""
    type: str = ""
    route: str = ""
    roles: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    assignee: str | None = None
    min_level: int = 4
    form: Mapping[str, Json] = field(default_factory=dict)
    outcomes: tuple[Outcome, ...] = (Outcome("done", "Done"),)
    payload: Mapping[str, Json] = field(default_factory=dict)
    columns: Mapping[str, Json] = field(default_factory=dict)
    comment: str = "optional"
    priority: str = "normal"
    due_at: datetime | None = None
    follow_up_at: datetime | None = None
    sla_at: datetime | None = None
    """The SLA: when it should be done; a miss is recorded."""
    excluded: tuple[str, ...] = ()
    familiar: tuple[str, ...] = ()
    rules: TaskRules = NO_RULES


@dataclass(frozen=True, slots=True)
class MakeCall:
    """The intent of an outside call. `key` is one per occurrence, stable over attempts (idempotency_keys.py), or the author's."""

    transport: str
    request: Mapping[str, Json]
    key: str
    attempt: int
    timeout_seconds: float
    secrets: tuple[str, ...] = ()
    """Names of secrets that the author put into the request: it holds marks in their place, see secrets.py."""


class Wait(NamedTuple):
    """One live leaf. `side` waits (timeouts, reminders, handlers) do not keep an instance alive."""

    token: int
    kind: WaitKind
    step: str
    path: str
    iteration: str = ""
    run: int = 0
    """The frame number of the step that waits: its row in the step runs."""
    due_at: datetime | None = None
    name: str | None = None
    key: str | None = None
    side: bool = False
    task: OpenTask | None = None
    call: MakeCall | None = None


class ClosedWait(NamedTuple):
    token: int
    kind: WaitKind
    how: Closing


@dataclass(frozen=True, slots=True)
class Emit:
    """Something raised towards the outside of this instance: a signal by key, or an event."""

    kind: str
    name: str
    key: str | None
    payload: Json
    ttl: str | None = None


@dataclass(frozen=True, slots=True)
class StartChild:
    """A workflow to start: `token` waits for its end, None for continue_with."""

    token: int | None
    name: str
    version: str
    input: Json
    step: str
    path: str
    instance: str | None = None
    """The id that the new instance is to have, where one is given."""


@dataclass(frozen=True, slots=True)
class MakeCallLater:
    """An outside call without a wait: a worker makes it at least once, and its result changes nothing."""

    path: str
    step: str
    run: int
    call: MakeCall


@dataclass(frozen=True, slots=True)
class CancelChild:
    token: int


@dataclass(frozen=True, slots=True)
class NotifyPeople:
    """An e-mail about an open task: to the people, roles and addresses named, or to its candidates if none is."""

    token: int
    step: str
    why: str
    """notify, remind or escalate."""
    key: str
    to: tuple[str, ...] = ()
    subject: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class ChangeTask:
    """What an escalation changes about an open task: its priority, its candidates, its assignee."""

    token: int
    step: str
    priority: str | None = None
    roles: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    assignee: str | None = None
    late: bool = False
    """Whether the SLA was missed."""


class Pause(Protocol):
    """The time for which a clock was paused: engine.kernel.timing.pauses."""

    def move(self, due: datetime) -> datetime:
        """Return when something is due after it."""
        ...


@dataclass(frozen=True, slots=True)
class PauseClock:
    """The clock of an open task is paused: nothing is due until it runs again, which it does at `until` by itself."""

    token: int
    step: str
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class ResumeClock:
    """The clock of an open task runs again; what it promises moves by the pause."""

    token: int
    step: str
    pause: Pause
    ran_out: bool = False
    """Whether the pause took as long as its author allows, and the question is still open."""


@dataclass(frozen=True, slots=True)
class BarPeople:
    """The people whom four eyes now exclude from an open task, because they took part in a step that it names."""

    token: int
    step: str
    excluded: tuple[str, ...]


Effect = (
    Emit | StartChild | CancelChild | MakeCallLater | NotifyPeople | ChangeTask | BarPeople | PauseClock | ResumeClock
)


@dataclass(frozen=True, slots=True)
class ErrorRecord:
    error_class: str
    code: str
    message: str
    step: str | None = None
    attempt: int = 1
    cause: Json = None


class StepRun(NamedTuple):
    """One entry of the trace: the step run `run`, attempt `attempt`, has now this status. A run's last entry wins."""

    run: int
    step: str
    kind: str
    path: str
    iteration: str
    attempt: int
    status: StepStatus
    at: datetime
    began: bool
    """True for the entry that begins the attempt."""
    input: Json = None
    output: Json = None
    error: ErrorRecord | None = None
    reason: str | None = None
    """Why it was skipped, withdrawn or retried, as a sentence."""
    parent: int | None = None
    """The run of the step that it is part of; None at the top."""


class Change(NamedTuple):
    """A write to business state: top-level key, before and after (absent is None), and the run that wrote it."""

    run: int
    step: str
    key: str
    old: Json
    new: Json


class Slice(NamedTuple):
    """What one run to wait produced."""

    snapshot: Snapshot
    status: InstanceStatus
    applied: tuple[bool, ...]
    """For each event handed in, in order: true = applied, false = stale."""
    opened: tuple[Wait, ...] = ()
    closed: tuple[ClosedWait, ...] = ()
    effects: tuple[Effect, ...] = ()
    trace: tuple[StepRun, ...] = ()
    changes: tuple[Change, ...] = ()
    reference: str | None = None
    reference_parts: Mapping[str, Json] | None = None
    title: str | None = None
    """The title of the case, in the slice with which it begins; it never changes."""
    outcome: str | None = None
    output: Json = None
    error: ErrorRecord | None = None
    last_error: ErrorRecord | None = None
    """The instance's own error, else that of a step which is about to be tried again."""
    kept: tuple[bool, ...] = ()
    """For each event: true = a named signal that no wait took and that the instance keeps."""
    more: bool = False
    """True when the slice ended early and needs an InternalContinue."""
    barred: tuple[str, ...] = ()
    """Tasks that a person tried to end by another way although four eyes exclude them: the act was not applied."""
    made: int = 0
    """The total size of the values that its expressions made, in characters."""
