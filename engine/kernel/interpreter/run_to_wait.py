"""Run an instance until every live branch waits, or the instance ends.

`advance` is a function: definition, snapshot, events → a slice. It applies one event after the other; after
each it notifies parents of their ended children, first in first out, until no message is left, then tries the deferred
rules, until nothing moves. Everything a kind or an attribute means is in tables; this loop knows none of them by
name. What an author or a person can cause never raises here: it becomes the error of a step.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import engine.kernel.steps.calls
import engine.kernel.steps.children
import engine.kernel.steps.ends
import engine.kernel.steps.sequences
import engine.kernel.steps.tasks  # noqa: F401
from engine.kernel.effects import Closing, ErrorRecord, Slice, WaitKind
from engine.kernel.errors import ErrorClass, KernelError, StepError, error_names
from engine.kernel.expressions.org_chart import lend_chart
from engine.kernel.interpreter.cleanup import leave
from engine.kernel.interpreter.deferred_rules import LATE_RULES
from engine.kernel.interpreter.redo import apply_redo
from engine.kernel.interpreter.reopening import reopen
from engine.kernel.interpreter.repair import apply_skip, error_of_stuck, let_go_on, stuck
from engine.kernel.interpreter.signal_delivery import deliver_signal
from engine.kernel.interpreter.timers_fired import DUE, ROLES, ring
from engine.kernel.machine.edited_input import edit
from engine.kernel.machine.four_eyes import bar_people, remember_person, watch_tasks
from engine.kernel.machine.machine import CANCELLED, COMPLETED, FAILED, SKIPPED, Machine
from engine.kernel.machine.messages import Checkpoint, Ended
from engine.kernel.machine.operator_marks import note_operated
from engine.kernel.machine.paused_clock import pause_clock, resume_clock
from engine.kernel.machine.step_end import error_of_retrying, finish, is_counted, run_again, uncaught_end
from engine.kernel.machine.step_start import begin, told_line
from engine.kernel.machine.step_table import KINDS
from engine.kernel.program import ROOT, Definition
from engine.kernel.signals import (
    CallFailed,
    CallSucceeded,
    CancelCase,
    ChildEnded,
    ClockPaused,
    ClockResumed,
    Continue,
    Environment,
    Event,
    InstanceFacts,
    Json,
    NamedSignal,
    RetryDue,
    Started,
    StepRetried,
    StepSkipped,
    TaskClaimed,
    TaskCompleted,
    TaskRedone,
    TaskReleased,
    TaskReopened,
    TaskSkipped,
    TimerDue,
)
from engine.kernel.snapshot import Frame, Snapshot, copied
from engine.kernel.steps.choices import claimed, happened, released
from engine.kernel.steps.immediate import read_head
from engine.kernel.timing.periods import parse_moment, spell_moment
from engine.kernel.transitions import TERMINAL_INSTANCE, InstanceStatus, StepStatus


class _Rules:
    """The attributes' rules, as the machine calls them."""

    finish = staticmethod(finish)
    leave = staticmethod(leave)
    happened = staticmethod(happened)


RULES = _Rules()


def advance(
    definition: Definition,
    snapshot: Snapshot | None,
    facts: InstanceFacts,
    events: Sequence[Event],
    environment: Environment,
) -> Slice:
    """Apply events to an instance and run it to its next waits."""
    snapshot = snapshot or _before_the_first(facts, environment)
    with lend_chart(environment.manager):
        return _advance(Machine(definition, snapshot, facts, environment, RULES), snapshot, events, environment)


def _advance(machine: Machine, snapshot: Snapshot, events: Sequence[Event], environment: Environment) -> Slice:
    if machine.status is InstanceStatus.INCIDENT:
        machine.error = error_of_stuck(machine)
    if machine.queue:
        machine.now = parse_moment(snapshot.now)
    pending = bool(machine.queue or machine.emits)
    more = _run(machine) if pending else False
    applied: list[bool] = []
    kept: list[bool] = []
    for event in events:
        if not more:
            machine.now = machine.now if isinstance(event, Continue) else environment.now
        early = len(machine.early)
        told = len(machine.trace)
        watch = watch_tasks(machine, event)
        machine.made_before = machine.made
        applied.append(pending if isinstance(event, Continue) else _apply(machine, event))
        kept.append(len(machine.early) > early)
        more = _run(machine) or more
        if watch is not None and watch.undo(machine):
            applied[-1] = kept[-1] = False
        if isinstance(event, Continue):  # a throttle slot may have become free
            applied[-1] = pending or len(machine.trace) > told
    bar_people(machine)
    machine.forget_names()  # names and machine refer to each other: without this every slice waits for the garbage collector
    return _slice(machine, tuple(applied), tuple(kept), more and machine.status not in TERMINAL_INSTANCE)


def _was_awaited(event: Event) -> bool:
    """Return whether an event came from outside: from a person, the clock, a signal, a call, or a child that waited."""
    return event.waited if isinstance(event, ChildEnded) else not isinstance(event, (Started, Continue))


