"""Decide who may act on a task in a simulation, by the rules of the language: level, candidate, four eyes."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.kernel.effects import OpenTask, Wait
from engine.kernel.machine.four_eyes import everybody
from engine.kernel.signals import Json
from engine.kernel.steps.assignment import EXPERIENCE, MANAGER, choose
from engine.kernel.timing.periods import spell_moment

if TYPE_CHECKING:
    from engine.kernel.simulator.instance import Instance
    from engine.kernel.simulator.world import World

USUAL_LEVEL = 4


class Refused(Exception):
    """A person may not do that now; `code` is the platform's refusal.

    What a person does not even see is not found; `rule` says which rule is behind that, and a test may name either.
    """

    def __init__(self, code: str, message: str, fields: tuple[str, ...] = (), rule: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.fields = fields
        self.rule = rule or code


@dataclass(frozen=True, slots=True)
class Person:
    name: str
    roles: frozenset[str] = frozenset()
    level: int = USUAL_LEVEL
    manager: str | None = None


def read_people(given: Mapping[str, Json]) -> dict[str, Person]:
    """Read the cast of a test."""
    return {
        name: Person(name, frozenset(one.get("roles", ())), one.get("level", USUAL_LEVEL), one.get("manager"))
        for name, one in ((name, one or {}) for name, one in given.items())
    }


def forbid_person(task: OpenTask, person: Person, inside: Collection[str] = ()) -> None:
    """Refuse a person who may not do a task, also if they are no candidate; `inside` took part in children that still run."""
    if person.level < task.min_level:
        raise Refused("level", f"level {task.min_level} is needed")
    if person.name in task.excluded or person.name in inside:
        raise Refused("four_eyes", "another person must do this")
    if task.familiar and person.name not in task.familiar:
        raise Refused("not_candidate", f"only {' or '.join(task.familiar)} may do this")


def refuse_actor(task: OpenTask, assignee: str | None, person: Person, inside: Collection[str] = ()) -> None:
    """Refuse a person who may not act on a task as its author wrote it."""
    forbid_person(task, person, inside)
    if assignee is not None and person.name != assignee:
        raise Refused("not_candidate", f"the task is {assignee}'s")
    offered = task.roles or task.users
    if assignee is None and offered and person.name not in task.users and not person.roles & set(task.roles):
        raise Refused("not_candidate", "they are not a candidate of the task")


def may_act(task: OpenTask, assignee: str | None, person: Person, inside: Collection[str] = ()) -> bool:
    """Return whether a person may act on a task."""
    try:
        refuse_actor(task, assignee, person, inside)
    except Refused:
        return False
    return True


def people_inside(instance: "Instance", task: OpenTask) -> set[str]:
    """Return the people who took part in running children that the four-eyes rule covers."""
    steps = task.rules.not_inside
    waiting = [token for token, wait in instance.waits.items() if token in instance.children and wait.step in steps]
    return {name for token in waiting for name in everybody_in(instance.children[token])} | _checked_above(instance)


def _checked_above(instance: "Instance") -> set[str]:
    """Return the people who did a task above a running instance whose rule covers the instance."""
    if instance.parent is None or instance.parent[0].snapshot is None:
        return set()
    (parent, token), since = instance.parent, spell_moment(instance.facts.started_at)
    step = parent.waits[token].step if token in parent.waits else ""
    looking = {
        one.wait.step
        for one in parent.tasks.values()
        if one.wait.task is not None and step in one.wait.task.rules.not_inside
    }
    people = parent.snapshot.people if parent.snapshot is not None else {}
    own = {name for one in looking for name, at in people.get(one, {}).items() if at >= since}
    return own | _checked_above(parent)


def everybody_in(instance: "Instance") -> dict[str, str]:
    """Return the people who took part in an instance and its children, with the moment when they last did."""
    found = everybody(instance.snapshot.people) if instance.snapshot is not None else {}
    for child in instance.children.values():
        found |= everybody_in(child)
    return found


def choose_assignee(world: "World", instance: "Instance", wait: Wait) -> str | None:
    """Choose the assignee of a new task, where its author lets the platform choose: one of the cast who may do it."""
    task = wait.task
    assert task is not None
    if task.rules.several:
        return None
    inside = people_inside(instance, task)
    if task.rules.assign_by == MANAGER:
        return _fitting_manager(world, instance, task, inside)
    fitting = [person.name for person in world.people.values() if may_act(task, None, person, inside)]
    place = (instance.definition.name, wait.step)
    way, last = task.rules.assign_by or "offer", world.last_given.get(place)
    chosen = choose(
        way,
        fitting,
        loads=_loads(world),
        last=last,
        draw=lambda number: wait.token % number,
        done=_experience(world, place),
    )
    if chosen is not None:
        world.last_given[place] = chosen
    return chosen


def _fitting_manager(world: "World", instance: "Instance", task: OpenTask, inside: Collection[str]) -> str | None:
    """Return who leads the person who started an instance, where no rule keeps them from the task."""
    starter = instance.facts.started_by
    name = world.manager_of(starter) if starter else None
    try:
        if name is not None:
            forbid_person(task, world.person(name), inside)
    except Refused:
        return None
    return name


def _experience(world: "World", place: tuple[str, str]) -> Counter[str]:
    """Count who answered tasks of a step lately."""
    since = world.now - EXPERIENCE
    all_tasks = (task for one in world.instances for task in one.tasks.values())
    lately = (task for task in all_tasks if task.answered_by and task.ended_at is not None and task.ended_at >= since)
    return Counter(task.answered_by[-1] for task in lately if (task.instance.definition.name, task.wait.step) == place)


def _loads(world: "World") -> Counter[str]:
    held = (task.claimed_by or task.assignee for one in world.instances for task in one.open_tasks())
    return Counter(name for name in held if name is not None)
