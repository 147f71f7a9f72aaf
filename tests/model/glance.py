"""One look at a tenant's tables: what the model compares, read without the ORM because it is read after every act."""

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db import connection

INSTANCES = """
SELECT i.id, t.name, i.status, i.parent_token IS NOT NULL, i.started_at FROM wf_instances i
JOIN wf_templates t ON t.id = i.template_id WHERE i.tenant_id = %s ORDER BY i.started_at, i.id
"""
RUNS = """
SELECT r.instance_id, r.step, r.status, r.started_at, r.ended_at FROM wf_steps r
WHERE r.tenant_id = %s ORDER BY r.instance_id, r.run, r.attempt
"""
MADE = "SELECT instance_id, regexp_replace(path, '^.*/', ''), made FROM wf_effects WHERE tenant_id = %s"
OTHERS = """
SELECT 'task', id FROM wf_tasks WHERE tenant_id = %(tenant)s
UNION ALL SELECT 'schedule', id FROM wf_schedules WHERE tenant_id = %(tenant)s
UNION ALL SELECT 'due', id FROM wf_signals WHERE tenant_id = %(tenant)s AND due_at < '9000-01-01'
UNION ALL SELECT 'call', id FROM wf_signals WHERE tenant_id = %(tenant)s AND due_at < '9000-01-01' AND type = 'CallDue'
UNION ALL SELECT 'template', id FROM wf_templates WHERE tenant_id = %(tenant)s
"""


class SeenInstance(NamedTuple):
    id: UUID
    template: str
    status: str
    is_child: bool
    started_at: datetime


class SeenRun(NamedTuple):
    instance: UUID
    step: str
    status: str
    started_at: datetime
    ended_at: datetime | None


Runs = dict[UUID, dict[str, list[SeenRun]]]


@dataclass
class Glance:
    """What was there at one moment."""

    instances: list[SeenInstance] = field(default_factory=list)
    runs: Runs = field(default_factory=dict)
    """The step runs of every instance by step, attempts in order."""
    made: dict[tuple[UUID, str], int] = field(default_factory=dict)
    """How many calls each step meant to make."""
    others: dict[str, list[UUID]] = field(default_factory=dict)

    def has(self, *statuses: str) -> bool:
        """Return whether there is an instance in one of these statuses, or at all."""
        return any(not statuses or instance.status in statuses for instance in self.instances)


def look(tenant_id: UUID) -> Glance:
    """Read everything that the model compares."""
    glance = Glance(runs=defaultdict(lambda: defaultdict(list)), made=defaultdict(int), others=defaultdict(list))
    with connection.cursor() as cursor:
        cursor.execute(INSTANCES, [tenant_id])
        glance.instances = [SeenInstance(*row) for row in cursor.fetchall()]
        cursor.execute(RUNS, [tenant_id])
        for run in map(SeenRun._make, cursor.fetchall()):
            glance.runs[run.instance][run.step].append(run)
        cursor.execute(MADE, [tenant_id])
        for instance, step, made in cursor.fetchall():
            glance.made[instance, step] += made
        cursor.execute(OTHERS, {"tenant": tenant_id})
        for kind, id_ in cursor.fetchall():
            glance.others[kind].append(id_)
    return glance
