"""Pause the clock of a task while a question about it is open, where its author says so.

A pause closes every timer of the task's step: its timeout, its SLA, reminders, escalations, timed handlers. When the clock runs
again each is opened anew, under a token of its own, later by the time that the question was open. What is counted on a business
calendar moves by working time, everything else by plain time. Only the timers of the step itself are paused: a deadline of
the instance, or a timeout of a step around it, is not the task's to move.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from engine.kernel.effects import Closing, OpenTask, PauseClock, ResumeClock, WaitKind
from engine.kernel.machine.machine import Machine
from engine.kernel.signals import Json
from engine.kernel.snapshot import Frame
from engine.kernel.timing.calendars import Calendar
from engine.kernel.timing.pauses import Pause
from engine.kernel.timing.periods import parse_moment, parse_period, spell_moment

PAUSED = "paused"
"""The role of the timer that ends a pause by itself; also what a task's leaf keeps it under."""
PAST = "pauses"


def pause_clock(machine: Machine, leaf: Frame) -> bool:
    """Stop the clock of an open task, unless it is paused already or its author has it run on."""
    frame = machine.frames[leaf.p]
    rule = machine.step_of(frame).body.get("ask") or {}
    if not rule.get("pause") or is_paused(leaf):
        return False
    until = _end_of_pause(machine, frame, rule.get("at_most"))
    running = [one for one in machine.kids(frame) if one.side and one.wait == WaitKind.TIMER]
    held = [{"role": one.role, "due": one.due, "at": one.at, "key": one.key} for one in running]
    for timer in running:
        machine.close(timer, Closing.WITHDRAWN)
    leaf.more = {**(leaf.more or {}), PAUSED: {"since": spell_moment(machine.now), "held": held}}
    if until is not None:
        machine.wait(frame, WaitKind.TIMER, due=until, role=PAUSED, side=True)
    machine.effects.append(PauseClock(leaf.n, machine.step_of(frame).id, until))
    return True


def resume_clock(machine: Machine, leaf: Frame, *, ran_out: bool = False) -> bool:
    """Let the clock of a task run again, if it is paused."""
    if not is_paused(leaf):
        return False
    frame, more = machine.frames[leaf.p], dict(leaf.more or {})
    stood = more.pop(PAUSED)
    pause = Pause(parse_moment(stood["since"]), machine.now)
    working = replace(pause, calendar=_calendar(machine, frame))
    for timer in [one for one in machine.kids(frame) if one.role == PAUSED]:
        machine.close(timer, Closing.ANSWERED)
    for held in stood["held"]:
        _open_again(machine, frame, held, working if _is_working_time(machine, frame, held["role"]) else pause)
    leaf.more = {**more, PAST: [*more.get(PAST, ()), [stood["since"], spell_moment(machine.now)]]}
    machine.effects.append(ResumeClock(leaf.n, machine.step_of(frame).id, working, ran_out))
    return True


def ran_out(machine: Machine, frame: Frame, timer: Frame) -> None:
    """End a pause that lasted as long as the author allows."""
    machine.close(timer, Closing.ANSWERED)
    for leaf in [one for one in machine.kids(frame) if is_paused(one)]:
        resume_clock(machine, leaf, ran_out=True)


def is_paused(leaf: Frame) -> bool:
    """Return whether the clock of a task is paused."""
    return leaf.wait == WaitKind.TASK and PAUSED in (leaf.more or {})


def moved_by_pauses(machine: Machine, leaf: Frame, task: OpenTask) -> OpenTask:
    """Return a task as due as it is after all its pauses."""
    calendar = _calendar(machine, machine.frames[leaf.p])
    for since, until in (leaf.more or {}).get(PAST, ()):
        task = moved_task(task, Pause(parse_moment(since), parse_moment(until), calendar))
    return task


def moved_task(task: OpenTask, pause: Pause) -> OpenTask:
    """Return a task whose promises are moved by a pause."""
    return replace(task, due_at=_moved(task.due_at, pause), sla_at=_moved(task.sla_at, pause))


def _moved(moment: datetime | None, pause: Pause) -> datetime | None:
    return None if moment is None else pause.move(moment)


def _open_again(machine: Machine, frame: Frame, held: Mapping[str, Json], pause: Pause) -> None:
    due = pause.move(parse_moment(held["due"]))
    timer = machine.wait(frame, WaitKind.TIMER, due=due, role=held["role"], side=True)
    timer.at, timer.key = held["at"], held["key"]
    if held["key"] is not None:  # a repeating timer counts its next times from here
        base = datetime.fromisoformat(held["key"])
        timer.key = (base + (pause.until - pause.since)).isoformat()


def _is_working_time(machine: Machine, frame: Frame, role: str) -> bool:
    """Return whether a timer is counted on the task's calendar: its SLA, and what comes once after some time."""
    family, _, place = role.partition(".")
    body = machine.step_of(frame).body
    return family == "sla" or (family in ("remind", "escalate") and "after" in body[family][int(place)])


def _end_of_pause(machine: Machine, frame: Frame, at_most: str | None) -> datetime | None:
    """Return when the clock runs again by itself; a question never fails a step, so what no calendar can add is plain time."""
    if at_most is None:
        return None
    calendar = _calendar(machine, frame)
    with suppress(ValueError):
        if calendar is not None:
            return calendar.add_business_time(machine.now, at_most)
    return parse_period(at_most).after(machine.now)


def _calendar(machine: Machine, frame: Frame) -> Calendar | None:
    """Return the calendar on which the task's time is counted, if any."""
    name = machine.step_of(frame).body.get("calendar") or machine.definition.canonical.get("calendar")
    find = machine.environment.calendar
    found: Calendar | None = find(name) if name is not None and find is not None else None
    return found
