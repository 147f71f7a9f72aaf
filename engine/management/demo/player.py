"""Play the demo's stories: start each case that is missing and do what people did in it, each deed once.

An interrupted story is resumed: its tasks show which deeds are done. What people changed in the meantime stays.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from engine import access
from engine.dispatch.drain import drain
from engine.errors import Conflict
from engine.kernel.transitions import InstanceStatus, TaskStatus
from engine.management.demo.stories import Deed, Story
from engine.models import Instance, Task
from engine.services.instances.lifecycle import cancel_instance, start_instance
from engine.services.instances.repair import suspend_instance
from engine.services.tasks.lifecycle import claim_task, complete_task
from workflowplatform.accounts.actor import Actor

PATIENCE_SECONDS = 30.0
"""How long to wait for workers that hold what the next deed needs."""

ActorNamed = Callable[[str], Actor]


@dataclass(slots=True)
class Running:
    """A story being played: its instance and the deeds that are left."""

    instance: Instance
    deeds: list[Deed]


def tell(stories: Iterable[Story], actor: ActorNamed, *, finish: bool = True) -> None:
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


def _unfinished(running: Iterable[Running]) -> Conflict:
    names = ", ".join(str(one.instance.reference) for one in running)
    return Conflict(f"The demo is not complete, something holds {names}. Run it again.", code="demo")


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


def _do_next(one: Running, actor: ActorNamed) -> bool:
    """Do what can be done now; return whether anything could."""
    before = len(one.deeds)
    while one.deeds and DEEDS[one.deeds[0].verb](actor(one.deeds[0].person), one.instance, one.deeds[0]):
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
    "suspend": _suspend,
}
"""How each deed is done; returns False while it cannot be done yet."""
