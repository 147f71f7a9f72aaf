"""What must hold after every act of anyone: read from the tables themselves, and from services that another tenant calls.

Each rule of `BROKEN` is a query for what breaks it; one statement asks them all. The rest compares rows with the promises that
are listed with the templates.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import psycopg
from django.db import connection

from engine import access
from engine.errors import NotFound
from engine.services.audit.verification import list_audit, verify_audit
from engine.services.schedules.lifecycle import find_schedule
from tests.model import outside
from tests.model.glance import SeenInstance, look
from tests.model.model import ADMITTED, AUTHORED, INSTANCE_ENDS, LIVE, OPERATED, OVER, STEP_ACTS
from tests.model.templates import TEMPLATES
from tests.model.world import STRANGERS, World
from workflowplatform.accounts.actor import Actor


def _words(names: Any) -> str:
    return ", ".join(f"'{name}'" for name in sorted(names))


def _pairs(table: dict[str, str]) -> str:
    return ", ".join(f"('{key}', '{value}')" for key, value in table.items())


OURS = "i.tenant_id = %(tenant)s"
NEVER = "'9000-01-01'"
ENDED = f"i.status IN ({_words(OVER)})"
END_ACTS = _words(INSTANCE_ENDS.values())

BROKEN: dict[str, str] = {
    "a running instance waits for nothing": f"""
      SELECT i.id FROM wf_instances i WHERE {OURS} AND i.status = 'running'
      AND NOT EXISTS (SELECT FROM wf_waits w WHERE w.instance_id = i.id AND NOT w.side)
      AND NOT EXISTS (SELECT FROM wf_signals s WHERE s.instance_id = i.id AND s.due_at < {NEVER})""",
    "a running instance's signal is held for ever": f"""
      SELECT i.id FROM wf_instances i JOIN wf_signals s ON s.instance_id = i.id
      WHERE {OURS} AND i.status = 'running' AND s.due_at > {NEVER}""",
    "a wait for a time has no signal that brings it": f"""
      SELECT i.id FROM wf_instances i JOIN wf_waits w ON w.instance_id = i.id
      WHERE {OURS} AND w.kind IN ('timer', 'retry', 'call')
      AND NOT EXISTS (SELECT FROM wf_signals s WHERE s.instance_id = i.id AND s.waiting_token = w.token)""",
    "what was never admitted ran": f"""
      SELECT i.id FROM wf_instances i JOIN wf_audit_acts a ON a.subject_id = i.id
      WHERE {OURS} AND a.action = 'start_workflow' AND a.new->>'queued' = 'true'
      AND NOT EXISTS (SELECT FROM wf_audit_acts b WHERE b.subject_id = i.id AND b.action = 'admit_workflow')
      AND EXISTS (SELECT FROM wf_steps r WHERE r.instance_id = i.id)""",
    "what is over still waits": f"""
      SELECT i.id FROM wf_instances i JOIN wf_waits w ON w.instance_id = i.id WHERE {OURS} AND {ENDED}""",
    "what is over has an open task": f"""
      SELECT i.id FROM wf_instances i JOIN wf_tasks t ON t.instance_id = i.id
      WHERE {OURS} AND {ENDED} AND t.status IN ('open', 'claimed', 'suspended')""",
    "what is over has a step under way": f"""
      SELECT i.id FROM wf_instances i JOIN wf_steps r ON r.instance_id = i.id
      WHERE {OURS} AND {ENDED} AND r.status IN ('running', 'pending')""",
    "what is over means to call": f"""
      SELECT i.id FROM wf_instances i JOIN wf_effects e ON e.instance_id = i.id
      WHERE {OURS} AND {ENDED} AND e.status = 'intended' AND e.token > 0""",
    "what is over has no date, or what lives has one": f"""
      SELECT i.id FROM wf_instances i WHERE {OURS} AND ({ENDED}) <> (i.ended_at IS NOT NULL)""",
    "the engine's truth and the summary differ": f"""
      SELECT i.id FROM wf_instances i JOIN wf_runtime_states r ON r.instance_id = i.id
      WHERE {OURS} AND r.runtime_status <> i.status AND NOT (i.status = 'running' AND r.runtime_status = 'queued')""",
    "a child outlives its parent untold": f"""
      SELECT c.id FROM wf_instances i JOIN wf_instances c ON c.parent_id = i.id
      WHERE {OURS} AND {ENDED} AND c.parent_token IS NOT NULL AND c.status IN ({_words(LIVE)})
      AND NOT EXISTS (SELECT FROM wf_signals s WHERE s.instance_id = c.id AND s.type = 'ParentEnded')""",
    "a closed task is still offered": f"""
      SELECT i.id FROM wf_tasks i JOIN wf_task_candidates c ON c.task_id = i.id
      WHERE {OURS} AND i.status NOT IN ('open', 'claimed', 'suspended')""",
    "a step runs that has succeeded": f"""
      SELECT i.instance_id FROM wf_steps i WHERE {OURS} GROUP BY i.instance_id, i.path, i.iteration
      HAVING count(*) FILTER (WHERE i.status = 'success') > 1
      OR (bool_or(i.status = 'success') AND bool_or(i.status IN ('running', 'pending')))""",
    "rows of two tenants hang together": f"""
      SELECT i.id FROM wf_instances i WHERE {OURS} AND (
        EXISTS (SELECT FROM wf_templates t WHERE t.id = i.template_id AND t.tenant_id <> i.tenant_id)
        OR EXISTS (SELECT FROM wf_tasks t WHERE t.instance_id = i.id AND t.tenant_id <> i.tenant_id)
        OR EXISTS (SELECT FROM wf_signals s WHERE s.instance_id = i.id AND s.tenant_id <> i.tenant_id)
        OR EXISTS (SELECT FROM wf_audit_acts a WHERE a.subject_id = i.id AND a.tenant_id <> i.tenant_id))""",
    "an instance was started without a record": f"""
      SELECT i.id FROM wf_instances i WHERE {OURS}
      AND 1 <> (SELECT count(*) FROM wf_audit_acts a WHERE a.subject_id = i.id AND a.action = 'start_workflow')""",
    "an instance ended without a record, or goes on after one": f"""
      SELECT i.id FROM wf_instances i WHERE {OURS} AND ARRAY(
        SELECT a.action::text FROM wf_audit_acts a WHERE a.subject_id = i.id AND a.action IN ({END_ACTS}))
      IS DISTINCT FROM ARRAY(SELECT e.act FROM (VALUES {_pairs(INSTANCE_ENDS)}) e(status, act) WHERE e.status = i.status)""",
    "a step went without a record": f"""
      SELECT i.instance_id FROM wf_steps i JOIN (VALUES {_pairs(STEP_ACTS)}) e(status, act) ON e.status = i.status
      WHERE {OURS} AND NOT EXISTS (SELECT FROM wf_audit_acts a WHERE a.subject_id = i.instance_id AND a.action = e.act
                                   AND a.step = i.step AND a.attempt = i.attempt)""",
    "a task was opened without a record": f"""
      SELECT i.instance_id FROM wf_tasks i WHERE {OURS} GROUP BY i.instance_id
      HAVING count(*) <> (
        SELECT count(*) FROM wf_audit_acts a WHERE a.subject_id = i.instance_id AND a.action = 'task_created')""",
    "a task was answered without a record": f"""
      SELECT i.id FROM wf_tasks i WHERE {OURS} AND i.status = 'completed'
      AND NOT EXISTS (SELECT FROM wf_audit_acts a WHERE a.subject_id = i.instance_id AND a.action = 'task_completed'
                      AND a.step = i.step AND a.actor_name = i.completed_by_name)""",
    "a task was closed without an event": f"""
      SELECT i.id FROM wf_tasks i WHERE {OURS} AND i.status NOT IN ('open', 'claimed', 'suspended')
      AND 1 <> (SELECT count(*) FROM wf_task_events e WHERE e.task_id = i.id AND e.kind = i.status)""",
    "a task is claimed without an event": f"""
      SELECT i.id FROM wf_tasks i WHERE {OURS} AND i.status = 'claimed'
      AND NOT EXISTS (SELECT FROM wf_task_events e WHERE e.task_id = i.id AND e.kind = 'claimed'
                      AND e.actor_id = i.assignee_id)""",
    "a slot started without a record": f"""
      SELECT i.instance_id FROM wf_schedule_fires i WHERE {OURS} AND i.outcome = 'started'
      AND 1 <> (SELECT count(*) FROM wf_audit_acts a WHERE a.subject_id = i.instance_id AND a.action = 'trigger_scheduled')""",
    "a slot was skipped without a reason": f"""
      SELECT i.schedule_id FROM wf_schedule_fires i WHERE {OURS} AND i.outcome = 'skipped' AND i.reason = ''""",
    "somebody below level 5 authored": f"""
      SELECT i.subject_id FROM wf_audit_acts i WHERE {OURS} AND i.actor_id IS NOT NULL AND i.actor_level < 5
      AND i.action IN ({_words(AUTHORED)})""",
    "somebody below level 4 operated": f"""
      SELECT i.subject_id FROM wf_audit_acts i WHERE {OURS} AND i.actor_id IS NOT NULL AND i.actor_level < 4
      AND i.action IN ({_words(OPERATED | {"cancel_workflow"})})""",
    "two versions of a template are in force": f"""
      SELECT i.template_id FROM wf_template_versions i WHERE {OURS} AND i.status IN ('active', 'paused')
      GROUP BY i.template_id HAVING count(*) > 1""",
}

ASK = " UNION ALL ".join(
    f"SELECT '{rule.replace(chr(39), chr(39) * 2)}', q.* FROM ({query}) q" for rule, query in BROKEN.items()
)


def check(world: World) -> None:
    """Hold everything against everything; the first that differs is told."""
    world.glance = look(world.tenant.pk)
    for rule in RULES:
        for fault in rule(world):
            raise AssertionError(fault)
    world.sound = True


def _tables(world: World) -> Iterator[str]:
    """Ask all of `BROKEN` at once, planned once: planning takes ten times as long as looking."""
    connection.ensure_connection()
    with psycopg.Cursor(connection.connection) as cursor:
        cursor.execute(ASK, {"tenant": world.tenant.pk}, prepare=True)
        yield from (f"{rule}: {row}" for rule, row in cursor.fetchall())


def _audit(world: World) -> Iterator[str]:
    """Follow every chain of the tenant, if anything was added."""
    if world.verified != (newest := world.last_row()):
        yield from (f"the audit is broken: {broken}" for broken in verify_audit(actor=world.actor("gwen")).broken)
        world.verified = newest


def _moves(world: World) -> Iterator[str]:
    """Compare every status with the one before."""
    for instance in world.glance.instances:
        world.book.note(str(instance.id), instance.status)
    return iter(())


def _versions(world: World) -> Iterator[str]:
    """Compare versions with the model's own book."""
    held: dict[str, list[str]] = defaultdict(list)
    for name, status in (
        access.visible_versions(world.actor("gwen"))
        .order_by("template", "number")
        .values_list("template__name", "status")
    ):
        held[name].append(status)
    if held != world.book.versions:
        yield f"versions stand as {dict(held)}, the model has {world.book.versions}"


