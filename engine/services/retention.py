"""Let ended work go after its time: per template and tenant, in batches, never anything that still lives.

Windows are counted from an instance's end. A case goes whole: the instances that it called go with it, by its own window; one
that it continued with has its own life and only loses the link. Nothing goes that has a signal in the queue, a dead letter, or a
`purge_after` in the future. The audit has a window of its own; its chains go through one function of the database that leaves an
anchor, so that `verify_audit` still holds. One host at a time does this.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q

from engine import access
from engine.audit import Act, database_now, record
from engine.errors import Conflict, Invalid
from engine.host_locks import HeldLock, host_lock
from engine.kernel.forms import FieldError
from engine.kernel.periods import parse_period
from engine.kernel.transitions import InstanceStatus
from engine.models import (
    AuditAnchor,
    BulkAct,
    BulkRow,
    DeadLetter,
    Event,
    IdempotencyKey,
    Instance,
    KeptSignal,
    Rate,
    RetentionRule,
    RuntimeState,
    ScheduleFire,
    Signal,
    Template,
)
from engine.services.attachments import sweep_files
from engine.transactions import in_one_transaction
from workflowplatform.accounts.actor import Actor, operator_actor
from workflowplatform.accounts.levels import TO_AUTHOR, TO_OPERATE
from workflowplatform.accounts.models import Tenant

BATCH = 500
LOCK = "retention"
LOCK_SECONDS = 300
KEYS_KEPT = timedelta(days=90)
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
  OR EXISTS (SELECT FROM wf_runtime_states r WHERE r.instance_id = f.id AND r.purge_after > clock_timestamp()))
"""
"""Cases with everything they called, those that may go as a whole."""


@dataclass(frozen=True, slots=True)
class Windows:
    """How long each kind of ended work is kept; empty: for ever."""

    completed_for: str = ""
    cancelled_for: str = ""
    runtime_for: str = ""
    audit_for: str = ""

    def over(self, other: RetentionRule | None) -> "Windows":
        """Lay a rule over these: what it leaves empty stays."""
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
    rates: int = 0
    files: int = 0
    """Files of attachments that went; a dry run does not look for them."""


Progress = Callable[[Purged], None]


# Rules


@in_one_transaction
def set_retention(*, actor: Actor, template: str | None = None, **windows: str) -> RetentionRule:
    """Say how long ended work is kept: of one template, or of all that have no rule of their own."""
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
    if not RuntimeState.objects.filter(pk=instance.pk).update(purge_after=until):
        raise Conflict(
            "What the engine knew of this instance is gone already; it can no longer be kept.", code="status"
        )
    record(instance, Act("keep_instance", cause=reason, new={"until": until and until.isoformat()}), actor=actor)


# Runs


def apply_retention(*, tenant: Tenant | None = None, dry_run: bool = False, progress: Progress | None = None) -> Swept:
    """Let go what is past its window, of one tenant or of all; a dry run only counts. One host at a time."""
    with host_lock(LOCK, seconds=LOCK_SECONDS) as lock:
        swept = Swept(dry_run)
        for each in [tenant] if tenant else Tenant.objects.order_by("name"):
            _sweep_tenant(each, swept, lock, progress or (lambda purged: None))
        _sweep_house(swept)
        swept.files = 0 if dry_run else sweep_files()
        return swept


def preview_retention(*, actor: Actor) -> list[Purged]:
    """Count what the rules of the actor's tenant would let go now; nothing goes, and nobody else's is counted."""
    access.require_level(actor, TO_OPERATE, "see how long work is kept")
    swept = Swept(dry_run=True)
    _sweep_tenant(Tenant.objects.get(pk=actor.tenant_id), swept, None, lambda purged: None)
    return swept.templates


def _sweep_tenant(tenant: Tenant, swept: Swept, lock: HeldLock | None, progress: Progress) -> None:
    rules = {rule.template_id: rule for rule in RetentionRule.objects.filter(tenant=tenant)}
    general = Windows().over(rules.get(None))
    found: list[Purged] = []
    for template in Template.objects.filter(tenant=tenant).order_by("name") if rules else ():
        purged = Purged(tenant.name, template.name)
        _sweep_template(template, general.over(rules.get(template.pk)), swept.dry_run, purged, lock)
        progress(purged)
        found += [purged] if purged.anything else []
    swept.templates += found
    if found and not swept.dry_run:
        _note(tenant, found)


