"""Name the events that webhooks tell, and write each as the message that goes out.

An event is an act of the audit that was committed. A message says what happened to what, by ids and names, never the business
data itself: receivers read that with a token of their own, and see what that token may see.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from engine.models import Audit, Instance, Task, Template

PING = "webhook.ping"

EVENTS: Mapping[str, tuple[str, ...]] = {
    "instance.started": ("start_workflow",),
    "instance.completed": ("complete_workflow",),
    "instance.failed": ("fail_workflow",),
    "instance.cancelled": ("cancel_workflow",),
    "instance.expired": ("expire_workflow",),
    "instance.incident": ("raise_incident",),
    "instance.suspended": ("suspend_workflow",),
    "instance.resumed": ("resume_workflow",),
    "task.opened": ("task_created",),
    "task.claimed": ("task_claimed",),
    "task.released": ("task_released",),
    "task.assigned": ("task_assigned", "task_reassigned"),
    "task.answered": ("task_answered",),
    "task.completed": ("task_completed",),
    "task.skipped": ("task_skipped",),
    "task.redone": ("task_redone",),
    "task.expired": ("task_expired",),
    "task.cancelled": ("task_cancelled",),
    "task.escalated": ("task_escalated",),
    "template.activated": ("activate_template",),
    "template.paused": ("pause_template",),
    "template.resumed": ("resume_template",),
    "template.archived": ("archive_template",),
}
"""Every event that can be subscribed to, and the acts that it tells."""

EVENT_OF: Mapping[str, str] = {action: event for event, actions in EVENTS.items() for action in actions}


def actions_of(events: Iterable[str]) -> list[str]:
    """Return the acts that some events tell."""
    return [action for event in events for action in EVENTS[event]]


@dataclass(frozen=True, slots=True)
class Message:
    """One event, ready to go out."""

    event: str
    audit_id: int
    instance_id: UUID | None
    template: str
    body: str


def messages_of(tenant_id: UUID, acts: Sequence[Audit]) -> list[Message]:
    """Write acts as messages, with the names of what they were done to; what is gone meanwhile has no names to tell."""
    about = {kind: {act.subject_id for act in acts if act.subject_kind == kind} for kind in ("instance", "template")}
    instances = Instance.objects.filter(tenant_id=tenant_id, pk__in=about["instance"])
    cases = {one.pk: one for one in instances.select_related("template", "version").defer("state", "input", "output")}
    templates = {one.pk: one for one in Template.objects.filter(tenant_id=tenant_id, pk__in=about["template"])}
    tasks = _tasks(tenant_id, acts)
    written = (_message(act, cases.get(act.subject_id), templates.get(act.subject_id), tasks) for act in acts)
    return [message for message in written if message is not None]


def _message(
    act: Audit, case: Instance | None, template: Template | None, tasks: Mapping[int, Task | None]
) -> Message | None:
    if case is None and template is None:
        return None
    name = case.template.name if case else template.name if template else ""
    about = _of_instance(case) if case else {"template": name, "version": (act.new or {}).get("version")}
    facts = {**about, **(_of_task(act, tasks.get(act.pk)) if act.action.startswith("task_") else {}), **_of_act(act)}
    event = EVENT_OF[act.action]
    return Message(event, act.pk, case.pk if case else None, name, body_of(event, act.at.isoformat(), facts))


def body_of(event: str, at: str, data: Mapping[str, Any]) -> str:
    """Write the body that is signed: these very bytes go out, whenever and however often."""
    text = {"type": event, "timestamp": at.replace("+00:00", "Z"), "data": data}
    return json.dumps(text, ensure_ascii=False, separators=(",", ":"), default=str)


def _of_instance(case: Instance) -> dict[str, Any]:
    return {
        "instance": case.pk,
        "template": case.template.name,
        "version": case.version.number,
        "reference": case.reference,
        "started_by": case.started_by_name,
    }


def _of_task(act: Audit, task: Task | None) -> dict[str, Any]:
    told = act.new or {}
    return {
        "task": task.pk if task else None,
        "title": task.title if task else told.get("title"),
        "assignee": told.get("assignee"),
    }


def _of_act(act: Audit) -> dict[str, Any]:
    told = act.new if isinstance(act.new, dict) else {}
    outcome = {"outcome": told["outcome"]} if "outcome" in told else {}
    error = {"error": told["error"]} if "error" in told else {}
    return {"step": act.step, "actor": act.actor_name, "seq": act.seq, **outcome, **error}


def _tasks(tenant_id: UUID, acts: Sequence[Audit]) -> dict[int, Task | None]:
    """Find the task of each act: by its token where the act names it, else the last one of its step before the act."""
    told = [act for act in acts if act.action.startswith("task_")]
    rows = Task.objects.filter(tenant_id=tenant_id, instance_id__in={act.subject_id for act in told}) if told else ()
    found: dict[UUID, list[Task]] = {}
    for task in sorted(rows, key=lambda row: row.token):
        found.setdefault(task.instance_id, []).append(task)
    return {act.pk: _task_of(act, found.get(act.subject_id, [])) for act in told}


def _task_of(act: Audit, tasks: Sequence[Task]) -> Task | None:
    token = act.new.get("token") if isinstance(act.new, dict) else None
    if token is not None:
        return next((task for task in tasks if task.token == token), None)
    place = [task for task in tasks if (task.step, task.iteration) == (act.step, act.iteration or "")]
    before = [task for task in place if task.created_at <= act.at]
    found = before or place
    return found[-1] if found else None
