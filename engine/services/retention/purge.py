"""Delete ended work after its time: per template and tenant, in batches, never anything that still lives.

Windows are counted from an instance's end. A case goes whole: the instances that it called go with it, by its own window; one
that it continued with has its own life and only loses the link. Nothing goes that has a signal in the queue, a dead letter, or a
`keep_until` in the future. The audit has a window of its own; its chains go through one function of the database that leaves an
anchor, so that `verify_audit` still holds. One host at a time does this.

Everything is a walk that stops after each batch: a command walks to the end, workers (engine.dispatch.retention) a share at a
time. Each batch is a transaction of its own that also counts it in the tenant's run, so that another process can continue it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q
from django.db.models.expressions import RawSQL

from engine import access
from engine.audit.chain import Act, database_now, record
from engine.audit.subjects import seal_anchors
from engine.db.host_locks import HeldLock, host_lock
from engine.db.transactions import in_one_transaction
from engine.errors import Conflict, Invalid
from engine.kernel.forms import FieldError
from engine.kernel.timing.periods import parse_period
from engine.kernel.transitions import InstanceStatus
from engine.models import (
    AuditAnchor,
    BulkAct,
    BulkReport,
    BulkRow,
    DeadLetter,
    Event,
    IdempotencyKey,
    Instance,
    KeptSignal,
    PendingAnswer,
    Rate,
    RetentionRule,
    RetentionRun,
    RuntimeState,
    ScheduleFire,
    Signal,
    StartDraft,
    Template,
)
from engine.services.retention.months import sweep_months
from engine.services.tasks.attachments import files_of, remove_files, sweep_files
from engine.services.tasks.bulk_reports import KEPT_FOR as BULK_REPORTS_KEPT
from workflowplatform.accounts.actor import Actor, operator_actor
from workflowplatform.accounts.levels import TO_AUTHOR, TO_OPERATE
from workflowplatform.accounts.models import Tenant

BATCH = 500
LOCK = "retention"
LOCK_SECONDS = 300
KEYS_KEPT = timedelta(days=90)
START_DRAFTS_KEPT = timedelta(days=30)
"""How long a repetition is known: of a request by its key, of an event or a keyed signal by its id."""
RECORDS_KEPT = timedelta(days=90)
"""How long it can be looked up what became of a schedule's slot and of an act over many rows."""
RATES_KEPT = timedelta(days=1)
WINDOWS = ("completed_for", "cancelled_for", "runtime_for", "audit_for")
ENDED_BY_ITSELF = (InstanceStatus.COMPLETED, InstanceStatus.FAILED, InstanceStatus.EXPIRED)

FAMILIES = """
WITH RECURSIVE family AS (
  SELECT i.id AS root, i.id FROM wf_instances i WHERE i.id = ANY(%s)
  UNION ALL
  SELECT f.root, c.id FROM family f JOIN wf_instances c ON c.parent_id = f.id AND c.parent_token IS NOT NULL)
SELECT array_agg(f.id) FROM family f GROUP BY f.root
HAVING NOT bool_or(EXISTS (
    SELECT FROM wf_instances i WHERE i.id = f.id AND i.status NOT IN ('completed', 'failed', 'cancelled', 'expired'))
  OR EXISTS (SELECT FROM wf_signals s WHERE s.instance_id = f.id)
  OR EXISTS (SELECT FROM wf_dead_letters d WHERE d.instance_id = f.id)
  OR EXISTS (SELECT FROM wf_runtime_states r WHERE r.instance_id = f.id AND r.keep_until > clock_timestamp()))
"""
"""Cases with everything they called, those that may go as a whole."""

MARK = """
UPDATE wf_runtime_states r SET purge_after = m.at FROM (
  SELECT i.id, CASE WHEN w.kept_for IS NOT NULL THEN greatest(i.ended_at + w.kept_for, k.keep_until) END AS at
  FROM wf_instances i JOIN wf_runtime_states k ON k.instance_id = i.id CROSS JOIN LATERAL (
    SELECT CASE WHEN i.status = 'cancelled' THEN %(cancelled)s::interval ELSE %(completed)s::interval END AS kept_for) w
  WHERE i.id = ANY(%(ids)s)) m
WHERE r.instance_id = m.id AND r.purge_after IS DISTINCT FROM m.at
"""
"""Write from when on ended cases may go, where the rules say something else than before."""


@dataclass(frozen=True, slots=True)
class Windows:
    """How long each kind of ended work is kept; empty: for ever."""

    completed_for: str = ""
    cancelled_for: str = ""
    runtime_for: str = ""
    audit_for: str = ""

    def over(self, other: RetentionRule | None) -> "Windows":
        """Merge a rule over these: what it leaves empty stays."""
        own = {name: getattr(other, name) for name in WINDOWS if other is not None and getattr(other, name)}
        return replace(self, **own)


