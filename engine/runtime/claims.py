"""Claim instances and read them under the claim; and read what else an act begins with, in one statement each.

The claim on an instance is the lock on its runtime row, taken with FOR NO KEY UPDATE so that rows may still refer to it. A dead
process releases the lock; there is no claimed state to clean up. Everybody takes locks in one order: the person (so that nobody
leaves in the middle of an act), runtime rows by instance id, then what hangs on them.

People wait for these reads: the actor of a token, a template to start from, a task to claim or to complete. They read the actor's
level and roles as they are at this moment. Rows that are not locked are read as they were when the statement began; if the
instance changed while an act waited for the claim, the statement runs once more under the locks it now holds. The rules
themselves are in engine.access.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from itertools import islice
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from engine import access
from engine.access.placeholders import placeholder_of
from engine.audit.chain import Chain
from engine.db.hydration import columns_of, link
from engine.db.query_shapes import Build, Given, read_sql
from engine.errors import NotFound, Refused, Unreadable
from engine.kernel.json_text import read_json
from engine.kernel.machine.four_eyes import barred_from
from engine.kernel.signals import InstanceFacts, Json
from engine.kernel.snapshot import Snapshot, UnreadableSnapshot
from engine.kernel.transitions import InstanceStatus, VersionStatus
from engine.models import Instance, Task, Template, TemplateVersion
from engine.runtime.commit import run_hot, run_hot_together
from engine.runtime.definition_cache import definition_of
from engine.runtime.projection import Loaded
from workflowplatform.accounts.actor import Actor, actor_by, actor_of, stand_ins
from workflowplatform.accounts.levels import TO_SEE_TENANT
from workflowplatform.accounts.models import Tenant, Token, User
from workflowplatform.database.hot import Rows, Values
from workflowplatform.ids import keep_time

LOCK = """
SELECT r.instance_id FROM (SELECT asked.id FROM unnest(%s::uuid[]) asked(id) ORDER BY asked.id) asked
CROSS JOIN LATERAL (SELECT instance_id FROM wf_runtime_states WHERE instance_id = asked.id FOR NO KEY UPDATE) r
"""
"""Lock in one order, so that two transactions that want the same instances never deadlock. One lookup for each: a kept plan
for `= ANY(…)` may walk the whole index instead."""

LOADED = """
r.instance_id, r.tenant_id, i.template_id, i.version_id, r.state_version, r.snapshot, i.status, i.reference,
i.started_by_name, i.started_at, i.started_by_id, i.audit_seq, i.audit_hash, t.name, v.number,
i.parent_id, i.parent_token, i.depth, i.root_id, i.hops,
coalesce(t.concurrent_limit, n.concurrent_limit) IS NOT NULL,
CASE WHEN r.snapshot_schema_version = 0 THEN i.input END, clock_timestamp()
"""
"""The columns of an instance as the kernel needs it, from a runtime row `r` and what `JOINED_TO_RUNTIME` joins to it."""

JOINED_TO_RUNTIME = """
JOIN wf_instances i ON i.id = r.instance_id
JOIN wf_templates t ON t.id = i.template_id
JOIN wf_template_versions v ON v.id = i.version_id
JOIN wf_tenants n ON n.id = i.tenant_id
"""

LOAD = f"""
SELECT {LOADED} FROM unnest(%(claimed)s::uuid[]) asked(id)
CROSS JOIN LATERAL (SELECT * FROM wf_runtime_states WHERE instance_id = asked.id OFFSET 0) r {JOINED_TO_RUNTIME}
"""
LOAD_ONE = f"SELECT {LOADED} FROM wf_runtime_states r {JOINED_TO_RUNTIME} WHERE r.instance_id = %s"

HOLD = f"""
WITH claimed AS MATERIALIZED (SELECT * FROM wf_runtime_states WHERE instance_id = %s FOR NO KEY UPDATE)
SELECT {LOADED}, i.xmin = seen.xmin FROM claimed r {JOINED_TO_RUNTIME} JOIN wf_instances seen ON seen.id = i.id
FOR NO KEY UPDATE OF i
"""
"""Claim and load one instance at once. Locked rows are read as they are now, the others as they were when the statement began.
Every change of an instance changes its row `i` too, so a row that is the same twice proves that everything read is current."""


def lock(instance_ids: Iterable[UUID]) -> list[UUID]:
    """Claim instances by their runtime rows, waiting for current holders. Call inside a transaction."""
    return [row[0] for row in run_hot(LOCK, [list(instance_ids)])]


def lock_and_load(instance_ids: Iterable[UUID]) -> dict[UUID, Loaded]:
    """Claim instances and read them as they are then, on one journey: the second statement begins under the locks."""
    wanted = list(instance_ids)
    _, rows = run_hot_together((LOCK, [wanted]), loading(wanted))
    return loaded_from(rows)


def load(instance_ids: Sequence[UUID]) -> dict[UUID, Loaded]:
    """Read claimed instances as they are now."""
    return loaded_from(run_hot(*loading(instance_ids)))


def loading(instance_ids: Sequence[UUID]) -> tuple[str, Values]:
    """Return the statement that reads claimed instances, and its values."""
    return (LOAD_ONE, instance_ids) if len(instance_ids) == 1 else (LOAD, {"claimed": list(instance_ids)})


def loaded_from(rows: Rows) -> dict[UUID, Loaded]:
    """Read the rows of that statement."""
    return {row[0]: loaded_of(row) for row in rows}


def hold(instance_id: UUID) -> Loaded:
    """Claim one instance, waiting for its current holder, and read it under the lock. Call inside a transaction."""
    rows = run_hot(HOLD, [instance_id])
    if rows and not rows[0][-1]:
        rows = run_hot(HOLD, [instance_id])
    if not rows:
        raise NotFound
    return loaded_of(rows[0][:-1])


def loaded_of(row: tuple[Any, ...]) -> Loaded:
    """Read the columns of `LOADED`."""
    (instance_id, tenant_id, template_id, version_id, state_version, snapshot, status, reference, started_by, started_at,
     started_by_id, audit_seq, audit_hash, template, number,
     parent_id, parent_token, depth, root_id, hops, limited, values, now) = row  # fmt: skip
    keep_time(now)
    return Loaded(
        instance_id=instance_id,
        tenant_id=tenant_id,
        template_id=template_id,
        version_id=version_id,
        state_version=state_version,
        snapshot=_snapshot(snapshot),
        status=InstanceStatus(status),
        facts=InstanceFacts(str(instance_id), template, number, started_by or None, started_at, reference),
        chain=Chain("instance", instance_id, tenant_id, audit_seq, audit_hash),
        now=now,
        started_by_id=started_by_id,
        parent_id=parent_id,
        parent_token=parent_token,
        depth=depth,
        root_id=root_id,
        hops=hops,
        limited=limited,
        input=_json(values),
        weight=len(snapshot),
    )


def _json(value: Any) -> Any:
    """Read a JSON column whichever way the driver hands it over: Django's cursors leave it as text."""
    return json.loads(value) if isinstance(value, str) else value