def _limits(world: World) -> Iterator[str]:
    """Count who was admitted: never more than allowed, and nobody waits while there is room."""
    own = [instance for instance in world.glance.instances if not instance.is_child]
    admitted = Counter(instance.template for instance in own if instance.status in ADMITTED)
    waiting = Counter(instance.template for instance in own if instance.status == "queued")
    for name, template in TEMPLATES.items():
        if template.limit is not None and admitted[name] > template.limit:
            yield f"{admitted[name]} of {name} are admitted, {template.limit} are allowed"
        if waiting[name] and (template.limit is None or admitted[name] < template.limit):
            yield f"{waiting[name]} of {name} wait though there is room"


def _turns(world: World) -> Iterator[str]:
    """See that no instance was admitted before one that came first."""
    first: dict[str, SeenInstance] = {}
    for instance in world.glance.instances:
        if instance.is_child:
            continue
        if instance.status == "queued":
            first.setdefault(instance.template, instance)
        earlier = first.get(instance.template)
        if instance.status in ADMITTED and earlier and earlier.started_at < instance.started_at:
            yield f"{instance.id} was admitted before {earlier.id}, which came first"


def _needs(world: World) -> Iterator[str]:
    """See that no step began before what it needs had succeeded."""
    for instance in world.glance.instances:
        by_step = world.glance.runs[instance.id]
        for step, needed in TEMPLATES[instance.template].needs.items():
            begun = [run for run in by_step.get(step, ()) if run.status not in ("pending", "skipped")]
            for need in needed if begun else ():
                ended = [run.ended_at for run in by_step.get(need, ()) if run.status == "success"]
                if not ended or ended[0] is None or ended[0] > begun[0].started_at:
                    yield f"{step} of {instance.id} began before {need} had succeeded"


