"""What people, senders and time do in a simulation: the entries of `do`."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from engine.kernel.effects import OpenTask
from engine.kernel.periods import parse_period
from engine.kernel.signals import Json, NamedSignal, TaskClaimed, TaskCompleted, TaskReleased, TaskSkipped
from engine.kernel.simulator.instance import Instance, Task
from engine.kernel.simulator.people import Refused, checked_answer, may_act, people_inside, refuse_actor
from engine.kernel.simulator.world import World
from engine.kernel.transitions import TaskStatus

if TYPE_CHECKING:
    from engine.kernel.simulator.playing import Play


def complete(world: World, instance: Instance, task: Task | None, by: str | None, given: Mapping[str, Json]) -> None:
    """Answer a task as a person."""
    task = _open(task)
    person = world.person(by or _somebody(world, task))
    _refuse(task, person.name)
    assert task.wait.task is not None
    refuse_actor(task.wait.task, task.assignee, person, people_inside(instance, task.wait.task))
    if person.name in task.answered_by:
        raise Refused("answered", "everybody answers once")
    outcome, values, comment = checked_answer(task.wait.task, given)
    task.answered_by.append(person.name)
    world.send(instance, TaskCompleted(task.wait.token, outcome, person.name, values, comment))


def _somebody(world: World, task: Task) -> str:
    """Pick somebody who may act: who claimed it, whose it is, one of the cast, else a stranger of the right sort."""
    found = task.wait.task
    assert found is not None
    if task.claimed_by or task.assignee:
        return str(task.claimed_by or task.assignee)
    fitting = [one.name for one in world.people.values() if may_act(found, None, one)]
    named = [name for name in found.users if name not in found.excluded]
    return next((name for name in [*fitting, *named] if name not in task.answered_by), _stranger(world, task))


def _stranger(world: World, task: Task) -> str:
    found = task.wait.task
    assert found is not None
    from_role = f"somebody-{found.roles[0]}" if found.roles else "somebody"
    name = from_role + (f"-{len(task.answered_by) + 1}" if task.answered_by else "")
    if name not in world.people:
        person = type(world.person(name))(name, frozenset(found.roles), max(4, found.min_level))
        world.people[name] = person
    return name


def _open(task: Task | None) -> Task:
    if task is None:
        raise Refused("closed", "there is no such task")
    if not task.is_open:
        raise Refused("closed", f"the task is {task.status.value}")
    return task


def _refuse(task: Task, name: str) -> None:
    if task.claimed_by is not None and task.claimed_by != name:
        raise Refused("claimed", f"{task.claimed_by} has claimed it")


def _refuse_over_limit(world: World, instance: Instance, task: Task, name: str) -> None:
    """Refuse a claim by somebody who holds as many tasks of this step as its author lets one person hold."""
    assert task.wait.task is not None
    most = task.wait.task.extra.get("wip_limit")
    same = [one for one in world.instances if one.definition.name == instance.definition.name]
    held = [
        other
        for one in same
        for other in one.open_tasks()
        if (other.claimed_by, other.wait.step) == (name, task.wait.step)
    ]
    if most is not None and len(held) >= most:
        raise Refused("wip_limit", f"{name} holds {len(held)} already")


def _refuse_shared(task: OpenTask) -> None:
    if task.extra.get("several"):
        raise Refused("status", "several people answer this task; it is nobody's alone")


def _act_complete(play: "Play", instance: Instance, act: Mapping[str, Json]) -> None:
    given = act.get("with") or {}
    complete(play.world, instance, instance.find_task(str(act["complete"])), act.get("by"), given)


def _act_claim(play: "Play", instance: Instance, act: Mapping[str, Json]) -> None:
    task = _open(instance.find_task(str(act["claim"])))
    person = play.world.person(str(act.get("by") or _somebody(play.world, task)))
    _refuse(task, person.name)
    assert task.wait.task is not None
    refuse_actor(task.wait.task, task.assignee, person, people_inside(instance, task.wait.task))
    _refuse_shared(task.wait.task)
    _refuse_over_limit(play.world, instance, task, person.name)
    task.claimed_by, task.status = person.name, TaskStatus.CLAIMED
    play.world.send(instance, TaskClaimed(task.wait.token, person.name))


def _act_release(play: "Play", instance: Instance, act: Mapping[str, Json]) -> None:
    task = _open(instance.find_task(str(act["release"])))
    if task.status is not TaskStatus.CLAIMED:
        raise Refused("status", "nobody has claimed it")
    if act.get("by") is not None:
        _refuse(task, str(act["by"]))
    task.claimed_by, task.status = None, TaskStatus.OPEN
    play.world.send(instance, TaskReleased(task.wait.token))


def _act_skip(play: "Play", instance: Instance, act: Mapping[str, Json]) -> None:
    task = _open(instance.find_task(str(act["skip"])))
    person = play.world.person(str(act.get("by") or _somebody(play.world, task)))
    _refuse(task, person.name)
    assert task.wait.task is not None
    refuse_actor(task.wait.task, task.assignee, person, people_inside(instance, task.wait.task))
    if "skip" not in task.wait.task.extra.get("allow", ()):
        raise Refused("refused", "the task may not be skipped")
    play.world.send(instance, TaskSkipped(task.wait.token, person.name, str(act.get("with") or "")))


def _act_assign(play: "Play", instance: Instance, act: Mapping[str, Json]) -> None:
    task = _open(instance.find_task(str(act["assign"])))
    given = act.get("with")
    name = given.get("user") if isinstance(given, dict) else given
    assert task.wait.task is not None
    _refuse_shared(task.wait.task)
    refuse_actor(task.wait.task, None, play.world.person(str(name)), people_inside(instance, task.wait.task))
    task.assignee = str(name)


def _act_signal(play: "Play", instance: Instance, act: Mapping[str, Json]) -> None:
    name, payload, key = str(act["signal"]), act.get("with"), act.get("key")
    if key is None:
        heard = int(play.world.send(instance, NamedSignal(name, None, payload, bool(act.get("all", False)))))
    else:
        heard = play.world.signal(name, str(key), payload, act.get("ttl"))
        play.settle()
    if "delivered" in act and act["delivered"] != heard:
        play.failures.append(f"signal {name} was delivered {heard} times, not {act['delivered']}")


def _act_advance(play: "Play", _instance: Instance, act: Mapping[str, Json]) -> None:
    """Let time pass; timers ring one by one at their time."""
    until = parse_period(str(act["advance"])).after(play.world.now)
    play.let_time_pass(until)


def _act_outage(play: "Play", _instance: Instance, act: Mapping[str, Json]) -> None:
    """Let the clock jump; what fell due meanwhile is seen at the end."""
    play.world.now = parse_period(str(act["outage"])).after(play.world.now)
    play.let_time_pass(play.world.now)


def _act_start(play: "Play", _instance: Instance, act: Mapping[str, Json]) -> None:
    name = str(act.get("workflow") or play.name)
    by = act.get("by", play.test.get("as", "starter"))
    play.world.start(name, act["start"], by, str(act.get("name", name)))


def _act_expect(play: "Play", instance: Instance, act: Mapping[str, Json]) -> None:
    play.check(instance, act["expect"])


ACTS: Mapping[str, Callable[["Play", Instance, Mapping[str, Json]], None]] = {
    "complete": _act_complete,
    "claim": _act_claim,
    "release": _act_release,
    "assign": _act_assign,
    "skip": _act_skip,
    "signal": _act_signal,
    "advance": _act_advance,
    "outage": _act_outage,
    "start": _act_start,
    "expect": _act_expect,
}
"""What each entry of `do` does, by its first word."""
TASK_ACTS = frozenset(["complete", "claim", "release", "assign", "skip"])
"""Those that name a task."""