def _snapshot(stored: str) -> Snapshot | None:
    """Read a snapshot; an instance that waited for admission has none yet."""
    content = read_json(stored)
    return read_snapshot(content) if content else None


MISSHAPEN = (UnreadableSnapshot, AttributeError, IndexError, KeyError, TypeError, ValueError)
"""What comes of walking through a value of another shape than the machine writes."""


def read_snapshot(stored: Json) -> Snapshot:
    """Read a snapshot, or raise why it cannot be read."""
    with readable_or_refused():
        return Snapshot.from_json(stored)


@contextmanager
def readable_or_refused() -> Iterator[None]:
    """Turn what comes of an unreadable snapshot into a refusal: where it is read, and where a preview walks through it."""
    try:
        yield
    except MISSHAPEN as problem:
        said = problem if isinstance(problem, UnreadableSnapshot) else f"{type(problem).__name__}: {problem}"
        message = _("The stored state of this case can't be read: %(problem)s.") % {"problem": said}
        raise Unreadable(message) from problem


# What an act of a person begins with

TASK = columns_of(Task, "k")
INSTANCE = columns_of(Instance, "i", without=("state", "output", "error"))
TEMPLATE = columns_of(Template, "t", "id", "tenant_id", "name", "title", "concurrent_limit")
VERSION = columns_of(TemplateVersion, "v", "id", "tenant_id", "template_id", "number", "status", "unavailable")
TENANT = columns_of(Tenant, "n", "id", "name", "concurrent_limit")
ASSIGNEE = columns_of(User, "a", "id", "tenant_id", "username", "full_name")
PERSON = columns_of(User, "p", "id", "tenant_id", "username", "full_name", "level", "is_active", "same_eyes")