def _attempts(world: World) -> Iterator[str]:
    """See that nothing is tried more often than its author allows."""
    for instance in world.glance.instances:
        for step, allowed in TEMPLATES[instance.template].attempts.items():
            tried = len(world.glance.runs[instance.id].get(step, ()))
            most = allowed + world.book.retries.get(str(instance.id), 0)
            if tried > most:
                yield f"{step} of {instance.id} was tried {tried} times, {most} are allowed"
            if world.glance.made[instance.id, step] > tried + world.book.kills + world.book.copies:
                yield f"{step} of {instance.id} was called more often than tried"


def _calls(world: World) -> Iterator[str]:
    """See that nobody called outside without having said so before."""
    for (instance, step), times in outside.asked().items():
        meant = world.glance.made[UUID(instance), step]
        if times > meant:
            yield f"{step} of {instance} called {times} times and meant to {meant} times"


def _strangers(world: World) -> Iterator[str]:
    """Let the other tenant's people look for what is new of ours: lists do not hold it, ids lead nowhere."""
    fresh = {kind: ids for kind, ids in _known(world).items() if set(ids) - world.hidden}
    for name in STRANGERS if fresh else ():
        actor = world.actor(name)
        yield from (f"{name} of another tenant sees our {what}" for what, rows in _lists(actor, fresh) if rows(world))
        for kind, ids in fresh.items():
            opened = [
                door
                for id_ in ids
                if id_ not in world.hidden
                for door in DOORS.get(kind, ())
                if _opens(door, actor, id_)
            ]
            yield from (f"{name} of another tenant opened our {kind} {door}" for door in opened)
    world.hidden.update(*fresh.values())


