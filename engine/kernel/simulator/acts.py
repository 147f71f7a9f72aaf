"""The acts of people, senders and time in a simulation: the entries of `do`."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from engine.kernel.effects import OpenTask
from engine.kernel.machine.four_eyes import barred_from_passing, barred_from_redoing
from engine.kernel.signals import (
    ClockPaused,
    ClockResumed,
    Json,
    StepRetried,
    StepSkipped,
    TaskClaimed,
    TaskCompleted,
    TaskRedone,
    TaskReleased,
    TaskSkipped,
)
from engine.kernel.simulator.answer_rules import attach_files, checked_answer
from engine.kernel.simulator.instance import Instance, Task
from engine.kernel.simulator.people import Person, Refused
from engine.kernel.simulator.permissions import (
    UNNAMED,
    choose_person,
    forbid_act,
    forbid_assignment,
    forbid_redo,
    refuse_unseen,
)
from engine.kernel.simulator.world import World
from engine.kernel.timing.periods import parse_period
from engine.kernel.transitions import TERMINAL_INSTANCE, InstanceStatus, TaskStatus

if TYPE_CHECKING:
    from engine.kernel.simulator.player import Play


OPERATES = 4
"""The level from which a person may assign tasks, release those of others and send signals."""


def complete(world: World, instance: Instance, task: Task | None, by: str | None, given: Mapping[str, Json]) -> None:
    """Complete a task as a person; an open one is claimed in the same act."""
    task = _there(task)
    person = world.person(by or choose_person(world, task))
    forbid_act(task, person, answers=True)
    answer = checked_answer(task, attach_files(task, given))
    if instance.definition.claims_decide and task.claimed_by is None and not task.task.rules.several:
        world.send(instance, TaskClaimed(task.wait.token, person.name))
    task.answered_by.append(person.name)
    world.send(instance, TaskCompleted(task.wait.token, answer.outcome, person.name, answer.values, answer.comment))


def _there(task: Task | None) -> Task:
    if task is None:
        raise Refused("closed", "there is no such task")
    return task


def _refuse_over_limit(world: World, instance: Instance, task: Task, name: str) -> None:
    """Refuse a claim by a person who already holds as many tasks of this step as its author allows."""
    most = task.task.rules.wip_limit
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
    if task.rules.several:
        raise Refused("status", "several people answer this task, so nobody can claim it")


def _refuse_operator(person: Person, what: str) -> None:
    if person.level < OPERATES:
        raise Refused("level", f"level {OPERATES} is needed to {what}")


def _act_complete(play: "Play", instance: Instance, act: Mapping[str, Json]) -> None:
    given = act.get("with") or {}
    complete(play.world, instance, instance.find_task(str(act["complete"])), act.get("by"), given)


def _act_claim(play: "Play", instance: Instance, act: Mapping[str, Json]) -> None:
    task = _there(instance.find_task(str(act["claim"])))
    _claim(play, instance, task, play.world.person(str(act.get("by") or choose_person(play.world, task))))


def _claim(play: "Play", instance: Instance, task: Task, person: Person) -> None:
    forbid_act(task, person)
    if task.claimed_by is not None:
        return
    _refuse_shared(task.task)
    _refuse_over_limit(play.world, instance, task, person.name)
    task.assignee, task.status = person.name, TaskStatus.CLAIMED
    _tell_engine(play, instance, TaskClaimed(task.wait.token, person.name))


def _tell_engine(play: "Play", instance: Instance, event: TaskClaimed | TaskReleased) -> None:
    """Deliver a claim or release to the instance, where its definition picks among offers by that."""
    if instance.definition.claims_decide:
        play.world.send(instance, event)


def _act_release(play: "Play", instance: Instance, act: Mapping[str, Json]) -> None:
    task = _there(instance.find_task(str(act["release"])))
    person = play.world.person(str(act.get("by") or task.assignee or UNNAMED))
    refuse_unseen(task, person)
    claimed = task.claimed_by is not None
    if not claimed and not (task.is_open and task.assignee):
        raise Refused("status", "it is nobody's")
    if task.assignee != person.name:
        _refuse_operator(person, "release another person's task")
    _wait_no_more(play, instance, task)
    task.assignee, task.status = None, TaskStatus.OPEN
    if claimed:
        _tell_engine(play, instance, TaskReleased(task.wait.token))


def _act_ask(play: "Play", instance: Instance, act: Mapping[str, Json]) -> None:
    """Ask a person about a task of one's own; it waits for the answer."""
    task, person = _own(play, instance, act, "ask")
    if task.waiting_for is not None:
        raise Refused("waiting", f"it waits for {task.waiting_for} already")
    asked = receiver(act)
    if asked is None or asked == person.name:
        raise Refused("invalid", "someone else is asked", ("user",))
    task.waiting_for = asked
    play.world.send(instance, ClockPaused(task.wait.token))


