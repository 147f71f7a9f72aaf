"""Report to operators how work flows: what waits for what, how old the backlog is, and what began and ended on each day."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.db.models import Count, Min, QuerySet
from django.db.models.functions import TruncDate
from django.utils import timezone

from engine import access
from engine.audit.chain import database_now
from engine.models import Instance, Signal, Wait
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_OPERATE

DAYS = 14


@dataclass(frozen=True, slots=True)
class Day:
    """What began and what ended on one day, in the reader's zone."""

    on: date
    started: int
    ended: int


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of one moment."""

    waiting: tuple[tuple[str, int], ...]
    due: int
    oldest_due_for: timedelta | None
    """How long the oldest signal that is due has not been applied; None where none is."""
    days: tuple[Day, ...]


def tenant_figures(*, actor: Actor, days: int = DAYS) -> Figures:
    """Count the tenant's work: four questions, however much there is."""
    access.require_level(actor, TO_OPERATE, "see the tenant's figures")
    now = database_now()
    instances = Instance.objects.filter(tenant_id=actor.tenant_id)
    waits = Wait.objects.filter(tenant_id=actor.tenant_id, side=False).order_by()
    counted = dict(waits.values_list("kind").annotate(Count("token")))
    due = Signal.objects.filter(tenant_id=actor.tenant_id, due_at__lte=now).aggregate(
        n=Count("pk"), first=Min("due_at")
    )
    return Figures(
        waiting=tuple(sorted(counted.items(), key=lambda pair: -pair[1])),
        due=due["n"],
        oldest_due_for=now - due["first"] if due["first"] else None,
        days=tuple(_days(instances, now, days)),
    )


def _days(instances: QuerySet[Instance], now: datetime, days: int) -> Iterable[Day]:
    today = timezone.localtime(now).date()
    first = today - timedelta(days=days - 1)
    since = timezone.make_aware(datetime.combine(first, datetime.min.time()))
    started = _by_day(instances, "started_at", since)
    ended = _by_day(instances, "ended_at", since)
    for number in range(days):
        on = first + timedelta(days=number)
        yield Day(on, started.get(on, 0), ended.get(on, 0))


def _by_day(instances: QuerySet[Instance], moment: str, since: datetime) -> dict[date, int]:
    rows = instances.filter(**{f"{moment}__gte": since}).order_by().annotate(on=TruncDate(moment))
    return dict(rows.values_list("on").annotate(Count("pk")))