def _known(world: World) -> dict[str, list[Any]]:
    others = {kind: world.glance.others[kind] for kind in ("task", "schedule")}
    return {
        "instance": [instance.id for instance in world.glance.instances], "template": list(world.book.versions), **others
    }  # fmt: skip


Rows = Callable[[World], bool]


def _lists(actor: Actor, kinds: Any) -> Iterator[tuple[str, Rows]]:
    for kind in kinds:
        for visible in LISTS[kind]:
            yield kind, lambda world, visible=visible: visible(actor).filter(tenant_id=world.tenant.pk).exists()


LISTS: dict[str, tuple[Callable[[Actor], Any], ...]] = {
    "instance": (lambda actor: access.visible_instances(actor), lambda actor: list_audit(actor=actor)),
    "task": (lambda actor: access.visible_tasks(actor), lambda actor: access.tasks_available(actor)),
    "schedule": (lambda actor: access.visible_schedules(actor),),
    "template": (lambda actor: access.visible_templates(actor), lambda actor: access.visible_versions(actor)),
}
"""Looked up when called, so that a function that a test has broken is the one that is tried."""

DOORS: dict[str, tuple[Callable[[Actor, Any], Any], ...]] = {
    "instance": (access.instance_of, access.history_of, access.step_runs_of),
    "task": (access.task_of, access.events_of),
    "schedule": (lambda actor, id_: find_schedule(actor=actor, schedule_id=id_),),
    "template": (access.template_of, lambda actor, name: access.version_of(actor, name, 1)),
}


def _opens(door: Callable[[Actor, Any], Any], actor: Actor, id_: Any) -> bool:
    try:
        door(actor, id_)
    except NotFound:
        return False
    return True


RULES = (_tables, _moves, _versions, _limits, _turns, _needs, _attempts, _calls, _strangers, _audit)