def _before_the_first(facts: InstanceFacts, environment: Environment) -> Snapshot:
    return Snapshot(status=InstanceStatus.RUNNING.value, now=spell_moment(environment.now), reference=facts.reference)


def _run(machine: Machine) -> bool:
    """Deliver messages to parents until none is left; return whether the slice stopped early."""
    while True:
        while machine.queue:
            if _must_stop(machine):
                return True
            machine.made_before = machine.made
            _tell(machine, machine.queue.popleft())
        if not any(rule(machine) for rule in LATE_RULES):
            break
    _look_if_stuck(machine)
    return False


def _must_stop(machine: Machine) -> bool:
    """Stop early when enough was done, but never while an error is on its way up that may become an incident.

    Nor while the instance itself ends: a cancel is finished when its caller gets the answer.
    """
    if not machine.is_spent:
        return False
    on_its_way = (one for one in machine.queue if one.outcome == FAILED and not is_counted(machine, one.parent))
    return next(on_its_way, None) is None and not any(one.parent == 0 for one in machine.queue)


def _tell(machine: Machine, message: Ended) -> None:
    if message.parent == 0:
        _case_ended(machine, message)
        return
    parent = machine.frames.get(message.parent)
    if parent is None:
        return
    if message.role in ROLES:
        machine.attempt(parent, lambda: ROLES[str(message.role)](machine, parent, message))
    elif parent.list is not None:
        told_line(machine, parent, message)
    else:
        step = machine.step_of(parent)
        told = KINDS[step.kind].told
        assert told is not None
        machine.attempt(parent, lambda: told(machine, parent, step, message))


def _case_ended(machine: Machine, message: Ended) -> None:
    """Set the instance's last status, or make it an incident."""
    if message.outcome == FAILED:
        assert message.error is not None
        _case_failed(machine, message.error)
    elif message.outcome == CANCELLED:
        machine.status = InstanceStatus.CANCELLED
    else:
        machine.status = InstanceStatus.COMPLETED
    if machine.status in TERMINAL_INSTANCE:
        machine.queue.clear()
        machine.early.clear()
        machine.emits.clear()


def _case_failed(machine: Machine, error: ErrorRecord) -> None:
    machine.error = error
    status = uncaught_end(machine, error)
    if status is not None:
        machine.status = status
        return
    found = machine.origins.get(id(error))
    if found is None:
        raise KernelError(f"an error of class {error.error_class} has no origin")
    _go_back(machine, found[1], error)


def _go_back(machine: Machine, origin: Checkpoint, error: ErrorRecord) -> None:
    """Return to where the step failed, and stop there until an operator helps."""
    machine.restore(origin)
    frame = machine.frames[origin.frame]
    frame.phase, frame.place = "stuck", None
    frame.more = {**(frame.more or {}), "error": error_names(error)}
    machine.status = InstanceStatus.INCIDENT
    machine.error = error
    machine.note(frame, StepStatus.FAILED, error=error)


def _look_if_stuck(machine: Machine) -> None:
    """Turn a running instance that has only side waits into an incident: nothing is silently stuck."""
    if machine.status is not InstanceStatus.RUNNING or not machine.frames:
        return
    if any(frame.wait is not None and not frame.side for frame in machine.frames.values()):
        return
    error = ErrorRecord(ErrorClass.CONSISTENCY.value, "stuck", "nothing is left that could move this instance")
    root = machine.root
    root.phase, root.more = "stuck", {**(root.more or {}), "error": error_names(error)}
    machine.status, machine.error = InstanceStatus.INCIDENT, error


def _apply(machine: Machine, event: Event) -> bool:
    """Apply one event; return false when it is stale."""
    act = HAPPENINGS.get(type(event))
    if act is None:
        raise KernelError(f"unknown event {type(event).__name__}")
    if machine.status in TERMINAL_INSTANCE:
        return False
    before, machine.waited = machine.waited, machine.waited or _was_awaited(event)
    applied = act(machine, event)
    machine.waited = machine.waited if applied else before
    return applied


def _start(machine: Machine, event: Started) -> bool:
    if machine.next != 1:
        return False
    root = machine.new(0)
    root.step = ROOT
    machine.start = copied(event.input)
    machine.attempt(root, lambda: _begin_case(machine, root))
    return True


def _begin_case(machine: Machine, root: Frame) -> None:
    read_head(machine, root)
    begin(machine, root, machine.definition.root)


def reference_at_start(
    definition: Definition, facts: InstanceFacts, values: Json, environment: Environment
) -> str | None:
    """Return the reference with which an instance would begin; None where it would have none, or fail before."""
    machine = Machine(definition, _before_the_first(facts, environment), facts, environment, RULES)
    root = machine.new(0)
    root.step = ROOT
    machine.start = copied(values)
    with suppress(StepError):
        read_head(machine, root)
    machine.forget_names()
    return machine.reference


