"""The working copy of one slice, and the verbs that all step kinds are made of.

A live step, a running list of steps and a wait are frames. `wait` makes a leaf, `end` is the only way out: it
withdraws what is below, newest first, notes what became of the step, deletes the frame and queues one message for the
parent. Nothing calls upward: messages are delivered one after the other, so a loop of a thousand automatic rounds does not
grow the stack. What a step kind means is in steps/, what the attributes mean in step_start.py,
step_end.py and step_timers.py, each in a table.
"""

from collections import deque
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Protocol

from engine.kernel.effects import (
    CancelChild,
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
from engine.kernel.errors import StepError
from engine.kernel.machine.expression_scope import Names
from engine.kernel.machine.frame_tree import Tree
from engine.kernel.machine.messages import Checkpoint, Ended
from engine.kernel.machine.size_limits import Scales, weight_of
from engine.kernel.machine.wait_descriptions import shown_child, shown_wait
from engine.kernel.program import Definition
from engine.kernel.signals import Environment, InstanceFacts, Json
from engine.kernel.snapshot import Frame, Snapshot, copied
from engine.kernel.timing.periods import parse_moment, spell_moment
from engine.kernel.transitions import InstanceStatus, StepStatus

COMPLETED, SKIPPED, FAILED, CANCELLED = "completed", "skipped", "failed", "cancelled"
STATUS_OF_OUTCOME: Mapping[str, StepStatus] = {
    COMPLETED: StepStatus.SUCCESS,
    SKIPPED: StepStatus.SKIPPED,
    FAILED: StepStatus.FAILED,
    CANCELLED: StepStatus.CANCELLED,
}


LARGEST_ACT = 16 * 1024 * 1024
"""How much the values may measure that one step, or what follows from its end, makes; more fails the step."""


class Rules(Protocol):
    """What the attributes of a step do; given to the machine by the interpreter."""

    def finish(self, machine: "Machine", frame: Frame, outcome: str, value: Json, error: ErrorRecord | None) -> None:
        """Act when the body of a step is over."""

    def leave(self, machine: "Machine", frame: Frame, outcome: str) -> None:
        """Act whenever a step frame goes, in whatever way."""

    def happened(self, machine: "Machine", frame: Frame) -> None:
        """Act when something completed for the first time inside an offer."""


class Machine(Tree):
    """One slice's own copy of the instance, and what it asks the world to do."""

    def __init__(
        self, definition: Definition, snapshot: Snapshot, facts: InstanceFacts, environment: Environment, rules: Rules
    ) -> None:
        self.definition = definition
        self.facts = facts
        self.environment = environment
        self.rules = rules
        self.now = environment.now
        self._names: dict[int, Names] = {}
        self._load(snapshot)
        self.output: Json = None
        self.error: ErrorRecord | None = None
        self.version = 0
        self.steps_run = 0
        self.made = 0
        self.made_before = 0
        """What had been made when the act under way began: a step, or what follows from one."""
        self.scales = Scales(environment.weight, environment.largest)
        self.opened: dict[int, Wait] = {}
        self.closed: list[ClosedWait] = []
        self.effects: list[Effect] = []
        self.trace: list[StepRun] = []
        self.changes: list[Change] = []
        self.origins: dict[int, tuple[ErrorRecord, Checkpoint]] = {}
        self.took_part: dict[str, list[tuple[str, int]]] = {}
        """The steps in which a person took part in this slice, the person, and the next number at that time."""
        self.title: str | None = None
        """The title that this slice gave the case: only the first one does."""
        self.barred: list[str] = []
        """Tasks that a person excluded by four eyes tried to end by another way."""

    def _load(self, snapshot: Snapshot) -> None:
        """Take a snapshot's values as this machine's own."""
        self.status = InstanceStatus(snapshot.status)
        self.next = snapshot.next_frame
        self.start = snapshot.start
        self.state = dict(snapshot.state)
        self.results = dict(snapshot.results)
        self.step_status = dict(snapshot.step_status)
        self.reference = snapshot.reference
        self.reference_parts = snapshot.reference_parts
        self.outcome = snapshot.outcome
        self.received = dict(snapshot.names)
        self.mutexes = {name: list(line) for name, line in snapshot.mutexes.items()}
        self.early = list(snapshot.early)
        self.emits = deque(snapshot.emits)
        self.done = list(snapshot.done)
        self.people = {step: dict(names) for step, names in snapshot.people.items()}
        self.occurrences = dict(snapshot.occurrences)
        self.waited = snapshot.waited
        self.operated = snapshot.operated
        self.frames = {}
        self.children = {0: []}
        for stored in snapshot.frames:
            self.adopt(Frame.read(stored))
        self.queue: deque[Ended] = deque(Ended.read(stored) for stored in snapshot.queue)

    def checkpoint(self, frame: Frame) -> Checkpoint:
        """Remember the instance as it is now."""
        marks = (len(self.closed), len(self.effects), len(self.trace), len(self.changes))
        copy = Snapshot.from_json(copied(self.snapshot().to_json()))
        return Checkpoint(frame.n, copy, marks, dict(self.opened))

    def restore(self, origin: Checkpoint) -> None:
        """Go back to a checkpoint; numbers used since stay used."""
        numbers = self.next
        self._load(origin.snapshot)
        self.next = numbers
        closed, effects, trace, changes = origin.marks
        del self.closed[closed:], self.effects[effects:], self.trace[trace:], self.changes[changes:]
        self.opened = dict(origin.opened)
        self.forget_names()
        self.touch()

    # names

    def touch(self) -> None:
        """Make what was just written visible to expressions."""
        self.version += 1

    def names(self, frame: Frame) -> Names:
        """Return the names at a frame."""
        known = self._names.get(frame.n)
        if known is None:
            known = self._names[frame.n] = self._names_at(frame)
        return known

    def _names_at(self, frame: Frame) -> Names:
        """Return the names of the frame above, unless this one has names of its own."""
        if frame.p and not _has_names(frame):
            return self.names(self.frames[frame.p])
        return Names(self, [found for found in self.upward(frame) if _has_names(found)])

    def forget_names(self) -> None:
        """Build names anew: frames moved, or were given names of their own."""
        self._names.clear()

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
        self.drop(leaf)
        if leaf.wait == WaitKind.CHILD and how is not Closing.ANSWERED:
            self.effects.append(CancelChild(leaf.n))
        if self.opened.pop(leaf.n, None) is None:
            self.closed.append(ClosedWait(leaf.n, WaitKind(str(leaf.wait)), how))

    def handle(self, frame: Frame) -> None:
        """Run a handler in place of a body; the place that the body had under a throttle is free."""
        frame.phase, frame.place = "handling", None

    @property
    def is_spent(self) -> bool:
        """Return whether this slice has done what it may."""
        environment = self.environment
        done = self.steps_run >= environment.max_steps or self.made > environment.max_made or self.scales.is_loaded
        return done or (environment.stop is not None and bool(environment.stop()))

    def spend(self, made: int) -> None:
        """Count the size of a value; one act that makes too many fails, many acts stop the slice early."""
        self.made += made
        if self.made - self.made_before > LARGEST_ACT:
            raise StepError("expression", "too_much", f"a step makes at most {LARGEST_ACT:,} characters at once")

    def weigh(self, value: Json, share: int = 1) -> None:
        """Count a value that is about to be kept; refuse it where it or the instance would become too large."""
        self.scales.add(value, self._weight, share)

    def _weight(self) -> int:
        """Return how large the instance is now."""
        return weight_of(self.snapshot().to_json(), self.environment.largest)

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
        word = status.value
        if self.step_status.get(step.id) != word:
            self.step_status[step.id] = word
            self.version += self.definition.reads_status
        self.trace.append(
            StepRun(
                frame.n, step.id, step.kind, step.path, self.iteration(frame), frame.attempt or 1, status, self.now,
                began, None, output, error, reason, self._run_above(frame),
            )
        )  # fmt: skip

    def _run_above(self, frame: Frame) -> int | None:
        """Return the run of the step that a step is part of; the instance itself is none."""
        above = self.frames[frame.p]
        while above.step is None:
            above = self.frames[above.p]
        return above.n if above.step else None

    def note_input(self, frame: Frame, value: Json) -> None:
        """Record the input of a step in the trace entry of its start."""
        if self.trace and self.trace[-1].run == frame.n:
            self.trace[-1] = self.trace[-1]._replace(input=value)

    def write_result(self, frame: Frame, name: str, value: Json) -> None:
        """Keep a result in the nearest frame above that has its own, else in the instance."""
        self._results_of(frame)[name] = value
        self.touch()

    def forget_result(self, frame: Frame, name: str) -> None:
        """Drop a result that an unsuccessful newer run makes untrue."""
        if self._results_of(frame).pop(name, None) is not None:
            self.touch()

    def _results_of(self, frame: Frame) -> dict[str, Json]:
        for found in self.upward(frame):
            if found.results is not None and found is not frame:
                return found.results
        return self.results

    def state_of(self, frame: Frame) -> dict[str, Json]:
        """Return the state that a step at this frame writes to."""
        for found in self.upward(frame):
            if found.state is not None:
                return found.state
        return self.state

    # ends

    def finish(self, frame: Frame, outcome: str, value: Json = None, error: ErrorRecord | None = None) -> None:
        """Report that the body of a step is over; its attributes act, then the step ends."""
        self.rules.finish(self, frame, outcome, value, error)

    def attempt(self, frame: Frame, act: Callable[[], None]) -> None:
        """Do something for a step; what goes wrong in it is the step's error."""
        try:
            act()
        except StepError as problem:
            self.finish(frame, FAILED, error=problem.record(frame.step or None, max(frame.attempt, 1)))

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
        to: str | None = None,
    ) -> None:
        """End a frame: withdraw below, note, delete, queue the message. The only way out."""
        self.withdraw_below(frame, how)
        if frame.step is not None:
            self.rules.leave(self, frame, outcome)
            self.note(frame, status or STATUS_OF_OUTCOME[outcome], output=value, error=error, reason=reason)
        self.queue.append(Ended(frame.p, frame.n, frame.role, frame.step, frame.key, outcome, value, error, to))
        if frame.step is not None and outcome == COMPLETED and self.definition.has_offers:
            self.rules.happened(self, frame)
        if frame.n in self.frames:
            self.drop(frame)

    def withdraw_below(self, frame: Frame, how: Closing = Closing.WITHDRAWN, *, keep_side: bool = False) -> None:
        """Withdraw everything below a frame: all waits first, then the steps, newest first."""
        if not self.children[frame.n]:
            return
        below = self.below(frame)
        for leaf in below:
            if leaf.wait is not None and not (keep_side and leaf.side and leaf.p == frame.n):
                self.close(leaf, how if leaf.p == frame.n else Closing.WITHDRAWN)
        for found in below:
            if found.wait is None:
                self._withdraw(found)

    def withdraw(self, frame: Frame) -> None:
        """Remove a frame and everything below it without a message."""
        self.withdraw_below(frame)
        self._withdraw(frame)

    def _withdraw(self, frame: Frame) -> None:
        if frame.step is not None and frame.role != "linger":
            self.rules.leave(self, frame, CANCELLED)
            self.note(frame, StepStatus.CANCELLED, reason="withdrawn")
        self.drop(frame)

    # storing

    def snapshot(self) -> Snapshot:
        """Return what the next slice needs."""
        leaves = self.leaves()
        return Snapshot(
            status=self.status.value,
            now=spell_moment(self.now),
            next_frame=self.next,
            start=self.start,
            state=self.state,
            results=self.results,
            step_status=self.step_status,
            reference=self.reference,
            reference_parts=self.reference_parts,
            outcome=self.outcome,
            names=self.received,
            mutexes={name: line for name, line in self.mutexes.items() if line},
            early=self.early,
            emits=list(self.emits),
            queue=[message.stored() for message in self.queue],
            done=self.done,
            people=self.people,
            occurrences=self.occurrences,
            frames=[self.frames[number].stored() for number in sorted(self.frames)],
            waits=[shown_wait(self, leaf) for leaf in leaves],
            children=[shown_child(self, leaf, self.reference) for leaf in leaves if leaf.wait == WaitKind.CHILD],
            waited=self.waited,
            operated=self.operated,
        )


def _has_names(frame: Frame) -> bool:
    return frame.env is not None or frame.results is not None or frame.state is not None


def moment_of(value: Json, what: str) -> datetime:
    """Read a computed moment, or fail the step."""
    try:
        return parse_moment(value if isinstance(value, str) else "")
    except ValueError as problem:
        raise StepError("expression", "bad_moment", f"{what}: {problem}") from None
