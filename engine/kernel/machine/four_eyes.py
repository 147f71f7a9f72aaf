"""Decide who may not do a task because of the four-eyes rule.

The instance keeps who took part in each step: everybody who answered a task, skipped it, or operated past it, with the moment, in
all rounds, items, handlers and children. What `not_same_as` names covers everything inside it. The rule is decided at the act:
after a slice in which a person took part, every open task that this excludes them from is updated. It holds either
way round: a person who did the task while a step that it names was running is excluded from the rest of that step.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from engine.kernel.effects import BarPeople, ErrorRecord, WaitKind
from engine.kernel.machine.machine import Machine
from engine.kernel.machine.messages import Checkpoint
from engine.kernel.program import Definition, Step
from engine.kernel.signals import Event, NamedSignal, StepRetried, StepSkipped
from engine.kernel.snapshot import Frame, Snapshot
from engine.kernel.timing.periods import parse_moment, spell_moment
from engine.kernel.transitions import TERMINAL_INSTANCE, InstanceStatus

START = "start"
Participants = Mapping[str, Mapping[str, str]]
"""Step → person → the moment when they last took part in it."""


def remember_person(machine: Machine, step: str | None, name: str | None, at: str | None = None) -> None:
    """Record that a person took part in a step, and when; the engine itself takes no part."""
    if step and name:
        machine.people.setdefault(step, {})[name] = at or spell_moment(machine.now)
        machine.took_part.setdefault(step, []).append((name, machine.next))


def everybody(people: Participants) -> dict[str, str]:
    """Return everybody who took part in any step, with the moment when they last did."""
    acts = sorted((at, name) for names in people.values() for name, at in names.items())
    return {name: at for at, name in acts}


def children_named(definition: Definition, step: Step) -> tuple[str, ...]:
    """Return the child workflows that a task's rule covers: people who act in one of them take part too."""
    return tuple(name for name in definition.four_eyes.get(step.id, ()) if definition.steps[name].kind == "workflow")


def barred(definition: Definition, people: Participants, started_by: str | None, step: Step) -> tuple[str, ...]:
    """Return everybody who may not do a task, in the order in which they took part."""
    covered = definition.four_eyes.get(step.id)
    if covered is None:
        return ()
    found = [started_by] if started_by and START in step.body["not_same_as"] else []
    found += [person for name in covered for person in people.get(name, ())]
    return tuple(dict.fromkeys(found))


def barred_from(definition: Definition, snapshot: Snapshot, started_by: str | None, token: int) -> tuple[str, ...]:
    """Return everybody who may not do the open task that waits under a token."""
    if not definition.four_eyes:
        return ()
    frames = {frame["n"]: frame for frame in snapshot.frames}
    around = list(_upward(frames, token))
    step = next((definition.steps[frame["step"]] for frame in around if frame.get("step")), None)
    found = barred(definition, snapshot.people, started_by, step) if step is not None else ()
    return tuple(dict.fromkeys((*found, *(name for frame in around for name in frame.get("barred", ())))))


def _upward(frames: Mapping[int, Mapping[str, Any]], number: int) -> Iterator[Mapping[str, Any]]:
    while number in frames:
        yield frames[number]
        number = frames[number]["p"]


def barred_from_passing(
    definition: Definition, snapshot: Snapshot, started_by: str | None, step: Step
) -> Iterator[tuple[Step, tuple[str, ...]]]:
    """Return the four-eyes tasks that skipping a step would bypass, and the people each excludes."""
    for name in definition.four_eyes:
        task: Step | None = definition.steps[name]
        while task is not None and task.id != step.id:
            task = definition.steps[task.parent] if task.parent is not None else None
        if task is not None:
            found = definition.steps[name]
            yield found, barred(definition, snapshot.people, started_by, found)


def barred_from_redoing(
    definition: Definition, snapshot: Snapshot, started_by: str | None, step: Step, since: datetime
) -> Iterator[tuple[Step, tuple[str, ...]]]:
    """Return the four-eyes tasks answered since a moment that redoing a task would set aside, and the people each excludes."""
    behind = definition.lists[step.home].steps[definition.lists[step.home].place[step.id] + 1 :]
    for name in definition.four_eyes:
        found: Step | None = definition.steps[name]
        while found is not None and found not in behind:
            found = definition.steps[found.parent] if found.parent is not None else None
        if found is not None and any(parse_moment(at) >= since for at in snapshot.people.get(name, {}).values()):
            task = definition.steps[name]
            yield task, barred(definition, snapshot.people, started_by, task)