def _leaf(machine: Machine, token: int, kind: WaitKind) -> Frame | None:
    leaf = machine.frames.get(token)
    return leaf if leaf is not None and leaf.wait == kind else None


def _answer(kind: WaitKind) -> Callable[[Machine, Any], bool]:
    """Make the rule that hands an event to the step whose wait it names."""

    def act(machine: Machine, event: Any) -> bool:
        leaf = _leaf(machine, event.token, kind)
        return leaf is not None and _hand_over(machine, machine.frames[leaf.p], leaf, event)

    return act


def _hand_over(machine: Machine, frame: Frame, leaf: Frame, event: Any) -> bool:
    """Fire a side wait, or pass the answer to the step; false when the step refuses it."""
    if leaf.role is not None:
        machine.attempt(frame, lambda: DUE.get(str(leaf.role), ring)(machine, frame, leaf))
        return True
    answered = KINDS[machine.step_of(frame).kind].answered
    assert answered is not None
    taken: list[Any] = []
    machine.attempt(frame, lambda: taken.append(answered(machine, frame, leaf, event)))
    return taken != [False]


def _signal(machine: Machine, event: NamedSignal) -> bool:
    return deliver_signal(machine, event.name, event.key, event.payload, everyone=event.all)


def _of_task(act: Callable[[Machine, Frame], bool]) -> Callable[[Machine, Any], bool]:
    """Make the rule that does something with the wait of the task that an event names."""

    def rule(machine: Machine, event: Any) -> bool:
        leaf = _leaf(machine, event.token, WaitKind.TASK)
        return leaf is not None and act(machine, leaf)

    return rule


def _skip_task(machine: Machine, event: TaskSkipped) -> bool:
    leaf = _leaf(machine, event.token, WaitKind.TASK)
    if leaf is None or "skip" not in machine.step_of(machine.frames[leaf.p]).body.get("allow", ()):
        return False
    step = machine.frames[leaf.p].step
    for name in (event.by, event.stood_in_for):
        remember_person(machine, step, name)
    machine.end(machine.frames[leaf.p], SKIPPED, reason=event.reason, how=Closing.SKIPPED)
    return True


def _cancel_case(machine: Machine, event: CancelCase) -> bool:
    root = machine.root if machine.frames else machine.new(0)
    root.step = ROOT
    machine.status, machine.error = InstanceStatus.RUNNING, None
    machine.outcome = event.outcome
    machine.end(root, CANCELLED, reason=event.reason)
    return True


def _retry_step(machine: Machine, event: StepRetried) -> bool:
    frame = stuck(machine, event.run)
    if frame is None:
        return False
    let_go_on(machine, frame)
    if event.input is not None:
        remember_person(machine, frame.step, event.by)
        note_operated(machine, frame)
        edit(machine, frame, event.input)
    if frame.step == ROOT:
        machine.attempt(frame, lambda: _go_on_with_case(machine, frame))
    else:
        run_again(machine, frame)
    return True


def _go_on_with_case(machine: Machine, root: Frame) -> None:
    """Begin an instance that never began, or complete one whose steps are all done."""
    if root.attempt == 0:
        _begin_case(machine, root)
    elif not machine.children[root.n]:
        machine.finish(root, COMPLETED)


HAPPENINGS: Mapping[type, Callable[[Machine, Any], bool]] = {
    Started: _start,
    TaskCompleted: _answer(WaitKind.TASK),
    TimerDue: _answer(WaitKind.TIMER),
    RetryDue: _answer(WaitKind.RETRY),
    CallSucceeded: _answer(WaitKind.CALL),
    CallFailed: _answer(WaitKind.CALL),
    ChildEnded: _answer(WaitKind.CHILD),
    TaskClaimed: _of_task(claimed),
    TaskReleased: _of_task(released),
    ClockPaused: _of_task(pause_clock),
    ClockResumed: _of_task(resume_clock),
    TaskSkipped: _skip_task,
    TaskRedone: apply_redo,
    NamedSignal: _signal,
    CancelCase: _cancel_case,
    StepRetried: _retry_step,
    StepSkipped: apply_skip,
    TaskReopened: reopen,
    Continue: lambda machine, event: False,
}
"""What each event does; it answers whether it was applied or stale."""


def _slice(machine: Machine, applied: tuple[bool, ...], kept: tuple[bool, ...], more: bool) -> Slice:
    return Slice(
        snapshot=machine.snapshot(),
        status=machine.status,
        applied=applied,
        opened=tuple([machine.opened[token] for token in sorted(machine.opened)]),
        closed=tuple(machine.closed),
        effects=tuple(machine.effects),
        trace=tuple(machine.trace),
        changes=tuple(machine.changes),
        reference=machine.reference,
        reference_parts=machine.reference_parts,
        title=machine.title,
        outcome=machine.outcome,
        output=machine.output,
        error=machine.error,
        last_error=machine.error or error_of_retrying(machine),
        kept=kept,
        more=more,
        barred=tuple(machine.barred),
        made=machine.made,
    )