@dataclass(slots=True)
class Purged:
    """What went, or in a dry run would go, of one template."""

    tenant: str
    template: str
    completed: int = 0
    cancelled: int = 0
    runtime: int = 0
    audit: int = 0

    @property
    def anything(self) -> bool:
        return bool(self.completed or self.cancelled or self.runtime or self.audit)


@dataclass(slots=True)
class Swept:
    """Everything that one run let go."""

    dry_run: bool
    templates: list[Purged] = field(default_factory=list)
    kept_signals: int = 0
    idempotency_keys: int = 0
    events: int = 0
    slots: int = 0
    bulk_rows: int = 0
    bulk_acts: int = 0
    runs: int = 0
    """Runs of retention itself."""
    pending_answers: int = 0
    """Answers that were refused when their time for undo was over, long ago: what was typed is a draft."""
    start_drafts: int = 0
    """Start forms that nobody sent for 30 days, their files with them."""
    bulk_reports: int = 0
    """Results of bulk actions in the inbox, after 30 days."""
    rates: int = 0
    months: int = 0
    """Partitions of the audit and of task events that were dropped, because their month is over and nothing in them is left."""
    files: int = 0
    """Files of attachments that went; a dry run does not look for them."""


Progress = Callable[[Purged], None]


# Rules


@in_one_transaction
def set_retention(*, actor: Actor, template: str | None = None, **windows: str) -> RetentionRule:
    """Set how long ended work is kept: of one template, or of all that have no rule of their own."""
    access.require_level(actor, TO_AUTHOR, "set how long work is kept")
    _check_windows(windows)
    chosen = access.template_of(actor, template) if template else None
    rule, _ = RetentionRule.objects.get_or_create(tenant_id=actor.tenant_id, template=chosen)
    old = {name: getattr(rule, name) for name in windows}
    for name, value in windows.items():
        setattr(rule, name, value)
    rule.save()
    subject = chosen or Tenant.objects.get(pk=actor.tenant_id)
    record(subject, Act("set_retention", old=old, new=dict(windows)), actor=actor)
    return rule


def _check_windows(windows: dict[str, str]) -> None:
    for name, value in windows.items():
        if name not in WINDOWS:
            raise Invalid(f"There is no window named {name}.", [FieldError(name, "unknown", "No such window.")])
        try:
            parse_period(value or "PT0S")
        except ValueError as error:
            raise Invalid(str(error), [FieldError(name, "period", str(error))]) from error


def list_retention(*, actor: Actor) -> list[RetentionRule]:
    """Return the tenant's rules, the general one first."""
    access.require_level(actor, TO_OPERATE, "see how long work is kept")
    return list(RetentionRule.objects.filter(tenant_id=actor.tenant_id).select_related("template"))


@in_one_transaction
def keep_instance(*, actor: Actor, instance_id: UUID, until: datetime | None, reason: str = "") -> None:
    """Keep an instance at least until a moment, whatever the rules say; None lets the rules decide again."""
    instance = access.instance_to_operate(actor, instance_id)
    if not RuntimeState.objects.filter(pk=instance.pk).update(keep_until=until):
        raise Conflict(
            "The runtime data of this instance is already deleted, so it can no longer be kept.", code="status"
        )
    record(instance, Act("keep_instance", cause=reason, new={"until": until and until.isoformat()}), actor=actor)


# Runs


def apply_retention(*, tenant: Tenant | None = None, dry_run: bool = False, progress: Progress | None = None) -> Swept:
    """Delete what is past its window, of one tenant or of all; a dry run only counts. One host at a time."""
    with host_lock(LOCK, seconds=LOCK_SECONDS) as lock:
        swept = Swept(dry_run)
        for each in [tenant] if tenant else Tenant.objects.order_by("name"):
            _walk(sweep_tenant(each, swept, lock=lock, progress=progress))
        _walk(sweep_house(swept, lock=lock))
        swept.months = 0 if dry_run else len(list(sweep_months(lock)))
        swept.files = 0 if dry_run else sweep_files()
        return swept


def preview_retention(*, actor: Actor) -> list[Purged]:
    """Count what the rules of the actor's tenant would let go now; nothing goes, and nobody else's is counted."""
    access.require_level(actor, TO_OPERATE, "see how long work is kept")
    swept = Swept(dry_run=True)
    _walk(sweep_tenant(Tenant.objects.get(pk=actor.tenant_id), swept))
    return swept.templates


def _walk(shares: Iterator[None]) -> None:
    for _ in shares:
        pass