TOKEN = columns_of(Token, "k")
HOLDER = columns_of(User, "p")

PASS = f"""
SELECT {TOKEN.listed}, {HOLDER.listed}, ARRAY(SELECT m.role_id FROM wf_memberships m WHERE m.user_id = p.id),
  ARRAY(SELECT m.role_id FROM wf_memberships m WHERE m.user_id = p.id AND m.leads), wf_stands_in(p.id)
FROM wf_tokens k JOIN wf_people p ON p.id = k.user_id
WHERE k.digest = %(digest)s AND p.is_active AND (k.expiry IS NULL OR k.expiry > clock_timestamp())
"""

STARTABLE = f"""
SELECT {VERSION.listed}, {TEMPLATE.listed}, {TENANT.listed}, p.is_active, p.level,
  ARRAY(SELECT held.name FROM wf_memberships m JOIN wf_roles held ON held.id = m.role_id
        WHERE m.user_id = p.id AND held.id = ANY(%(roles)s::uuid[])),
  clock_timestamp()
FROM wf_templates t
JOIN wf_template_versions v ON v.template_id = t.id
JOIN wf_tenants n ON n.id = t.tenant_id
LEFT JOIN wf_people p ON p.id = %(person)s::uuid
WHERE t.tenant_id = %(tenant)s::uuid AND t.name = %(name)s
  AND CASE WHEN %(number)s::int IS NULL THEN v.status IN ('active', 'paused') ELSE v.number = %(number)s::int END
"""

HELD_TASK = f"""
WITH person AS MATERIALIZED (
  SELECT * FROM wf_people WHERE id = %(person)s::uuid FOR SHARE),
claimed AS MATERIALIZED (
  SELECT * FROM wf_runtime_states WHERE instance_id = (
    SELECT instance_id FROM person CROSS JOIN wf_tasks
    WHERE wf_tasks.id = %(task)s::uuid AND wf_tasks.tenant_id = %(tenant)s::uuid) FOR NO KEY UPDATE)
SELECT {LOADED}, {TASK.listed}, {INSTANCE.listed}, {VERSION.listed}, {TEMPLATE.listed}, {ASSIGNEE.listed},
  {PERSON.listed},
  EXISTS (SELECT FROM wf_task_candidates c WHERE c.task_id = k.id AND c.principal = ANY(%(principals)s::uuid[])
    AND (c.principal <> ALL(%(roles)s::uuid[])
         OR EXISTS (SELECT FROM wf_memberships m WHERE m.user_id = p.id AND m.role_id = c.principal))),
  {{seen}}, i.xmin = before.xmin, wf_stands_in(p.id)
FROM claimed r {JOINED_TO_RUNTIME}
JOIN wf_instances before ON before.id = i.id
JOIN wf_tasks k ON k.id = %(task)s::uuid
LEFT JOIN wf_people a ON a.id = k.assignee_id
CROSS JOIN person p
FOR NO KEY UPDATE OF i
"""
LOADED_WIDTH = 23


@dataclass(frozen=True, slots=True)
class Startable:
    """A version that the actor may start, who they are now, and when that is."""

    actor: Actor
    version: TemplateVersion
    now: datetime


@dataclass(frozen=True, slots=True)
class HeldTask:
    """A task whose instance is claimed, and who acts, as they are now."""

    actor: Actor
    person: User
    task: Task
    loaded: Loaded
    offered: bool
    """Whether the task is offered to the actor."""


def token_with(digest: str) -> tuple[Token, Actor] | None:
    """Return a valid token and its current actor; every request of a program begins with this."""
    rows = run_hot(PASS, {"digest": digest})
    if not rows:
        return None
    reader = iter(rows[0])
    token, person = TOKEN.read(reader), HOLDER.read(reader)
    roles, leads, absent = reader
    return link(token, user=person), actor_by(token, actor_of(person, roles, leads, absent))


def version_to_start(actor: Actor, name: str, number: int | None = None, *, way: access.Way = "manual") -> Startable:
    """Return the version that a start by this actor runs, else raise the rule that forbids it."""
    values = {"tenant": actor.tenant_id, "name": name, "number": number or None, **_who(actor)}
    rows = run_hot(STARTABLE, values)
    if not rows:
        raise NotFound if number else access.refuse_inactive(actor, name)
    reader = iter(rows[0])
    version, template, tenant = (columns.read(reader) for columns in (VERSION, TEMPLATE, TENANT))
    is_active, level, held, now = reader
    keep_time(now)
    link(version, template=template, tenant=tenant)
    if version.status == VersionStatus.ACTIVE:
        version.canonical = definition_of(version.pk).canonical
    actor = _as_now(actor, is_active, level) if actor.person_id else actor
    access.require_startable(actor, version, set(held), way)
    return Startable(actor, version, now)


