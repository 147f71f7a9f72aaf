"""Count what a dashboard of a tenant shows."""

from typing import Any

from django.db.models import Count, F, Q
from django.db.models.functions import Now

from engine import access
from engine.kernel.transitions import OPEN_TASK, InstanceStatus
from engine.models import Instance, Task
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_OPERATE

LIVE = (InstanceStatus.QUEUED, InstanceStatus.RUNNING, InstanceStatus.SUSPENDED, InstanceStatus.INCIDENT)


def tenant_stats(*, actor: Actor) -> dict[str, Any]:
    """Count instances and open tasks by status, what is late, what is stuck, and what each template has going."""
    access.require_level(actor, TO_OPERATE, "see the tenant's figures")
    instances = Instance.objects.filter(tenant_id=actor.tenant_id)
    tasks = Task.objects.filter(tenant_id=actor.tenant_id, status__in=OPEN_TASK)
    going = instances.filter(status__in=LIVE).values(name=F("template__name")).order_by("name")
    return {
        "instances": dict(instances.values_list("status").annotate(Count("id")).order_by("status")),
        "tasks": dict(tasks.values_list("status").annotate(Count("id")).order_by("status")),
        "tasks_overdue": tasks.filter(due_at__lt=Now()).count(),
        "dead_letters": access.visible_dead_letters(actor).count(),
        "templates": list(going.annotate(live=Count("id"), incidents=Count("id", filter=Q(status="incident")))),
    }
