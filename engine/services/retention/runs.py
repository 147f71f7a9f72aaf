"""Run retention automatically: once a day, and when a person asks, a share at a time.

Workers host it (engine.dispatch.retention). One process at a time holds the lock. A worker that dies leaves its run open; when
the lock has expired another worker continues. That the day's run is over is a second lock, which nobody releases. Files go with
the cases that they belong to; files that belong to nothing are left to the command: next to a database that was restored
for a look, no file is deleted automatically.
"""

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from datetime import timedelta

import structlog
from django.db import connection
from django.db.models import Exists, OuterRef, Q, QuerySet

from engine import access
from engine.audit.chain import Act, database_now, record
from engine.db.host_locks import HeldLock, LockLost, acquire, holder_of
from engine.db.transactions import announce_on_commit, in_one_transaction, is_connection_lost
from engine.models import RetentionRule, RetentionRun
from engine.services.retention.months import sweep_months
from engine.services.retention.purge import (
    LOCK,
    Purged,
    Swept,
    close_run,
    list_retention,
    preview_retention,
    sweep_house,
    sweep_tenant,
)
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_AUTHOR
from workflowplatform.accounts.models import Tenant

log = structlog.get_logger(__name__)

DAILY = "retention-daily"
DAY = timedelta(days=1)
LOCK_SECONDS = 120
"""Longer than a worker drains between two shares."""
SHARE = 100
"""Cases a share: what a signal that falls due meanwhile may have to wait for."""

HAS_WORK = """
SELECT EXISTS (SELECT FROM wf_retention_runs WHERE ended_at IS NULL) OR %(daily)s AND NOT EXISTS (
  SELECT FROM wf_host_locks WHERE name = %(name)s AND expires_at > clock_timestamp())
"""


@dataclass(frozen=True, slots=True)
class Retention:
    """How long a tenant keeps its work: the rules, the last run, and what would go now."""

    rules: list[RetentionRule]
    last_run: RetentionRun | None
    preview: list[Purged]


def show_retention(*, actor: Actor) -> Retention:
    """Return the rules of the actor's tenant, its last run, and what a run would let go now."""
    rules = list_retention(actor=actor)
    last = RetentionRun.objects.filter(tenant_id=actor.tenant_id).first()
    return Retention(rules, last, preview_retention(actor=actor) if rules else [])


@in_one_transaction
def ask_retention(*, actor: Actor, dry_run: bool = False) -> Retention:
    """Ask the workers to run the tenant's rules now; a run that is open already will do. A dry run only shows what would go."""
    access.require_level(actor, TO_AUTHOR, "delete ended work")
    if not dry_run:
        now = database_now()
        given = {"began_at": now, "asked_by": actor.name}
        open_ones = RetentionRun.objects.filter(ended_at__isnull=True)
        _, is_new = open_ones.get_or_create(tenant_id=actor.tenant_id, defaults=given)
        if is_new:
            record(Tenant.objects.get(pk=actor.tenant_id), Act("ask_retention"), actor=actor)
            announce_on_commit([now], now)
    return show_retention(actor=actor)


# Hosted by workers


def has_work(*, daily: bool) -> bool:
    """Return whether a run was asked for, or the day's is due."""
    with connection.cursor() as cursor:
        cursor.execute(HAS_WORK, {"daily": daily, "name": DAILY})
        return bool(cursor.fetchone()[0])


def begin_shares(*, daily: bool) -> Generator[None, None, None] | None:
    """Return the walk over what is to be done, a share at a time; None where another process does it."""
    lock = acquire(LOCK, seconds=LOCK_SECONDS)
    return None if lock is None else _shares(lock, daily=daily and holder_of(DAILY) is None)


def _shares(lock: HeldLock, *, daily: bool) -> Generator[None, None, None]:
    try:
        swept = Swept(dry_run=False)
        for tenant in _tenants(daily=daily):
            yield from _sweep(tenant, swept, lock)
        if daily:
            yield from sweep_house(swept, lock=lock, size=10 * SHARE)
            acquire(DAILY, seconds=DAY.total_seconds())
            for _ in sweep_months(lock):
                yield
    finally:
        lock.release()


def _tenants(*, daily: bool) -> QuerySet[Tenant]:
    """Choose whose rules are run: those who asked, and in the day's run all that have rules and had none today."""
    runs = RetentionRun.objects.filter(tenant=OuterRef("pk"))
    wanted = Q(Exists(runs.filter(ended_at__isnull=True)))
    if daily:
        rules = RetentionRule.objects.filter(tenant=OuterRef("pk"))
        wanted |= Q(Exists(rules)) & ~Q(Exists(runs.filter(ended_at__gt=database_now() - DAY)))
    return Tenant.objects.filter(wanted).order_by("name")


def _sweep(tenant: Tenant, swept: Swept, lock: HeldLock) -> Iterator[None]:
    """Run one tenant's rules; what goes wrong ends its run, with the reason, and never stops its neighbours."""
    try:
        yield from sweep_tenant(tenant, swept, lock=lock, size=SHARE)
    except LockLost:
        raise
    except Exception as problem:
        if is_connection_lost():
            raise
        log.exception("retention failed for a tenant", tenant=tenant.name)
        run = RetentionRun.objects.filter(tenant=tenant, ended_at__isnull=True).first()
        if run is not None:
            close_run(tenant, run, error=f"{type(problem).__name__}: {problem}"[:1000])
