"""Reopen a task that was answered, while nothing that followed has been touched.

Whether that may be is a pure function of the instance as the answer found it and of the turn that took the answer. What is
restored is the instance before the answer: its state, its results, its position. Kept from the time since are the numbers (a
token is never used again, so what vanished returns under new ones), the count of handlers' occurrences, and the ledger of four
eyes: the person who answered first took part.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from engine.kernel.effects import CancelChild, Closing, Emit, MakeCallLater, Slice, StartChild, Wait, WaitKind
from engine.kernel.machine.machine import Machine
from engine.kernel.machine.paused_clock import moved_by_pauses, resume_clock
from engine.kernel.program import Definition
from engine.kernel.signals import Json, TaskReopened
from engine.kernel.snapshot import Frame, Snapshot, copied
from engine.kernel.steps.tasks import describe_task
from engine.kernel.timing.periods import parse_moment
from engine.kernel.transitions import InstanceStatus, StepStatus

OUTSIDE = {"call": "called_out", "workflow": "child_started", "continue_with": "child_started", "emit": "signal_sent"}
"""Kinds of steps whose effect leaves the instance, and why an answer that led to one stays."""
EFFECTS = {
    MakeCallLater: "called_out",
    StartChild: "child_started",
    CancelChild: "child_started",
    Emit: "signal_sent",
}
WAITS = {WaitKind.CALL: "called_out", WaitKind.RETRY: "called_out", WaitKind.CHILD: "child_started"}
HARD = ("timeout", "deadline")
"""Roles of timers that end what they watch."""


def refuse_reopening(definition: Definition, before: Snapshot, turn: Slice, token: int, now: datetime) -> str | None:
    """Return why the task that waited under a token stays answered, or None where it may be reopened.

    `before` is the instance as the answer found it, `turn` what the answer led to. That nothing has happened since is the
    caller's to know: the turn must be the instance's last.
    """
    if turn.status is not InstanceStatus.RUNNING or before.status != InstanceStatus.RUNNING:
        return "ended"
    if turn.more or turn.snapshot.queue or before.queue or turn.snapshot.emits or before.emits:
        return "moving"
    gone = list(_vanished(before, turn.snapshot))
    if not any(frame["n"] == token and frame.get("wait") == WaitKind.TASK for frame in gone):
        return "not_answered"
    if definition.claims_decide or turn.snapshot.reference != before.reference:
        return "decided"
    return _reached_out(turn, gone) or _out_of_time(gone, now)


def _vanished(before: Snapshot, after: Snapshot) -> Iterator[dict[str, Json]]:
    """Return the frames that the answer ended."""
    left = {frame["n"] for frame in after.frames}
    return (frame for frame in before.frames if frame["n"] not in left)


def _reached_out(turn: Slice, gone: list[dict[str, Json]]) -> str | None:
    """Return what left the instance because of the answer: a call, a child, a signal; or a place under a limit."""
    found = [
        OUTSIDE[entry.kind] for entry in turn.trace if entry.kind in OUTSIDE and entry.status != StepStatus.SKIPPED
    ]
    found += [EFFECTS[type(effect)] for effect in turn.effects if type(effect) in EFFECTS]
    waits = [wait.kind for wait in turn.opened] + [WaitKind(frame["wait"]) for frame in gone if frame.get("wait")]
    found += [WAITS[kind] for kind in waits if kind in WAITS]
    found += ["place_taken" for frame in gone if frame.get("place")]
    return found[0] if found else None


def _out_of_time(gone: list[dict[str, Json]], now: datetime) -> str | None:
    """Return whether a timer that ended with the answer would end the task at once."""
    late = (frame for frame in gone if frame.get("role") in HARD and parse_moment(frame["due"]) <= now)
    return "too_late" if any(late) else None


def reopen(machine: Machine, event: TaskReopened) -> bool:
    """Return to the instance as it was before an answer; what that withdrew or ended waits again, under new numbers."""
    before = Snapshot.from_json(copied(event.before))
    live = set(machine.frames)
    _withdraw_fresh(machine, {frame["n"] for frame in before.frames}, event.reason)
    numbers = {frame["n"]: frame["n"] for frame in before.frames if frame["n"] in live}
    returned = [frame["n"] for frame in before.frames if frame["n"] not in live]
    numbers |= {number: machine.next + place for place, number in enumerate(returned)}
    marks = {frame.n: frame.barred for frame in machine.frames.values() if frame.barred}
    machine._load(_restored(machine, before, numbers, machine.next + len(returned)))
    machine.forget_names()
    machine.touch()
    for number, barred in marks.items():
        machine.frames[number].barred = list(dict.fromkeys([*(machine.frames[number].barred or ()), *barred]))
    for number in sorted(numbers[old] for old in returned):
        _return(machine, machine.frames[number], parse_moment(event.opened_at))
    return True


def _withdraw_fresh(machine: Machine, known: set[int], reason: str) -> None:
    """Withdraw everything that began with the answer, newest first; nothing of it has run since."""
    fresh = [machine.frames[number] for number in sorted(set(machine.frames) - known, reverse=True)]
    for leaf in (frame for frame in fresh if frame.wait is not None):
        machine.close(leaf, Closing.WITHDRAWN)
    for frame in (frame for frame in fresh if frame.wait is None):
        if frame.step is not None:
            machine.note(frame, StepStatus.CANCELLED, reason=reason or "reopened")
        machine.drop(frame)


def _restored(machine: Machine, before: Snapshot, numbers: dict[int, int], following: int) -> Snapshot:
    """Return the instance before the answer, with the numbers that it has from now on."""
    frames = [{**frame, "n": numbers[frame["n"]], "p": numbers.get(frame["p"], 0)} for frame in before.frames]
    return replace(
        before,
        next_frame=following,
        people=machine.people,
        occurrences={**before.occurrences, **machine.occurrences},
        mutexes={name: [numbers[number] for number in line] for name, line in before.mutexes.items()},
        frames=sorted(frames, key=lambda frame: int(frame["n"])),
        waited=machine.waited,
        operated=machine.operated,
    )


def _return(machine: Machine, frame: Frame, opened_at: datetime) -> None:
    """Mark a step as running again, or open a wait again, due as before."""
    if frame.step is not None:
        machine.note(frame, StepStatus.PENDING if frame.held else StepStatus.RUNNING, began=True)
    if frame.wait is None:
        return
    above = machine.frames[frame.p]
    step = machine.step_of(above)
    name, key = frame.name or (None, None)
    kind = WaitKind(frame.wait)
    machine.opened[frame.n] = Wait(
        frame.n, kind, step.id, step.path, machine.iteration(above), above.n,
        parse_moment(frame.due) if frame.due else None, name, key, frame.side,
    )  # fmt: skip
    if kind is WaitKind.TASK:
        _offer_again(machine, frame, above, opened_at)


def _offer_again(machine: Machine, leaf: Frame, frame: Frame, opened_at: datetime) -> None:
    """Describe a task as when it was offered first, so that it is due when it was due."""
    now, machine.now = machine.now, opened_at
    try:
        task = describe_task(machine, frame, machine.step_of(frame))
    finally:
        machine.now = now
    resume_clock(machine, leaf)  # the question ended with the answer
    machine.opened[leaf.n] = machine.opened[leaf.n]._replace(task=moved_by_pauses(machine, leaf, task))
