"""Refuse whoever four eyes keep from a task what would pass it by another way.

Every act of an operator on an instance goes through here, or says in tests/services/test_operating_past.py why it need not: it
either names the step that it passes (`refuse_passing`), or is carried out and taken back with its transaction if it ended a task
of the instance or of one of its children (`refuse_barred`).
"""

from collections.abc import Iterable
from uuid import UUID

from django.utils.translation import gettext as _

from engine import coordinator
from engine.coordinator import Advanced
from engine.definitions import definition_of
from engine.errors import Refused
from engine.four_eyes import is_one_of, took_part_inside
from engine.kernel.four_eyes import barred_from_passing, children_named
from engine.kernel.signals import SignalType
from engine.models import Instance, Signal, Task
from workflowplatform.accounts.actor import Actor


def _refusal(task: str) -> Refused:
    message = _("Four eyes: you took part in this before, so someone else must operate past %(task)s.")
    return Refused(message % {"task": task.replace("_", " ")}, code="four_eyes")


def refuse_passing(actor: Actor, instance: Instance, name: str | None) -> None:
    """Refuse to operate past a step, if there is a task in it that bars the actor. The caller holds the instance's claim."""
    definition, loaded = definition_of(instance.version_id), coordinator.load([instance.pk])[instance.pk]
    step = definition.steps.get(name or "")
    if step is None or loaded.snapshot is None:
        return
    for task, people in barred_from_passing(definition, loaded.snapshot, loaded.facts.started_by, step):
        inside = children_named(definition, task)
        took_part = any(took_part_inside(instance.pk, inside, name) for name in actor.eyes)
        if actor.is_service or took_part or is_one_of(actor, people):
            raise _refusal(task.id)


def refuse_barred(actor: Actor, instance: Instance, advanced: Advanced) -> None:
    """Refuse an act, before it is committed, that ended a task which bars the actor, here or in a child that ended by it."""
    if advanced.barred:
        raise _refusal(advanced.barred[0])
    kinds = {step.kind for step in definition_of(instance.version_id).steps.values()}
    if "workflow" in kinds:
        ended = Signal.objects.filter(instance__parent_id=instance.pk, type=SignalType.PARENT_ENDED)
        refuse_ending(actor, ended.values_list("instance_id", flat=True))


def refuse_ending(actor: Actor, instance_ids: Iterable[UUID]) -> None:
    """Refuse to end instances whose parent goes on without them, while a task in one bars the actor."""
    tasks = Task.objects.open().filter(instance_id__in=instance_ids, extra__has_key="four_eyes")
    if not actor.is_service:
        tasks = tasks.filter(excluded__has_any_keys=sorted(actor.eyes))
    barring = tasks.values_list("step", flat=True).first()
    if barring is not None:
        raise _refusal(barring)
