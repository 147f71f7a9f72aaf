"""Play the demo's stories: start each case that is missing and do what people did in it, each deed once.

An interrupted story is resumed: its tasks show which deeds are done. What people changed in the meantime stays. The past is
played in one transaction, so that no worker sees a case that is still on its way to the present.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import itemgetter
from uuid import UUID

from django.db.models import Min

from engine import access
from engine.audit.chain import database_now
from engine.db.transactions import in_one_transaction
from engine.dispatch.drain import drain
from engine.errors import Conflict
from engine.kernel.transitions import InstanceStatus, TaskStatus
from engine.management.demo.clock import ShiftedClock
from engine.management.demo.stories import Deed, Story
from engine.models import Instance, Signal, Task
from engine.services.instances.lifecycle import cancel_instance, start_instance
from engine.services.instances.repair import suspend_instance
from engine.services.instances.requests import withdraw_instance
from engine.services.tasks.lifecycle import claim_task, complete_task
from workflowplatform.accounts.actor import Actor

PATIENCE_SECONDS = 30.0
"""How long to wait for workers that hold what the next deed needs."""

JUST_AFTER = timedelta(seconds=2)
"""How long after it fell due something of the past is done."""
MANY = 1_000

ActorNamed = Callable[[str], Actor]


@dataclass(slots=True)
class Running:
    """A story being played: its instance and the deeds that are left."""

    instance: Instance
    deeds: list[Deed]


def play(stories: Iterable[Story], actor: ActorNamed, *, finish: bool = True) -> None:
    """Play stories to their end, or raise `Conflict`; `finish` also makes the calls that they wait for."""
    running = [_begin(story, actor) for story in stories]
    stop_at = time.monotonic() + PATIENCE_SECONDS
    while True:
        moved = [_do_next(one, actor) for one in running]
        running = [one for one in running if one.deeds]
        if finish:
            drain()
        if not running:
            return
        if time.monotonic() > stop_at:
            raise _unfinished(running)
        if not any(moved):
            time.sleep(0.02)


@in_one_transaction
def play_past(stories: Sequence[Story], actor: ActorNamed, clock: ShiftedClock, now: datetime) -> None:
    """Play stories of the past in the order of their moments, and all that fell due in between, up to now."""
    first = Instance.objects.filter(tenant_id=actor(stories[0].person).tenant_id, reference=stories[0].reference)
    if first.exists():
        return
    running: dict[str, Running] = {}
    for moment, story, deed in _in_order(stories):
        _let_time_pass(moment, clock)
        clock.set(moment)
        if deed is None:
            running[story.reference] = _begin(story, actor)
        elif not _do_next(running[story.reference], actor, most=1):
            raise _unfinished([running[story.reference]])
        drain()
    _let_time_pass(now, clock)


def _in_order(stories: Iterable[Story]) -> list[tuple[datetime, Story, Deed | None]]:
    """List what people did with its moment, oldest first; no deed is the start."""
    starts = [(story.began, story, None) for story in stories if story.began]
    deeds = [(deed.at, story, deed) for story in stories for deed in story.deeds if deed.at]
    return sorted([*starts, *deeds], key=itemgetter(0))


def _let_time_pass(until: datetime, clock: ShiftedClock) -> None:
    """Do what fell due before a moment, each at its own time, as workers would have."""
    due = Signal.objects.filter(due_at__lt=until - JUST_AFTER)
    while (due_at := due.aggregate(first=Min("due_at"))["first"]) is not None:
        clock.set(max(due_at + JUST_AFTER, database_now()))
        if not drain().done:
            raise Conflict(
                "The past of the demo is not complete: a timer stays due. Run the command again.", code="demo"
            )


def _unfinished(running: Iterable[Running]) -> Conflict:
    names = ", ".join(str(one.instance.reference) for one in running)
    return Conflict(f"The demo is not complete: {names} did not finish. Run the command again.", code="demo")


def _begin(story: Story, actor: ActorNamed) -> Running:
    """Start a story, or resume it."""
    starter = actor(story.person)
    mine = Instance.objects.filter(tenant_id=starter.tenant_id, template__name=story.template)
    there = mine.filter(reference=story.reference).first()
    if there is not None:
        return Running(there, _left(story, there))
    started = start_instance(actor=starter, template=story.template, input=story.input, reference=story.reference)
    return Running(started.instance, list(story.deeds))


def _left(story: Story, instance: Instance) -> list[Deed]:
    """List the deeds that are not done yet; nothing is left to do in a case that is over or held."""
    if instance.is_over or instance.status == InstanceStatus.SUSPENDED:
        return []
    touched = [*Task.objects.filter(instance=instance).exclude(status=TaskStatus.OPEN).values_list("step", flat=True)]
    left = []
    for deed in story.deeds:
        if deed.step in touched:
            touched.remove(deed.step)
        else:
            left.append(deed)
    return left


def _do_next(one: Running, actor: ActorNamed, most: int = MANY) -> bool:
    """Do what can be done now; return whether anything could."""
    before = len(one.deeds)
    while (
        one.deeds
        and before - len(one.deeds) < most
        and DEEDS[one.deeds[0].verb](actor(one.deeds[0].person), one.instance, one.deeds[0])
    ):
        one.deeds.pop(0)
    return len(one.deeds) < before


def _complete(actor: Actor, instance: Instance, deed: Deed) -> bool:
    task_id = _open_task(actor, instance, deed.step)
    if task_id is not None:
        complete_task(actor=actor, task_id=task_id, outcome=deed.outcome, values=deed.values, comment=deed.comment)
    return task_id is not None


def _claim(actor: Actor, instance: Instance, deed: Deed) -> bool:
    task_id = _open_task(actor, instance, deed.step)
    if task_id is not None:
        claim_task(actor=actor, task_id=task_id)
    return task_id is not None


def _cancel(actor: Actor, instance: Instance, deed: Deed) -> bool:
    cancel_instance(actor=actor, instance_id=instance.pk, reason=deed.comment)
    return True


def _withdraw(actor: Actor, instance: Instance, deed: Deed) -> bool:
    withdraw_instance(actor=actor, instance_id=instance.pk, reason=deed.comment)
    return True


def _suspend(actor: Actor, instance: Instance, deed: Deed) -> bool:
    suspend_instance(actor=actor, instance_id=instance.pk, reason=deed.comment)
    return True


def _open_task(actor: Actor, instance: Instance, step: str) -> UUID | None:
    """Find the open task at a step that is for this person, or None while the case has not come that far."""
    tasks = access.visible_tasks(actor).filter(instance_id=instance.pk, step=step, status=TaskStatus.OPEN)
    mine = tasks.filter(assignee_id=actor.person_id) | tasks.filter(assignee_id=None)
    return mine.values_list("pk", flat=True).first()


DEEDS: Mapping[str, Callable[[Actor, Instance, Deed], bool]] = {
    "complete": _complete,
    "claim": _claim,
    "cancel": _cancel,
    "withdraw": _withdraw,
    "suspend": _suspend,
}
"""How each deed is done; returns False while it cannot be done yet."""
