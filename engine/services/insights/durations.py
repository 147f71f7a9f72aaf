"""How long cases of a workflow usually take, from the last ones that came to their end."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Aggregate, Count, DurationField, F, OuterRef, Subquery

from engine.kernel.transitions import InstanceStatus, TaskStatus
from engine.models import Instance, Task, Template
from workflowplatform.accounts.actor import Actor

LAST_ONES, FEWEST = 25, 3
LAST_CASES, FEWEST_TASKS = 200, 10
LATELY = timedelta(days=90)


class Middle(Subquery):
    """The middle of the only column of a query, where it has enough rows."""

    template = (
        "(SELECT CASE WHEN count(*) >= %(fewest)s THEN percentile_disc(0.5) WITHIN GROUP (ORDER BY took) END "
        "FROM (%(subquery)s) AS ended)"
    )
    output_field = DurationField()


def usual_times(*, actor: Actor, template_ids: Sequence[UUID]) -> dict[UUID, timedelta]:
    """Return the median time of the last completed cases of each template, where there are some; one query."""
    ended = Instance.objects.filter(
        tenant_id=OuterRef("tenant_id"), template_id=OuterRef("pk"), status=InstanceStatus.COMPLETED
    )
    took = ended.order_by("-id").annotate(took=F("ended_at") - F("started_at")).values("took")[:LAST_ONES]
    templates = Template.objects.filter(tenant_id=actor.tenant_id, pk__in=template_ids)
    found = templates.annotate(usual=Middle(took, fewest=FEWEST)).values_list("pk", "usual")
    return {pk: usual for pk, usual in found if usual is not None}


class MiddleOf(Aggregate):
    """The middle of a length of time."""

    function = "percentile_disc"
    template = "%(function)s(0.5) WITHIN GROUP (ORDER BY %(expressions)s)"
    output_field = DurationField()


def usual_task_times(*, actor: Actor, template_id: UUID, now: datetime) -> dict[str, timedelta]:
    """Return for each step how long people usually take, over the last 90 days; one query, of the latest cases only."""
    lately = Instance.objects.filter(tenant_id=actor.tenant_id, template_id=template_id).order_by("-id")[:LAST_CASES]
    tasks = Task.objects.filter(
        instance_id__in=lately.values("pk"), completed_at__gt=now - LATELY, status=TaskStatus.COMPLETED
    )
    took = tasks.order_by().annotate(took=F("completed_at") - F("created_at")).values("step")
    found = took.annotate(number=Count("pk"), usual=MiddleOf("took")).filter(number__gte=FEWEST_TASKS)
    return {row["step"]: row["usual"] for row in found}