def _own(play: "Play", instance: Instance, act: Mapping[str, Json], word: str) -> tuple[Task, Person]:
    """Return a task and the person who holds it and acts."""
    task = _there(instance.find_task(str(act[word])))
    person = play.world.person(str(act.get("by") or task.assignee or choose_person(play.world, task)))
    forbid_act(task, person)
    if task.assignee is None:
        raise Refused("status", "it is nobody's")
    return task, person


def _act_answer(play: "Play", instance: Instance, act: Mapping[str, Json]) -> None:
    """Answer the question about a task."""
    task = _there(instance.find_task(str(act["answer"])))
    if task.waiting_for is None or task.waiting_for != (act.get("by") or task.waiting_for):
        raise Refused("not_found", "they were not asked")
    if not task.is_open:
        raise Refused("closed", f"the task is {task.status.value}")
    _wait_no_more(play, instance, task)


def _act_withdraw(play: "Play", instance: Instance, act: Mapping[str, Json]) -> None:
    """Take a question back."""
    task, _ = _own(play, instance, act, "withdraw")
    if task.waiting_for is None:
        raise Refused("status", "it waits for nobody")
    _wait_no_more(play, instance, task)


def _wait_no_more(play: "Play", instance: Instance, task: Task) -> None:
    """End the question about a task, if one is open, and the pause of its clock."""
    if task.waiting_for is not None:
        task.waiting_for = None
        play.world.send(instance, ClockResumed(task.wait.token))


def _act_skip(play: "Play", instance: Instance, act: Mapping[str, Json]) -> None:
    task = _there(instance.find_task(str(act["skip"])))
    person = play.world.person(str(act.get("by") or choose_person(play.world, task)))
    forbid_act(task, person)
    if "skip" not in task.task.rules.allow:
        raise Refused("refused", "the task may not be skipped")
    reason = skip_reason(act)
    if not reason.strip():
        raise Refused("invalid", "a reason is needed", ("reason",))
    play.world.send(instance, TaskSkipped(task.wait.token, person.name, reason))


def _act_redo(play: "Play", instance: Instance, act: Mapping[str, Json]) -> None:
    task = _there(instance.find_task(str(act["redo"])))
    person = play.world.person(str(act.get("by") or next(iter(task.answered_by), UNNAMED)))
    forbid_redo(task, person)
    if instance.status in TERMINAL_INSTANCE:
        raise Refused("moved_on", "the case is over")
    _refuse_to_set_aside(instance, task, person)
    event = TaskRedone(task.wait.step, task.wait.iteration, person.name, "a test")
    before = max(instance.tasks)
    if not play.world.send(instance, event):
        raise Refused("moved_on", "the case has moved on")
    if task.answered_by == [person.name]:
        _claim_again(play, instance, task.wait.step, person, since=before)


def _claim_again(play: "Play", instance: Instance, step: str, person: Person, *, since: int) -> None:
    """Assign what is done again to the person who had answered it, if it is offered to them."""
    opened = (one for one in instance.open_tasks() if one.wait.token > since and one.wait.step == step)
    fresh = next(opened, None)
    if fresh is not None and fresh.assignee is None:
        with suppress(Refused):
            _claim(play, instance, fresh, person)


def _refuse_to_set_aside(instance: Instance, task: Task, person: Person) -> None:
    """Refuse to have decided again what was decided by another because the person may not decide it."""
    step, since = instance.definition.steps[task.wait.step], task.ended_at
    assert instance.snapshot is not None
    assert since is not None
    decided = barred_from_redoing(instance.definition, instance.snapshot, instance.facts.started_by, step, since)
    if any(person.name in people for _task, people in decided):
        raise Refused("four_eyes", "another person must do this")


def skip_reason(act: Mapping[str, Json]) -> str:
    """Return why a task is skipped: `with: the reason`; a test that does not say has one."""
    given = act.get("with", "not needed")
    return str((given.get("reason") if isinstance(given, Mapping) else given) or "")


