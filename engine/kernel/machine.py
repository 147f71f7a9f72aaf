"""The working copy of one slice, and the verbs that all step kinds are made of.

A live step, a running list of steps and a wait are frames. `open` begins a step, `wait` makes a leaf, `end` is the
only way out: it withdraws what is below, newest first, notes what became of the step, deletes the frame and queues
one message for the parent. Nothing calls upward: messages are told one after the other, so a loop of a thousand
automatic rounds does not grow the stack. What a step kind means stands in steps/, what the attributes beside it mean
in attributes.py, each in a table.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from engine.kernel.definition import Definition, Step
from engine.kernel.effects import (
    Change,
    ClosedWait,
    Closing,
    Effect,
    ErrorRecord,
    MakeCall,
    OpenTask,
    StepRun,
    Wait,
    WaitKind,
)
from engine.kernel.errors import StepError, error_names, error_record
from engine.kernel.periods import parse_moment, spell_moment
from engine.kernel.scope import Names
from engine.kernel.signals import InstanceFacts, Json
from engine.kernel.snapshot import Frame, Snapshot
from engine.kernel.transitions import InstanceStatus, StepStatus

COMPLETED, SKIPPED, FAILED, CANCELLED = "completed", "skipped", "failed", "cancelled"
STATUS_OF_OUTCOME: Mapping[str, StepStatus] = {
    COMPLETED: StepStatus.SUCCESS,
    SKIPPED: StepStatus.SKIPPED,
    FAILED: StepStatus.FAILED,
    CANCELLED: StepStatus.CANCELLED,
}


@dataclass(slots=True)
class Ended:
    """The message that a child has ended: who is told, who ended, as what, and how."""

    parent: int
    child: int
    role: str | None
    step: str | None
    key: Any
    outcome: str
    value: Json = None
    error: ErrorRecord | None = None

    def stored(self) -> list[Json]:
        """Give the JSON form."""
        error = error_names(self.error) if self.error is not None else None
        return [self.parent, self.child, self.role, self.step, self.key, self.outcome, self.value, error]

    @classmethod
    def read(cls, stored: list[Json]) -> "Ended":
        """Read back what `stored` gave."""
        parent, child, role, step, key, outcome, value, error = stored
        return cls(parent, child, role, step, key, outcome, value, error_record(error) if error is not None else None)


class Machine:
    """One slice's own copy of the case, and what it asks the world to do."""

    def __init__(
        self, definition: Definition, snapshot: Snapshot, facts: InstanceFacts, now: datetime, leave: "Leave"
    ) -> None:
        self.definition = definition
        self.leave = leave
        self.facts = facts
        self.now = now
        self._load(snapshot)
        self.output: Json = None
        self.error: ErrorRecord | None = None
        self.version = 0
        self.steps_run = 0
        self.opened: dict[int, Wait] = {}
        self.closed: list[ClosedWait] = []
        self.effects: list[Effect] = []
        self.trace: list[StepRun] = []
        self.changes: list[Change] = []
        self.origins: dict[int, tuple[ErrorRecord, Checkpoint]] = {}
        self._names: dict[int, Names] = {}
        self._fixed: dict[str, Json] | None = None

    def _load(self, snapshot: Snapshot) -> None:
        """Take a snapshot's values as this machine's own."""
        self.status = InstanceStatus(snapshot.status)
        self.next = snapshot.next_frame
        self.start = snapshot.start
        self.state = dict(snapshot.state)
        self.results = dict(snapshot.results)
        self.step_status = dict(snapshot.step_status)
        self.reference = snapshot.reference
        self.received = dict(snapshot.names)
        self.mutexes = {name: list(line) for name, line in snapshot.mutexes.items()}
        self.early = list(snapshot.early)
        self.done = list(snapshot.done)
        self.frames: dict[int, Frame] = {}
        self.children: dict[int, list[int]] = {0: []}
        for stored in snapshot.frames:
            self.adopt(Frame.read(stored))
        self.queue: deque[Ended] = deque(Ended.read(stored) for stored in snapshot.queue)
        self.outcome = snapshot.outcome

    def restore(self, origin: "Checkpoint") -> None:
        """Stand again where the case stood at a checkpoint; numbers used since stay used."""
        numbers = self.next
        self._load(origin.snapshot)
        self.next = numbers
        closed, effects, trace, changes = origin.marks
        del self.closed[closed:], self.effects[effects:], self.trace[trace:], self.changes[changes:]
        self.opened = dict(origin.opened)
        self._names.clear()
        self.touch()

    # frames

    def adopt(self, frame: Frame) -> None:
        """Take a frame into the tables."""
        self.frames[frame.n] = frame
        self.children[frame.n] = []
        self.children.setdefault(frame.p, []).append(frame.n)

    def new(self, parent: int) -> Frame:
        """Make a frame with a number that was never used."""
        frame = Frame(self.next, parent)
        self.next += 1
        self.adopt(frame)
        return frame

    def step_of(self, frame: Frame) -> Step:
        """Give the step that a frame runs."""
        return self.definition.steps[frame.step or ""]

    def owner(self, frame: Frame) -> Frame:
        """Give the nearest step frame at or above."""
        while frame.step is None:
            frame = self.frames[frame.p]
        return frame

    def below(self, frame: Frame) -> list[Frame]:
        """List everything below a frame, newest first."""
        found: list[int] = []
        pending = list(self.children[frame.n])
        while pending:
            number = pending.pop()
            found.append(number)
            pending += self.children[number]
        return [self.frames[number] for number in sorted(found, reverse=True)]

    def iteration(self, frame: Frame) -> str:
        """Spell which rounds and items a frame is in."""
        marks: list[str] = []
        number = frame.n
        while number:
            found = self.frames[number]
            if found.pos is not None:
                marks.append(found.pos)
            number = found.p
        return "".join(reversed(marks))

    # names

    def fixed_names(self) -> dict[str, Json]:
        """Give the names that all places share."""
        if self._fixed is None:
            facts = self.facts
            instance = {
                "id": facts.id,
                "reference": self.reference,
                "started_by": facts.started_by,
                "started_at": spell_moment(facts.started_at),
                "template": facts.template,
                "version": facts.version,
            }
            self._fixed = {"start": self.start, "now": self.now, "instance": instance, **self.received}
        return self._fixed

    def touch(self) -> None:
        """Let expressions see what was just written."""
        self.version += 1
        self._fixed = None

    def names(self, frame: Frame) -> Names:
        """Give the names at a frame."""
        layers: list[Frame] = []
        number = frame.n
        while number:
            found = self.frames[number]
            if found.env is not None or found.results is not None or found.state is not None:
                layers.append(found)
            number = found.p
        place = layers[0].n if layers else 0
        if place not in self._names:
            self._names[place] = Names(self, layers)
        return self._names[place]

    # waits

    def wait(
        self,
        frame: Frame,
        kind: WaitKind,
        *,
        due: datetime | None = None,
        role: str | None = None,
        side: bool = False,
        name: str | None = None,
        key: str | None = None,
        task: OpenTask | None = None,
        call: MakeCall | None = None,
    ) -> Frame:
        """Open a leaf below a step: its number is the token that ends the wait."""
        leaf = self.new(frame.n)
        leaf.wait, leaf.role, leaf.side = kind.value, role, side
        leaf.due = spell_moment(due) if due is not None else None
        leaf.name = [name, key] if name is not None else None
        step = self.step_of(frame)
        self.opened[leaf.n] = Wait(
            leaf.n, kind, step.id, step.path, self.iteration(frame), frame.n, due, name, key, side, task, call
        )
        return leaf

    def close(self, leaf: Frame, how: Closing) -> None:
        """Take a leaf away; one opened in this very slice leaves no trace."""
        self.remove(leaf)
        if self.opened.pop(leaf.n, None) is None:
            self.closed.append(ClosedWait(leaf.n, WaitKind(str(leaf.wait)), how))

    def remove(self, frame: Frame) -> None:
        """Take a frame out of the tables."""
        del self.frames[frame.n]
        del self.children[frame.n]
        self.children[frame.p].remove(frame.n)
        self._names.pop(frame.n, None)

    # what became of steps

    def note(
        self,
        frame: Frame,
        status: StepStatus,
        *,
        began: bool = False,
        output: Json = None,
        error: ErrorRecord | None = None,
        reason: str | None = None,
    ) -> None:
        """Add an entry to the trace and remember the step's status."""
        step = self.step_of(frame)
        if not step.id:
            return
        self.step_status[step.id] = status.value
        self.trace.append(
            StepRun(
                frame.n, step.id, step.kind, step.path, self.iteration(frame), max(frame.attempt, 1), status, self.now,
                began, None, output, error, reason,
            )
        )  # fmt: skip

    def write_result(self, frame: Frame, name: str, value: Json) -> None:
        """Keep a result in the nearest frame that has its own, else in the case."""
        self._results_of(frame)[name] = value
        self.touch()

    def forget_result(self, frame: Frame, name: str) -> None:
        """Drop a result that an unsuccessful newer run makes untrue."""
        if self._results_of(frame).pop(name, None) is not None:
            self.touch()

    def _results_of(self, frame: Frame) -> dict[str, Json]:
        number = frame.p
        while number:
            above = self.frames[number]
            if above.results is not None:
                return above.results
            number = above.p
        return self.results

    def state_of(self, frame: Frame) -> dict[str, Json]:
        """Give the state that a step at this frame writes to."""
        number = frame.n
        while number:
            found = self.frames[number]
            if found.state is not None:
                return found.state
            number = found.p
        return self.state

    # ends

    def end(
        self,
        frame: Frame,
        outcome: str,
        value: Json = None,
        error: ErrorRecord | None = None,
        *,
        status: StepStatus | None = None,
        reason: str | None = None,
        how: Closing = Closing.WITHDRAWN,
    ) -> None:
        """End a frame: withdraw below, note, delete, queue the message. The only way out."""
        self.withdraw_below(frame, how)
        if frame.step is not None:
            self.leave(self, frame, outcome)
            self.note(frame, status or STATUS_OF_OUTCOME[outcome], output=value, error=error, reason=reason)
        self.remove(frame)
        self.queue.append(Ended(frame.p, frame.n, frame.role, frame.step, frame.key, outcome, value, error))

    def withdraw_below(self, frame: Frame, how: Closing = Closing.WITHDRAWN, *, keep_side: bool = False) -> None:
        """Withdraw everything below a frame, newest first; its own side waits may stay."""
        for found in self.below(frame):
            if keep_side and found.side and found.p == frame.n:
                continue
            self.withdraw(found, how if found.p == frame.n else Closing.WITHDRAWN)

    def withdraw(self, frame: Frame, how: Closing) -> None:
        """Take one frame away without telling anybody."""
        if frame.wait is not None:
            self.close(frame, how)
            return
        if frame.step is not None:
            self.leave(self, frame, CANCELLED)
            self.note(frame, StepStatus.CANCELLED, reason="withdrawn")
        self.remove(frame)

    # storing

    def snapshot(self) -> Snapshot:
        """Give what the next slice needs."""
        return Snapshot(
            status=self.status.value,
            now=spell_moment(self.now),
            next_frame=self.next,
            start=self.start,
            state=self.state,
            results=self.results,
            step_status=self.step_status,
            reference=self.reference,
            outcome=self.outcome,
            names=self.received,
            mutexes={name: line for name, line in self.mutexes.items() if line},
            early=self.early,
            queue=[message.stored() for message in self.queue],
            done=self.done,
            frames=[self.frames[number].stored() for number in sorted(self.frames)],
            waits=[self._shown(leaf) for leaf in self.leaves()],
        )

    def leaves(self) -> list[Frame]:
        """List the waits, oldest first."""
        return [self.frames[number] for number in sorted(self.frames) if self.frames[number].wait is not None]

    def _shown(self, leaf: Frame) -> dict[str, Json]:
        """Describe a wait for people: where it is and what comes next."""
        step = self.step_of(self.owner(leaf))
        home = self.definition.lists.get(step.home)
        return {
            "token": leaf.n,
            "kind": leaf.wait,
            "side": leaf.side,
            "dueAt": leaf.due,
            "entryPointKind": leaf.wait,
            "taskName": step.id,
            "branchPath": step.path,
            "nextStepIndex": home.place[step.id] + 1 if home is not None else 0,
            "iteration": self.iteration(leaf),
        }


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The case as it stood when a step failed: what an incident goes back to."""

    frame: int
    snapshot: Snapshot
    marks: tuple[int, int, int, int]
    opened: dict[int, Wait]


Leave = Callable[[Machine, Frame, str], None]
"""What happens whenever a step frame goes, in whatever way: locks are freed, `finally` runs."""


def moment_of(value: Json, what: str) -> datetime:
    """Read a computed moment, or fail the step."""
    try:
        return parse_moment(value if isinstance(value, str) else "")
    except ValueError as problem:
        raise StepError("expression", "bad_moment", f"{what}: {problem}") from None