def _note(tenant: Tenant, found: Sequence[Purged]) -> None:
    counts = {kind: sum(getattr(one, kind) for one in found) for kind in ("completed", "cancelled", "runtime", "audit")}
    with transaction.atomic():
        record(tenant, Act("apply_retention", new=counts), actor=operator_actor(tenant.pk))


def _sweep_template(template: Template, windows: Windows, dry_run: bool, purged: Purged, lock: HeldLock | None) -> None:
    now = database_now()
    for name in (one.name for one in fields(windows)):
        window = getattr(windows, name)
        if not window:
            continue
        before = parse_period(window).before(now)
        kind = name.removesuffix("_for")
        for ids in KINDS[kind](template, before):
            if lock is not None:
                lock.renew()
            gone = len(ids) if dry_run else _purge(kind, ids)
            setattr(purged, kind, getattr(purged, kind) + gone)


def _purge(kind: str, ids: Sequence[UUID]) -> int:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(PURGES[kind], [list(ids)])
        gone: int = cursor.fetchone()[0]
    return gone


PURGES = {
    "completed": "SELECT wf_purge_instances(%s)",
    "cancelled": "SELECT wf_purge_instances(%s)",
    "runtime": "SELECT wf_purge_runtime(%s)",
    "audit": "SELECT wf_purge_chains(%s)",
}


def _in_batches(rows: Any) -> Iterator[list[UUID]]:
    """Walk ids in order, a batch at a time, each read after the one before is settled."""
    last: UUID | None = None
    while True:
        further = rows.filter(pk__gt=last) if last else rows
        ids = list(further.order_by("pk").values_list("pk", flat=True)[:BATCH])
        if not ids:
            return
        yield ids
        last = ids[-1]


def _families(statuses: Sequence[InstanceStatus]) -> Callable[[Template, datetime], Iterator[list[UUID]]]:
    """Make the walk over whole cases that ended so, long enough ago."""

    def walk(template: Template, before: datetime) -> Iterator[list[UUID]]:
        ended = Instance.objects.filter(
            tenant_id=template.tenant_id, template=template, status__in=statuses, ended_at__lt=before
        )
        for roots in _in_batches(ended.filter(parent_token__isnull=True)):
            with connection.cursor() as cursor:
                cursor.execute(FAMILIES, [roots])
                members = [member for (family,) in cursor.fetchall() for member in family]
            if members:
                yield members

    return walk


def _runtimes(template: Template, before: datetime) -> Iterator[list[UUID]]:
    own = {"instance_id": OuterRef("pk")}
    rows = Instance.objects.ended().filter(tenant_id=template.tenant_id, template=template, ended_at__lt=before)
    held = RuntimeState.objects.filter(pk=OuterRef("pk")).exclude(purge_after__gt=database_now())
    rows = rows.filter(Exists(held))
    yield from _in_batches(
        rows.exclude(Exists(Signal.objects.filter(**own)) | Exists(DeadLetter.objects.filter(**own)))
    )


def _chains(template: Template, before: datetime) -> Iterator[list[UUID]]:
    """Walk the chains of ended instances, those that are gone and those that are still there."""
    gone = AuditAnchor.objects.filter(tenant_id=template.tenant_id, template_id=template.pk, ended_at__lt=before)
    yield from _in_batches(gone.filter(purged_at__isnull=True))
    rows = Instance.objects.ended().filter(tenant_id=template.tenant_id, template=template, ended_at__lt=before)
    settled = AuditAnchor.objects.filter(pk=OuterRef("pk"), purged_at__isnull=False, seq=OuterRef("audit_seq"))
    kept = RuntimeState.objects.filter(pk=OuterRef("pk"), purge_after__gt=database_now())
    waiting = Signal.objects.filter(instance_id=OuterRef("pk"))
    yield from _in_batches(rows.exclude(Q(Exists(settled)) | Exists(kept) | Exists(waiting)))


KINDS: dict[str, Callable[[Template, datetime], Iterator[list[UUID]]]] = {
    "completed": _families(ENDED_BY_ITSELF),
    "cancelled": _families((InstanceStatus.CANCELLED,)),
    "runtime": _runtimes,
    "audit": _chains,
}
"""What each window lets go of a template, in batches of ids."""


def _sweep_house(swept: Swept) -> None:
    """Let go what nobody can use any more, whatever the rules: no tenant misses it."""
    for name, rows in _forgettable(database_now()).items():
        setattr(swept, name, rows.count() if swept.dry_run else rows._raw_delete(rows.db))


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
        "rates": Rate.objects.filter(free_at__lt=now - RATES_KEPT),
    }
