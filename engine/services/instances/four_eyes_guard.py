"""Refuse people barred by four eyes every action that would get around the task.

Every act of an operator on an instance goes through here, or says in tests/services/test_operating_past.py why it need not: it
either names the step that it passes (`refuse_passing`), or is carried out and taken back with its transaction if it ended a task
of the instance or of one of its children (`refuse_barred`).
"""

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from django.utils.translation import gettext as _

from engine.access.four_eyes import is_one_of, took_part_inside
from engine.errors import Refused
from engine.kernel.machine.four_eyes import GIVEN_UP, barred_from_passing, children_named
from engine.kernel.signals import SignalType
from engine.kernel.tasks.rules import FOUR_EYES, NOT_INSIDE
from engine.models import Instance, Signal, Task
from engine.runtime import claims
from engine.runtime.coordinator import Advanced
from engine.runtime.definition_cache import definition_of
from workflowplatform.accounts.actor import Actor


def _refusal(task: str) -> Refused:
    message = _("You took part in this, so someone else must decide to bypass %(task)s.")
    return Refused(message % {"task": task.replace("_", " ")}, code="four_eyes")


def refuse_passing(actor: Actor, instance: Instance, name: str | None) -> None:
    """Refuse to operate past a step, if there is a task in it that bars the actor. The caller holds the instance's claim."""
    definition, loaded = definition_of(instance.version_id), claims.load([instance.pk])[instance.pk]
    step = definition.steps.get(name or "")
    if step is None or loaded.snapshot is None:
        return
    for task, people in barred_from_passing(definition, loaded.snapshot, loaded.facts.started_by, step):
        inside = children_named(definition, task)
        if actor.is_service or is_one_of(actor, people) or _took_part(actor, instance, inside):
            raise _refusal(task.id)


def barred_inside(actor: Actor, instance: Instance) -> Mapping[UUID, str]:
    """Return the open tasks that bar the actor for what they did in a child under way: the kernel does not know of that."""
    definition = definition_of(instance.version_id)
    if not any(children_named(definition, definition.steps[name]) for name in definition.four_eyes):
        return {}
    tasks = Task.objects.open().filter(instance=instance, extra__has_key=NOT_INSIDE)
    return {task.pk: task.step for task in tasks if _took_part(actor, instance, task.rules.not_inside)}


def _took_part(actor: Actor, instance: Instance, steps: Sequence[str]) -> bool:
    return any(took_part_inside(instance.pk, steps, name) for name in actor.eyes)


def refuse_barred(actor: Actor, instance: Instance, advanced: Advanced, inside: Mapping[UUID, str]) -> None:
    """Refuse an act, before it is committed, that ended a task which bars the actor, here or in a child that ended by it.

    `inside` are the tasks that `barred_inside` returned before the action. Ending the whole case decides nothing.
    """
    if advanced.barred:
        raise _refusal(advanced.barred[0])
    if advanced.status in GIVEN_UP:
        return
    still = set(Task.objects.open().filter(pk__in=inside).values_list("pk", flat=True)) if inside else set()
    for task_id, step in inside.items():
        if task_id not in still:
            raise _refusal(step)
    if any(step.kind == "workflow" for step in definition_of(instance.version_id).steps.values()):
        ended = Signal.objects.filter(instance__parent_id=instance.pk, type=SignalType.PARENT_ENDED)
        refuse_ending(actor, ended.values_list("instance_id", flat=True))


def refuse_ending(actor: Actor, instance_ids: Iterable[UUID]) -> None:
    """Refuse to end instances whose parent continues without them, while a task in one bars the actor."""
    tasks = Task.objects.open().filter(instance_id__in=instance_ids, extra__has_key=FOUR_EYES)
    barring = tasks.filter(excluded__has_any_keys=sorted(actor.eyes)).values_list("step", flat=True).first()
    if barring is not None:
        raise _refusal(barring)
