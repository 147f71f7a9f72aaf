"""What is written of each act on a task."""

from datetime import datetime
from typing import Any

from engine.audit.chain import Act, record
from engine.models import Task, TaskEvent
from workflowplatform.accounts.actor import Actor


def note_act(
    actor: Actor, task: Task, kind: str, at: datetime, *, old: Any = None, new: Any = None, cause: str = ""
) -> None:
    """Write what happened to the task's events and to the instance's audit."""
    TaskEvent.objects.create(
        tenant_id=task.tenant_id,
        instance_id=task.instance_id,
        task=task,
        kind=kind,
        at=at,
        actor_id=actor.person_id,
        actor_name=actor.name,
        actor_level=actor.level,
        cause=cause,
        old=old,
        new=new,
    )
    told = {**(new or {}), "token": task.token}
    act = Act(f"task_{kind}", step=task.step, iteration=task.iteration, cause=cause, old=old, new=told)
    record(task.instance, act, actor=actor)
