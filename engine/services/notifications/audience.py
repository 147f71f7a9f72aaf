"""Decide, when a message is sent, what its receiver may still see of it: access decides then, not when it was written."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from engine import access
from engine.errors import NotFound
from engine.kernel.transitions import TaskStatus
from engine.models import Instance, Notification, Task, TaskQuestion
from workflowplatform.accounts.actor import Actor


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to tell, as its receiver sees it now."""

    row: Notification
    task: Task | None = None
    instance: Instance | None = None

    @property
    def kind(self) -> str:
        return self.row.kind


def items_for(actor: Actor, rows: Iterable[Notification]) -> list[Item]:
    """Return what of these the actor is still to hear, in their order."""
    found = (item_for(actor, row) for row in rows)
    return [item for item in found if item is not None]


def item_for(actor: Actor, row: Notification) -> Item | None:
    """Return what a message tells, or None where it is no news any more, or nothing that the actor may see."""
    if row.task_id is not None:
        return _about_task(actor, row)
    if row.instance_id is not None:
        case = access.visible_instances(actor).filter(pk=row.instance_id).first()
        return Item(row, instance=case) if case and not _is_overtaken(row, case) else None
    return Item(row)


def _is_overtaken(row: Notification, case: Instance) -> bool:
    """Return whether a decision on the way is no news any more: the case is over, and its end is told by itself."""
    return row.kind == "decided" and case.is_over and row.key != f"decided:{case.pk}"


def _about_task(actor: Actor, row: Notification) -> Item | None:
    assert row.task_id is not None
    try:
        task = access.task_of(actor, row.task_id)
    except NotFound:
        return _case_alone(actor, row)
    news = IS_NEWS.get(row.kind)
    return Item(row, task, task.instance) if news is None or news(actor, task) else None


def _case_alone(actor: Actor, row: Notification) -> Item | None:
    """Show a mentioned person the case where they see that and not the task; a question is shown without its task."""
    if row.kind == "asked":
        asked = TaskQuestion.objects.filter(task=row.task, asked_of_id__in=[row.person_id], ended_at__isnull=True)
        return Item(row) if asked.exists() else None
    if row.kind == "not_sent":
        return Item(row)
    if row.kind != "mentioned" or row.instance_id is None:
        return None
    case = access.visible_instances(actor).filter(pk=row.instance_id).first()
    return Item(row, instance=case) if case else None


def is_own(actor: Actor, task: Task) -> bool:
    """Return whether a task is the actor's and still open."""
    return not task.is_over and task.assignee_id == actor.person_id


def is_free_for(actor: Actor, task: Task) -> bool:
    """Return whether an offered task can still be taken by the actor."""
    is_open = task.status == TaskStatus.OPEN and task.assignee_id is None
    return is_open and access.refuse_act(actor, task) is None


def is_to_do_for_another(actor: Actor, task: Task) -> bool:
    """Return whether the actor may still do a task of a person for whom they stand in."""
    return not task.is_over and task.assignee_id != actor.person_id and access.refuse_act(actor, task) is None


def is_in_hand(actor: Actor, task: Task) -> bool:
    """Return whether the actor may continue with a task: their own, or one of a person for whom they stand in."""
    return is_own(actor, task) or is_to_do_for_another(actor, task)


IS_NEWS: Mapping[str, Callable[[Actor, Task], bool]] = {
    "assigned": is_own,
    "answered": is_in_hand,
    "due_soon": is_own,
    "late": is_own,
    "offered": is_free_for,
    "handed_over": is_to_do_for_another,
}
"""For how long each kind is news about a task; the others always are."""