@dataclass(slots=True)
class Sweep:
    """How a tenant's rules are run: by whom, in batches of what size, and where what goes is counted."""

    run: RetentionRun | None
    """None in a dry run."""
    lock: HeldLock | None
    size: int

    def renew(self) -> None:
        if self.lock is not None:
            self.lock.renew()


def sweep_tenant(
    tenant: Tenant,
    swept: Swept,
    *,
    lock: HeldLock | None = None,
    progress: Progress | None = None,
    size: int = BATCH,
) -> Iterator[None]:
    """Run a tenant's rules, and stop after each batch; a run that was left open is continued."""
    rules = {rule.template_id: rule for rule in RetentionRule.objects.filter(tenant=tenant)}
    run = None if swept.dry_run else _open_run(tenant, begin=bool(rules))
    sweep, general = Sweep(run, lock, size), Windows().over(rules.get(None))
    for template in Template.objects.filter(tenant=tenant).order_by("name") if rules else ():
        purged = Purged(tenant.name, template.name)
        yield from _sweep_template(template, general.over(rules.get(template.pk)), purged, sweep)
        if progress is not None:
            progress(purged)
        swept.templates += [purged] if purged.anything else []
    if run is not None:
        close_run(tenant, run)


def _open_run(tenant: Tenant, *, begin: bool) -> RetentionRun | None:
    open_ones = RetentionRun.objects.filter(ended_at__isnull=True)
    if begin:
        return open_ones.get_or_create(tenant=tenant, defaults={"began_at": database_now()})[0]
    return open_ones.filter(tenant=tenant).first()


@in_one_transaction
def close_run(tenant: Tenant, run: RetentionRun, error: str = "") -> None:
    """End a run, and note in the tenant's audit what it let go."""
    run.ended_at, run.error = database_now(), error
    run.save(update_fields=["ended_at", "error"])
    if any(run.counts.values()):
        record(tenant, Act("apply_retention", new=run.counts), actor=operator_actor(tenant.pk))


def _sweep_template(template: Template, windows: Windows, purged: Purged, sweep: Sweep) -> Iterator[None]:
    now = database_now()
    if sweep.run is not None:
        yield from _mark(template, windows, sweep)
    for name in (one.name for one in fields(windows)):
        window = getattr(windows, name)
        if not window:
            continue
        before = parse_period(window).before(now)
        kind = name.removesuffix("_for")
        for ids in KINDS[kind](template, before, sweep.size):
            sweep.renew()
            gone = len(ids) if sweep.run is None else _purge(kind, ids, sweep.run)
            setattr(purged, kind, getattr(purged, kind) + gone)
            yield


def _mark(template: Template, windows: Windows, sweep: Sweep) -> Iterator[None]:
    """Write on each ended case from when on it may be deleted: the rules may have changed, and people look there."""
    ended = Instance.objects.ended().filter(tenant_id=template.tenant_id, template=template, parent_token__isnull=True)
    kept_for = {"completed": windows.completed_for or None, "cancelled": windows.cancelled_for or None}
    for ids in _in_batches(ended, sweep.size):
        sweep.renew()
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(MARK, {**kept_for, "ids": ids})
        yield


def _purge(kind: str, ids: Sequence[UUID], run: RetentionRun) -> int:
    with transaction.atomic(), connection.cursor() as cursor:
        places = files_of(ids) if kind in WHOLE else []
        cursor.execute(PURGES[kind], [list(ids)])
        gone: int = cursor.fetchone()[0]
        if kind in ANCHORED:
            seal_anchors(list(ids))
        transaction.on_commit(partial(remove_files, places))
        run.counts = {**run.counts, kind: run.counts.get(kind, 0) + gone}
        run.save(update_fields=["counts"])
    return gone


ANCHORED = frozenset({"completed", "cancelled", "audit"})
"""What leaves anchors of chains."""
WHOLE = frozenset({"completed", "cancelled"})
"""What lets instances go with everything that hangs on them, their files too."""
PURGES = {
    "completed": "SELECT wf_purge_instances(%s)",
    "cancelled": "SELECT wf_purge_instances(%s)",
    "runtime": "SELECT wf_purge_runtime(%s)",
    "audit": "SELECT wf_purge_chains(%s)",
}


def _in_batches(rows: Any, size: int) -> Iterator[list[UUID]]:
    """Walk ids in order, a batch at a time, each read after the one before is settled."""
    last: UUID | None = None
    while True:
        further = rows.filter(pk__gt=last) if last else rows
        ids = list(further.order_by("pk").values_list("pk", flat=True)[:size])
        if not ids:
            return
        yield ids
        last = ids[-1]


Walk = Callable[[Template, datetime, int], Iterator[list[UUID]]]


