"""Say who may act on a task in a simulation, by the rules of the language: level, candidate, four eyes."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.kernel.choosing import choose
from engine.kernel.effects import OpenTask, Wait
from engine.kernel.signals import Json

if TYPE_CHECKING:
    from engine.kernel.simulator.instance import Instance
    from engine.kernel.simulator.world import World

USUAL_LEVEL = 4


class Refused(Exception):
    """Somebody may not do that now; `code` is the platform's refusal.

    What somebody does not even see is not found; `rule` says which rule is behind that, and a test may name either.
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


def read_people(given: Mapping[str, Json]) -> dict[str, Person]:
    """Read the cast of a test."""
    return {
        name: Person(name, frozenset(one.get("roles", ())), one.get("level", USUAL_LEVEL))
        for name, one in ((name, one or {}) for name, one in given.items())
    }


def refuse_person(task: OpenTask, person: Person) -> None:
    """Refuse who may not do a task, whoever it is offered to."""
    if person.level < task.min_level:
        raise Refused("level", f"level {task.min_level} is needed")
    if person.name in task.excluded:
        raise Refused("four_eyes", "somebody else must do this")
    if task.familiar and person.name not in task.familiar:
        raise Refused("not_candidate", f"only {' or '.join(task.familiar)} may do this")


def refuse_actor(task: OpenTask, assignee: str | None, person: Person) -> None:
    """Refuse who may not act on a task as its author wrote it."""
    refuse_person(task, person)
    if assignee is not None and person.name != assignee:
        raise Refused("not_candidate", f"the task is {assignee}'s")
    offered = task.roles or task.users
    if assignee is None and offered and person.name not in task.users and not person.roles & set(task.roles):
        raise Refused("not_candidate", "the task is offered to others")


def may_act(task: OpenTask, assignee: str | None, person: Person) -> bool:
    """Tell whether a person may act on a task."""
    try:
        refuse_actor(task, assignee, person)
    except Refused:
        return False
    return True


def choose_assignee(world: "World", instance: "Instance", wait: Wait) -> str | None:
    """Choose whose a new task is, where its author lets the platform choose: one of the cast who may do it."""
    task = wait.task
    assert task is not None
    if task.extra.get("several"):
        return None
    fitting = [person.name for person in world.people.values() if may_act(task, None, person)]
    place = (instance.definition.name, wait.step)
    way, last = str(task.extra.get("assign_by", "offer")), world.last_given.get(place)
    chosen = choose(way, fitting, loads=_loads(world), last=last, draw=lambda number: wait.token % number)
    if chosen is not None:
        world.last_given[place] = chosen
    return chosen


def _loads(world: "World") -> Counter[str]:
    held = (task.claimed_by or task.assignee for one in world.instances for task in one.open_tasks())
    return Counter(name for name in held if name is not None)