def _act_assign(play: "Play", instance: Instance, act: Mapping[str, Json]) -> None:
    """Assign a task to a person, or with no name offer it to all candidates again."""
    task = _there(instance.find_task(str(act["assign"])))
    operator = play.world.person(str(act.get("by") or UNNAMED))
    refuse_unseen(task, operator)
    _refuse_operator(operator, "assign a task")
    if not task.is_open:
        raise Refused("closed", f"the task is {task.status.value}")
    _refuse_shared(task.task)
    name = receiver(act)
    if name is not None:
        forbid_assignment(task, play.world.person(name))
    _hand_over(play, instance, task, name)


def receiver(act: Mapping[str, Json]) -> str | None:
    """Return the person a task is assigned to: `with: ann` or `with: {user: ann}`."""
    given = act.get("with")
    name = given.get("user") if isinstance(given, Mapping) else given
    return None if name is None else str(name)


def _hand_over(play: "Play", instance: Instance, task: Task, name: str | None) -> None:
    _wait_no_more(play, instance, task)
    before, was_claimed = task.assignee, task.claimed_by is not None
    if name and before in task.asked and not (task.task.roles or task.task.users):
        task.asked = (task.asked - {str(before)}) | {name}
    task.assignee, task.status = name, TaskStatus.OPEN
    if was_claimed:
        _tell_engine(play, instance, TaskReleased(task.wait.token))


def _act_operate(play: "Play", instance: Instance, act: Mapping[str, Json]) -> None:
    """Repair an instance that stopped at a failed step: skip the step, or run it again with `input`."""
    operator = play.world.person(str(act.get("by") or UNNAMED))
    _refuse_operator(operator, "operate cases")
    if instance.status is not InstanceStatus.INCIDENT or instance.snapshot is None:
        raise Refused("status", f"the case is {instance.status.value}")
    name = str(act["operate"])
    step = instance.definition.steps[name]
    for _task, people in barred_from_passing(instance.definition, instance.snapshot, instance.facts.started_by, step):
        if operator.name in people:
            raise Refused("four_eyes", "another person must do this")
    stuck = [
        frame["n"] for frame in instance.snapshot.frames if (frame.get("step"), frame.get("phase")) == (name, "stuck")
    ]
    if not stuck:
        raise Refused("invalid", f"{name} has not failed", ("step",))
    if "input" in act:
        play.world.operate(instance, StepRetried(stuck[-1], act["input"], operator.name))
    else:
        play.world.operate(instance, StepSkipped(stuck[-1], act.get("with"), "a test", operator.name))


def _act_signal(play: "Play", instance: Instance, act: Mapping[str, Json]) -> None:
    """Send a signal to one instance, or by key to the instances that wait for it."""
    name, payload, key = str(act["signal"]), act.get("with"), act.get("key")
    sender = play.world.person(str(act.get("by") or UNNAMED))
    if key is None and sender.level < OPERATES and sender.name != instance.facts.started_by:
        raise Refused("not_found", "there is no such instance, or they can't see it", rule="level")
    _refuse_operator(sender, "send signals")
    if key is None:
        play.heard = int(play.world.send_named(instance, name, payload, sender.name))
    else:
        all_, ttl = bool(act.get("all")), act.get("ttl")
        play.heard = play.world.signal(name, str(key), payload, ttl, everybody=all_, by=sender.name)
        play.settle()
    if "delivered" in act and act["delivered"] != play.heard:
        play.failures.append(f"signal {name} was delivered {play.heard} times, not {act['delivered']}")


def _act_advance(play: "Play", _instance: Instance, act: Mapping[str, Json]) -> None:
    """Move the clock on; timers fire one by one at their time."""
    until = parse_period(str(act["advance"])).after(play.world.now)
    play.let_time_pass(until)


def _act_outage(play: "Play", _instance: Instance, act: Mapping[str, Json]) -> None:
    """Make the clock jump; what fell due meanwhile is seen at the end."""
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
    "ask": _act_ask,
    "answer": _act_answer,
    "withdraw": _act_withdraw,
    "skip": _act_skip,
    "redo": _act_redo,
    "operate": _act_operate,
    "signal": _act_signal,
    "advance": _act_advance,
    "outage": _act_outage,
    "start": _act_start,
    "expect": _act_expect,
}
"""What each entry of `do` does, by its first word."""
TASK_ACTS = frozenset(["complete", "claim", "release", "assign", "ask", "answer", "withdraw", "skip", "redo"])
"""Those that name a task."""