@dataclass(slots=True)
class TaskWatch:
    """The open tasks that exclude the acting person, and the instance before the act: the act may end none of them."""

    before: Checkpoint
    error: ErrorRecord | None
    took_part: Mapping[str, list[tuple[str, int]]]
    tasks: Mapping[int, str]
    """Token → step."""
    closed: int

    def undo(self, machine: Machine) -> bool:
        """Take the act back if it ended one of the tasks and the instance continues without it; return whether it did."""
        gone = {one.token for one in machine.closed[self.closed :]} & self.tasks.keys()
        if not gone or machine.status in GIVEN_UP:
            return False
        machine.restore(self.before)
        machine.error, machine.output = self.error, None
        machine.took_part = {step: list(acts) for step, acts in self.took_part.items()}
        machine.barred += [self.tasks[token] for token in sorted(gone)]
        return True


GIVEN_UP = frozenset({InstanceStatus.CANCELLED, InstanceStatus.FAILED})
"""Ends of an instance that decide nothing in place of its tasks."""


def watch_tasks(machine: Machine, event: Event) -> TaskWatch | None:
    """Find the open tasks that exclude the sender or operator, before the act is applied."""
    names = (getattr(event, "by", None) or "").split() if isinstance(event, WAYS_PAST) else ()
    if isinstance(event, StepRetried) and event.input is None:
        return None  # the same once more: what it withdraws it opens again
    if not names or not machine.definition.four_eyes or machine.status in TERMINAL_INSTANCE:
        return None
    leaves = [leaf for leaf in machine.leaves() if leaf.wait == WaitKind.TASK]
    tasks = {
        leaf.n: str(machine.owner(leaf).step) for leaf in leaves if not set(names).isdisjoint(_barred_at(machine, leaf))
    }
    if not tasks:
        return None
    took_part = {step: list(acts) for step, acts in machine.took_part.items()}
    return TaskWatch(machine.checkpoint(machine.root), machine.error, took_part, tasks, len(machine.closed))


WAYS_PAST = (NamedSignal, StepRetried, StepSkipped)
"""Acts of people that are no answers to a task, and may end one."""


def bar_people(machine: Machine) -> None:
    """Update the people whom open tasks exclude, after a slice in which a person took part."""
    covers = machine.definition.four_eyes
    if not machine.took_part or not covers:
        return
    marked = [frame for frame in machine.frames.values() if frame.step and _mark(machine, frame)]
    for leaf in machine.leaves():
        if leaf.wait == WaitKind.TASK:
            named = set(covers.get(machine.owner(leaf).step or "", ()))
            if named & set(machine.took_part) or any(frame in marked for frame in machine.upward(leaf)):
                _tell(machine, leaf)


def _mark(machine: Machine, frame: Frame) -> bool:
    """Record at a step who did a task that names it while it was running; return whether anybody did."""
    covers = machine.definition.four_eyes
    acts = [act for step, done in machine.took_part.items() if frame.step in covers.get(step, ()) for act in done]
    did = [name for name, next_number in acts if frame.n < next_number]
    if did:
        frame.barred = list(dict.fromkeys([*(frame.barred or ()), *did]))
    return bool(did)


def _barred_at(machine: Machine, leaf: Frame) -> tuple[str, ...]:
    """Return everybody whom an open task excludes: by its own rule, and by one that names a step around it."""
    found = barred(machine.definition, machine.people, machine.facts.started_by, machine.step_of(machine.owner(leaf)))
    around = (name for frame in machine.upward(leaf) for name in frame.barred or ())
    return tuple(dict.fromkeys((*found, *around)))


def _tell(machine: Machine, leaf: Frame) -> None:
    step = machine.step_of(machine.owner(leaf))
    names, opened = _barred_at(machine, leaf), machine.opened.get(leaf.n)
    if opened is None:
        machine.effects.append(BarPeople(leaf.n, step.id, names))
    elif opened.task is not None:
        machine.opened[leaf.n] = opened._replace(task=replace(opened.task, excluded=names))