def hold_task(actor: Actor, task_id: UUID) -> HeldTask:
    """Claim a task's instance and read the task under the lock, for an actor who sees it. Call inside a transaction.

    An actor who saw it before the lock and no longer sees it under the lock is told why.
    """
    held, seen, fresh = _read_task(actor, task_id)
    if held.actor is not actor:
        return hold_task(held.actor, task_id)
    if fresh:
        return _require(held, seen)
    held, still_seen, _granted = _read_task(actor, task_id)
    if seen and not still_seen:
        raise access.refuse_act(held.actor, held.task) or NotFound()
    return _require(held, still_seen)


def _require(held: HeldTask, seen: bool) -> HeldTask:
    if not seen:
        raise NotFound
    return held


def _read_task(actor: Actor, task_id: UUID) -> tuple[HeldTask, bool, bool]:
    """Read a task under its claim; also whether the actor sees it, and whether all of it is as it is now."""
    seen, values = _seen(actor, task_id)
    values |= {"tenant": actor.tenant_id, "task": task_id, "principals": actor.principals, **_who(actor)}
    rows = run_hot(_held_task(seen), values)
    if not rows:
        raise _refuse_absent(actor)
    reader = iter(rows[0])
    loaded = loaded_of(tuple(islice(reader, LOADED_WIDTH)))
    task, instance, version, template, assignee, person = (
        columns.read(reader) for columns in (TASK, INSTANCE, VERSION, TEMPLATE, ASSIGNEE, PERSON)
    )
    offered, sees, fresh, absent = reader
    link(version, template=template)
    link(instance, template=template, version=version)
    link(task, instance=instance, version=version, assignee=assignee if task.assignee_id else None)
    if loaded.snapshot is not None and not task.is_over:
        definition = definition_of(version.pk)
        task.excluded = list(barred_from(definition, loaded.snapshot, loaded.facts.started_by, task.token))
    actor = _standing_in_now(_as_now(actor, person.is_active, person.level, person.same_eyes), absent)
    return HeldTask(actor, person, task, loaded, offered), sees, fresh


@cache
def _held_task(seen: str) -> str:
    return HELD_TASK.format(seen=seen)


def _who(actor: Actor) -> dict[str, Any]:
    return {"person": actor.person_id, "roles": list(actor.roles)}


def _seen(actor: Actor, task_id: UUID) -> tuple[str, dict[str, Any]]:
    """Write in SQL whether the actor sees the task: from level 4 on all of the tenant, else by the rule of engine.access."""
    if actor.level >= TO_SEE_TENANT:
        return "true", {}

    def prepare(given: Given) -> Build:
        reader, wanted = placeholder_of(actor, given), given(task_id)
        return lambda: access.visible_tasks(reader).filter(pk=wanted).order_by().values("pk")

    rule, params = read_sql("seen", prepare)
    names = [f"seen{number}" for number in range(len(params))]
    return f"EXISTS ({rule % tuple(f'%({name})s' for name in names)})", dict(zip(names, params, strict=True))


def _as_now(actor: Actor, is_active: bool | None, level: int | None, same_eyes: Iterable[str] = ()) -> Actor:
    """Take from the actor what was taken from the person since they came in; refuse one who is not active any more."""
    if not is_active or level is None:
        raise Refused(_("Your account is not active any more."), code="level")
    if not actor.same_eyes.issuperset(same_eyes):
        actor = replace(actor, same_eyes=actor.same_eyes.union(same_eyes))
    return actor if level >= actor.level else replace(actor, level=level)


def _standing_in_now(actor: Actor, absent: Any) -> Actor:
    """Take whom the actor stands in for from this moment: an absence may have begun or ended since they came in."""
    found = () if actor.crosses else stand_ins(absent)
    return actor if found == actor.stands_in else replace(actor, stands_in=found)


def _refuse_absent(actor: Actor) -> Exception:
    """Return the error for a task that is not there, or for a person who is not."""
    found = User.objects.filter(pk=actor.person_id, is_active=True).exists() if actor.person_id else False
    return NotFound() if found else Refused(_("Your account is not active any more."), code="level")
