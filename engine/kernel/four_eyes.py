"""Say who may not do a task, because four eyes are asked for.

The case keeps who took part in each step: everybody who answered a task, skipped it, or operated past it, with the moment, in
all rounds, items, handlers and children. What `not_same_as` names covers everything inside it. The rule is decided whenever
somebody acts: after a slice in which somebody took part, every open task that this bars them from is told so.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from engine.kernel.effects import BarPeople, WaitKind
from engine.kernel.machine import Machine
from engine.kernel.program import ROOT, Definition, Step
from engine.kernel.snapshot import Snapshot

START = "start"
Participants = Mapping[str, Mapping[str, str]]
"""Step → person → the moment when they last took part in it."""


def named_by(step: Step) -> Sequence[str]:
    """Give the names in a task's `not_same_as`."""
    return tuple(step.body.get("not_same_as", ())) if step.kind == "task" else ()


def inside(definition: Definition, names: Sequence[str]) -> tuple[str, ...]:
    """Name the steps that these stand for: each itself, and everything inside it, handlers included."""
    wanted = set(names) - {START}
    return tuple(step.id for step in definition.steps.values() if wanted & set(_upward(definition, step)))


def _upward(definition: Definition, step: Step) -> Iterator[str]:
    found: Step | None = step
    while found is not None and found.id != ROOT:
        yield found.id
        found = definition.steps[found.parent] if found.parent is not None else None


def children_inside(definition: Definition, names: Sequence[str]) -> tuple[str, ...]:
    """Name the steps among these that run a child workflow: who acts in it meanwhile took part too."""
    return tuple(name for name in inside(definition, names) if definition.steps[name].kind == "workflow")


def barred(definition: Definition, people: Participants, started_by: str | None, step: Step) -> tuple[str, ...]:
    """Name everybody who may not do a task, in the order in which its author and the case came to them."""
    names = named_by(step)
    found = [started_by] if started_by and START in names else []
    found += [person for name in inside(definition, names) for person in people.get(name, ())]
    return tuple(dict.fromkeys(found))


def barred_from_passing(
    definition: Definition, snapshot: Snapshot, started_by: str | None, step: Step
) -> Iterator[tuple[Step, tuple[str, ...]]]:
    """Give the tasks with four eyes that operating past a step passes over, and whom each bars."""
    for name in inside(definition, [step.id]) if step.id else definition.steps:
        task = definition.steps[name]
        if named_by(task):
            yield task, barred(definition, snapshot.people, started_by, task)


def bar_people(machine: Machine) -> None:
    """Tell the open tasks whom they bar now, after a slice in which somebody took part."""
    if not machine.took_part:
        return
    for leaf in machine.leaves():
        step = machine.step_of(machine.owner(leaf))
        if leaf.wait != WaitKind.TASK or not machine.took_part & set(inside(machine.definition, named_by(step))):
            continue
        names = barred(machine.definition, machine.people, machine.facts.started_by, step)
        opened = machine.opened.get(leaf.n)
        if opened is None:
            machine.effects.append(BarPeople(leaf.n, step.id, names))
        elif opened.task is not None:
            machine.opened[leaf.n] = opened._replace(task=replace(opened.task, excluded=names))
