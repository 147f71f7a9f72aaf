"""Decide who may act on a task now, by the rules of the service in its order; and who acts where a test names nobody."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from engine.kernel.simulator.instance import Task
from engine.kernel.simulator.people import USUAL_LEVEL, Person, Refused, forbid_person, people_inside
from engine.kernel.transitions import TaskStatus

if TYPE_CHECKING:
    from engine.kernel.simulator.world import World

SEES_ALL = 4
"""The level from which a person sees every task; below it only their own, those offered to them and those they answered."""
UNNAMED = "somebody"
"""The person who acts where a test names nobody; stored tests know this name."""
MOST_INVENTED = 1_000


def forbid_act(task: Task, person: Person, *, answers: bool = False) -> None:
    """Refuse a person who may not act on a task now; a second answer gets its own refusal."""
    try:
        if answers and task.status is TaskStatus.COMPLETED and person.name in task.answered_by:
            raise Refused("answered", "they have answered it already")
        if not task.is_open:
            raise Refused("closed", f"the task is {task.status.value}")
        _refuse_unfit(task, person)
        _refuse_unasked(task, person)
    except Refused as refusal:
        if sees(task, person):
            raise
        raise unseen(refusal.rule) from refusal


def forbid_assignment(task: Task, person: Person) -> None:
    """Refuse to assign a task to a person who may not do it, whatever its present assignee."""
    _refuse_unfit(task, person)
    if (task.task.roles or task.task.users) and not _is_offered(task, person):
        raise Refused("not_candidate", "they are not a candidate of the task")


def forbid_redo(task: Task, person: Person) -> None:
    """Refuse a person who may not have an answered task done again."""
    refuse_unseen(task, person)
    if task.status is not TaskStatus.COMPLETED:
        raise Refused("status", f"the task is {task.status.value}")
    if "redo" not in task.task.rules.allow:
        raise Refused("refused", "the task may not be done again")
    if person.level < task.task.min_level:
        raise Refused("level", f"level {task.task.min_level} is needed")
    if person.name in task.task.excluded or person.name in people_inside(task.instance, task.task):
        raise Refused("four_eyes", "another person must do this")
    if person.level < SEES_ALL and person.name not in task.answered_by:
        raise Refused("level", "only those who answered it, or who operate cases")


def refuse_unseen(task: Task, person: Person) -> None:
    """Refuse an act on a task by a person who does not see it."""
    if not sees(task, person):
        raise unseen("not_candidate")


def unseen(rule: str) -> Refused:
    """Refuse as the platform does where a person sees nothing; the rule says why."""
    return Refused("not_found", f"there is no such task, or they can't see it ({rule})", rule=rule)


def sees(task: Task, person: Person) -> bool:
    """Return whether a person sees a task at all."""
    if person.level >= SEES_ALL or person.name in task.answered_by:
        return True
    try:
        _refuse_unfit(task, person)
    except Refused:
        return False
    mine = task.assignee == person.name
    asked = _is_offered(task, person) and (task.assignee is None or task.claimed_by is not None)
    return task.is_open and (mine or asked)


def _refuse_unfit(task: Task, person: Person) -> None:
    forbid_person(task.task, person, people_inside(task.instance, task.task))
    if person.name in task.answered_by:
        raise Refused("answered", "each person answers once")


def _refuse_unasked(task: Task, person: Person) -> None:
    if task.assignee is not None:
        if task.assignee != person.name:
            claimed = task.claimed_by is not None
            said = f"{task.assignee} has claimed it" if claimed else f"the task is {task.assignee}'s"
            raise Refused("claimed" if claimed else "not_candidate", said)
    elif not _is_offered(task, person):
        raise Refused("not_candidate", "they are not a candidate of the task")


def _is_offered(task: Task, person: Person) -> bool:
    named = person.name in task.asked or person.name in task.task.users
    return task.for_everybody or named or bool(person.roles & set(task.task.roles))


# Choosing a person


def choose_person(world: "World", task: Task) -> str:
    """Return a person who may act: the assignee, one of the cast, one whom its author names, else an invented person."""
    if task.assignee:
        return task.assignee
    name = UNNAMED
    for name in _candidates(world, task):
        if _may(task, world.person(name)):
            break
    return name


def _may(task: Task, person: Person) -> bool:
    try:
        forbid_act(task, person)
    except Refused:
        return False
    return True


def _candidates(world: "World", task: Task) -> Iterator[str]:
    yield from world.people
    for name in (*task.task.familiar, *task.task.users, *sorted(task.asked)):
        _able(world, task, name)
        yield name
    if task.task.roles or task.for_everybody:
        yield _invented_person(world, task)


def _able(world: "World", task: Task, name: str) -> None:
    """Set the required level and a role of a person whom the test does not describe."""
    if name not in world.people:
        known = world.person(name)
        level = max(USUAL_LEVEL, task.task.min_level, known.level)
        world.invented[name] = Person(name, known.roles | set(task.task.roles[:1]), level)


def _invented_person(world: "World", task: Task) -> str:
    """Find an invented person who has not answered yet and whom no rule excludes."""
    first = f"{UNNAMED}-{task.task.roles[0]}" if task.task.roles else UNNAMED
    name = first
    for number in range(2, MOST_INVENTED):
        _able(world, task, name)
        if _fits(task, world.person(name)):
            break
        name = f"{first}-{number}"
    return name


def _fits(task: Task, person: Person) -> bool:
    """Return whether the task could be assigned to a person, were it still open."""
    try:
        forbid_assignment(task, person)
    except Refused:
        return False
    return True
