"""Say who may not do a task, because four eyes are asked for.

The case keeps who took part in each step: everybody who answered a task, skipped it, or operated past it, with the moment, in
all rounds, items, handlers and children. What `not_same_as` names covers everything inside it. The rule is decided whenever
somebody acts: after a slice in which somebody took part, every open task that this bars them from is told so. Of two tasks that
are open at once it holds either way round: who answered the one that names the other is barred from that other too.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from engine.kernel.effects import BarPeople, WaitKind
from engine.kernel.machine import Machine
from engine.kernel.program import Definition, Step
from engine.kernel.snapshot import Frame, Snapshot

START = "start"
Participants = Mapping[str, Mapping[str, str]]
"""Step → person → the moment when they last took part in it."""


def children_named(definition: Definition, step: Step) -> tuple[str, ...]:
    """Name the child workflows that a task's rule covers: who acts in one of them meanwhile took part too."""
    return tuple(name for name in definition.four_eyes.get(step.id, ()) if definition.steps[name].kind == "workflow")


def barred(definition: Definition, people: Participants, started_by: str | None, step: Step) -> tuple[str, ...]:
    """Name everybody who may not do a task, in the order in which the case came to them."""
    covered = definition.four_eyes.get(step.id)
    if covered is None:
        return ()
    found = [started_by] if started_by and START in step.body["not_same_as"] else []
    found += [person for name in covered for person in people.get(name, ())]
    return tuple(dict.fromkeys(found))


def barred_from(definition: Definition, snapshot: Snapshot, started_by: str | None, token: int) -> tuple[str, ...]:
    """Name everybody who may not do the open task that waits under a token."""
    if not definition.four_eyes:
        return ()
    frames = {frame["n"]: frame for frame in snapshot.frames}
    leaf = frames.get(token)
    step = definition.steps.get(frames[leaf["p"]].get("step") or "") if leaf is not None else None
    if leaf is None or step is None:
        return ()
    found = barred(definition, snapshot.people, started_by, step)
    return tuple(dict.fromkeys((*found, *(leaf.get("more") or {}).get("barred", ()))))


def barred_from_passing(
    definition: Definition, snapshot: Snapshot, started_by: str | None, step: Step
) -> Iterator[tuple[Step, tuple[str, ...]]]:
    """Give the tasks with four eyes that operating past a step passes over, and whom each bars."""
    for name in definition.four_eyes:
        task: Step | None = definition.steps[name]
        while task is not None and task.id != step.id:
            task = definition.steps[task.parent] if task.parent is not None else None
        if task is not None:
            found = definition.steps[name]
            yield found, barred(definition, snapshot.people, started_by, found)


def bar_people(machine: Machine) -> None:
    """Tell the open tasks whom they bar now, after a slice in which somebody took part."""
    if not machine.took_part or not machine.definition.four_eyes:
        return
    for leaf in machine.leaves():
        if leaf.wait == WaitKind.TASK and leaf.role is None:
            _bar(machine, leaf)


def _bar(machine: Machine, leaf: Frame) -> None:
    definition, step = machine.definition, machine.step_of(machine.owner(leaf))
    naming = [name for name in machine.took_part if step.id in definition.four_eyes.get(name, ())]
    opened = machine.opened.get(leaf.n)
    if naming and opened is None:
        either_way = [person for name in naming for person in machine.took_part[name]]
        leaf.more = {"barred": list(dict.fromkeys([*(leaf.more or {}).get("barred", ()), *either_way]))}
    elif not set(machine.took_part) & set(definition.four_eyes.get(step.id, ())):
        return
    names = barred(definition, machine.people, machine.facts.started_by, step)
    names = tuple(dict.fromkeys((*names, *(leaf.more or {}).get("barred", ()))))
    if opened is None:
        machine.effects.append(BarPeople(leaf.n, step.id, names))
    elif opened.task is not None:
        machine.opened[leaf.n] = opened._replace(task=replace(opened.task, excluded=names))
