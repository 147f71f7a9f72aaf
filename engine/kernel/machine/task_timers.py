"""Open the timers of an open task, and decide what they do when they fire: e-mails, and changes to the task.

`remind` sends e-mails; `escalate` may also raise the priority, add candidates, assign the task, and take a
branch. Both are side waits: they die with the task.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from engine.kernel.effects import ChangeTask, Closing, NotifyPeople, WaitKind
from engine.kernel.errors import expression_error
from engine.kernel.machine.expression_scope import Names
from engine.kernel.machine.machine import Machine
from engine.kernel.machine.step_start import due_on_calendar
from engine.kernel.machine.step_timers import open_timer
from engine.kernel.signals import Json
from engine.kernel.snapshot import Frame

FAMILIES = ("remind", "escalate")


def watch_task(
    machine: Machine, frame: Frame, leaf: Frame, task: Mapping[str, Any], promised_at: datetime | None
) -> None:
    """Send the e-mail that announces a task, and open its timers."""
    if promised_at is not None:
        machine.wait(frame, WaitKind.TIMER, due=promised_at, role="sla", side=True)
    if "notify" in task:
        notify(machine, frame, leaf, "notify", task["notify"])
    for family in FAMILIES:
        for place, spec in enumerate(task.get(family, ())):
            _open_timer(machine, frame, f"{family}.{place}", spec, task.get("calendar"))


def _open_timer(machine: Machine, frame: Frame, role: str, spec: Mapping[str, Any], calendar: str | None) -> None:
    """Set a timer; what comes once comes after business time where the task or the instance has a calendar."""
    calendar = calendar or machine.definition.canonical.get("calendar")
    if calendar is None or "after" not in spec:
        open_timer(machine, frame, role, spec, machine.now, 1)
        return
    due = due_on_calendar(machine, spec["after"].of(machine.names(frame)), role, calendar)
    machine.wait(frame, WaitKind.TIMER, due=due, role=role, side=True)


def ring_promise(machine: Machine, frame: Frame, leaf: Frame) -> None:
    """Record that the task missed its SLA."""
    machine.close(leaf, Closing.ANSWERED)
    task = _task_leaf(machine, frame)
    if task is not None:
        machine.effects.append(ChangeTask(task.n, machine.step_of(frame).id, late=True))


def ring_task(machine: Machine, frame: Frame, role: str, spec: Mapping[str, Any]) -> None:
    """Do what a task's timer is for, if the task is still open."""
    family = role.split(".")[0]
    leaf = _task_leaf(machine, frame)
    if leaf is None:
        return
    if family == "escalate":
        _change(machine, frame, leaf, spec)
    if family == "remind" or "notify" in spec:
        notify(machine, frame, leaf, role, spec)


def _task_leaf(machine: Machine, frame: Frame) -> Frame | None:
    leaves = (machine.frames[number] for number in machine.children[frame.n])
    return next((leaf for leaf in leaves if leaf.wait == WaitKind.TASK.value), None)


def _change(machine: Machine, frame: Frame, leaf: Frame, spec: Mapping[str, Any]) -> None:
    names = machine.names(frame)
    machine.effects.append(
        ChangeTask(
            token=leaf.n,
            step=machine.step_of(frame).id,
            priority=_word(spec, "priority", names),
            roles=_listed(spec, "roles", names),
            users=_listed(spec, "users", names),
            assignee=_word(spec, "assignee", names),
        )
    )


def notify(machine: Machine, frame: Frame, leaf: Frame, role: str, spec: Mapping[str, Any]) -> None:
    """Request an e-mail to the people whom the author names, or to the task's candidates where none is named."""
    names, why = machine.names(frame), role.split(".")[0]
    to = _listed(spec, "notify" if why == "escalate" else "to", names)
    machine.effects.append(
        NotifyPeople(
            token=leaf.n,
            step=machine.step_of(frame).id,
            why=why,
            key=f"{machine.facts.id}:{leaf.n}:{role}:{machine.next}",
            to=to,
            subject=_word(spec, "subject", names) or "",
            text=_word(spec, "text", names) or "",
        )
    )


def _word(spec: Mapping[str, Any], key: str, names: Names) -> str | None:
    found: Json = spec[key].of(names) if key in spec else None
    return None if found is None else str(found)


def _listed(spec: Mapping[str, Any], key: str, names: Names) -> tuple[str, ...]:
    """Read names; `true` means the task's candidates."""
    found: Json = spec[key].of(names) if key in spec else None
    listed = found if isinstance(found, list) else [found]
    if not all(item is None or isinstance(item, (str, bool)) for item in listed):
        raise expression_error(f"`{key}` must be names")
    return tuple(dict.fromkeys(item for item in listed if isinstance(item, str) and item))