def _families(statuses: Sequence[InstanceStatus]) -> Walk:
    """Make the walk over whole cases that ended so, long enough ago."""

    def walk(template: Template, before: datetime, size: int) -> Iterator[list[UUID]]:
        ended = Instance.objects.filter(
            tenant_id=template.tenant_id, template=template, status__in=statuses, ended_at__lt=before
        )
        for roots in _in_batches(ended.filter(parent_token__isnull=True), size):
            with connection.cursor() as cursor:
                cursor.execute(FAMILIES, [roots])
                members = [member for (family,) in cursor.fetchall() for member in family]
            if members:
                yield members

    return walk


def _runtimes(template: Template, before: datetime, size: int) -> Iterator[list[UUID]]:
    own = {"instance_id": OuterRef("pk")}
    rows = Instance.objects.ended().filter(tenant_id=template.tenant_id, template=template, ended_at__lt=before)
    held = RuntimeState.objects.filter(pk=OuterRef("pk")).exclude(keep_until__gt=database_now())
    rows = rows.filter(Exists(held))
    yield from _in_batches(
        rows.exclude(Exists(Signal.objects.filter(**own)) | Exists(DeadLetter.objects.filter(**own))), size
    )


def _chains(template: Template, before: datetime, size: int) -> Iterator[list[UUID]]:
    """Walk the chains of ended instances, those that are gone and those that are still there."""
    gone = AuditAnchor.objects.filter(tenant_id=template.tenant_id, template_id=template.pk, ended_at__lt=before)
    yield from _in_batches(gone.filter(purged_at__isnull=True), size)
    rows = Instance.objects.ended().filter(tenant_id=template.tenant_id, template=template, ended_at__lt=before)
    settled = AuditAnchor.objects.filter(pk=OuterRef("pk"), purged_at__isnull=False, seq=OuterRef("audit_seq"))
    kept = RuntimeState.objects.filter(pk=OuterRef("pk"), keep_until__gt=database_now())
    waiting = Signal.objects.filter(instance_id=OuterRef("pk"))
    yield from _in_batches(rows.exclude(Q(Exists(settled)) | Exists(kept) | Exists(waiting)), size)


KINDS: dict[str, Walk] = {
    "completed": _families(ENDED_BY_ITSELF),
    "cancelled": _families((InstanceStatus.CANCELLED,)),
    "runtime": _runtimes,
    "audit": _chains,
}
"""What each window lets go of a template, in batches of ids."""


def sweep_house(swept: Swept, *, lock: HeldLock | None = None, size: int = 10 * BATCH) -> Iterator[None]:
    """Delete what nobody can use any more, whatever the rules, some rows at a time: no tenant misses it."""
    for name, rows in _forgettable(database_now()).items():
        if swept.dry_run:
            setattr(swept, name, rows.count())
            continue
        while gone := _delete_some(rows, size):
            setattr(swept, name, getattr(swept, name) + gone)
            if lock is not None:
                lock.renew()
            yield


def _delete_some(rows: Any, size: int) -> int:
    """Delete at most so many of some rows, found by where they are stored: not all of these tables have a plain key."""
    table = rows.model._meta.db_table
    stored = rows.order_by().annotate(stored_at=RawSQL(f'"{table}".ctid', ())).values("stored_at")[:size]  # nosec B611 # noqa: S611
    chosen, given = stored.query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(f'DELETE FROM "{table}" WHERE ctid = ANY(ARRAY({chosen}))', given)
        return int(cursor.rowcount)


def _forgettable(now: datetime) -> dict[str, Any]:
    recurring = ScheduleFire.objects.exclude(
        schedule__cron=""
    )  # that a moment was had is all that keeps it from coming again
    settled = recurring.exclude(outcome="waiting").filter(at__lt=now - RECORDS_KEPT)
    over = BulkAct.objects.filter(ended_at__lt=now - RECORDS_KEPT)
    return {
        "kept_signals": KeptSignal.objects.filter(expires_at__lt=now),
        "idempotency_keys": IdempotencyKey.objects.filter(created_at__lt=now - KEYS_KEPT),
        "events": Event.objects.filter(at__lt=now - KEYS_KEPT),
        "slots": settled,
        "bulk_rows": BulkRow.objects.filter(bulk_act__in=over),
        "bulk_acts": over,
        "runs": RetentionRun.objects.filter(ended_at__lt=now - RECORDS_KEPT),
        "pending_answers": PendingAnswer.objects.filter(refused_at__lt=now - START_DRAFTS_KEPT),
        "start_drafts": StartDraft.objects.filter(saved_at__lt=now - START_DRAFTS_KEPT),
        "bulk_reports": BulkReport.objects.filter(created_at__lt=now - BULK_REPORTS_KEPT),
        "rates": Rate.objects.filter(free_at__lt=now - RATES_KEPT),
    }
