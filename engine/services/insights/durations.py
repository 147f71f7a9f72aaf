"""How long cases of a workflow usually take, from the last ones that came to their end."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Aggregate, Count, DurationField, F, OuterRef, Subquery

from engine.kernel.transitions import InstanceStatus, TaskStatus
from engine.models import Instance, Task, Template
from workflowplatform.accounts.actor import Actor

LAST_ONES, FEWEST = 25, 3
LAST_CASES, FEWEST_CASES = 200, 10
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
    cases = Count("instance_id", distinct=True)
    found = took.annotate(number=cases, usual=MiddleOf("took")).filter(number__gte=FEWEST_CASES)
    return {row["step"]: _rough(row["usual"]) for row in found}


def _rough(length: timedelta) -> timedelta:
    """Round a usual time to what people would say: quarters of an hour, below one hour minutes."""
    unit = timedelta(minutes=15) if length > timedelta(hours=1) else timedelta(minutes=1)
    return max(round(length / unit), 1) * unit


@dataclass(frozen=True, slots=True)
class UsualTimes:
    """How long people usually take for each step, and the whole case, over the last 90 days; nothing where few came."""

    steps: Mapping[str, timedelta] = field(default_factory=dict)
    whole: timedelta | None = None


def usual_times_of(*, actor: Actor, template_id: UUID, now: datetime) -> UsualTimes:
    """Give how long cases of a template usually take, step by step and as a whole; two queries."""
    ended = Instance.objects.filter(
        tenant_id=actor.tenant_id, template_id=template_id, status=InstanceStatus.COMPLETED, ended_at__gt=now - LATELY
    )
    took = ended.annotate(took=F("ended_at") - F("started_at")).order_by("-id")[:LAST_CASES]
    found = took.aggregate(number=Count("pk"), usual=MiddleOf("took"))
    whole = _rough(found["usual"]) if found["number"] >= FEWEST_CASES else None
    return UsualTimes(usual_task_times(actor=actor, template_id=template_id, now=now), whole)
