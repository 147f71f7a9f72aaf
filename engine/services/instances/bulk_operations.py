"""Do one act to many rows in the background, with a result for each.

Beginning writes down what is to be done and to what; workers do it, one row per transaction. The row is locked, the act done and
its result written together: a worker that dies leaves the row waiting for the next one, and nobody does it twice. Each row is
done in the name of the person who began it, with their level at that moment; what a row's own service refuses is its result.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import Count, QuerySet

from engine import access
from engine.audit.chain import Act, database_now, record
from engine.db.transactions import (
    announce_on_commit,
    in_one_transaction,
    is_by_chance,
    is_connection_lost,
    is_waited_out,
)
from engine.errors import Conflict, Invalid, NotFound, Refused, WorkflowError
from engine.kernel.forms import FieldError
from engine.kernel.transitions import InstanceStatus
from engine.models import BulkAct, BulkRow, DeadLetter, Instance, Task
from engine.models.bulk_act import DONE, REFUSED, STOPPED, WAITING
from engine.services.instances import repair as operations
from engine.services.instances.lifecycle import cancel_instance
from workflowplatform.accounts.actor import Actor, actor_of
from workflowplatform.accounts.levels import TO_CROSS_TENANTS, TO_OPERATE
from workflowplatform.accounts.models import Tenant, User
from workflowplatform.ids import uuid7

log = structlog.get_logger(__name__)

MOST_ROWS = 10_000
MOST_REASON = 500
LIVE = (InstanceStatus.QUEUED, InstanceStatus.RUNNING, InstanceStatus.SUSPENDED, InstanceStatus.INCIDENT)

Run = Callable[[Actor, UUID, BulkAct], Instance]


@dataclass(frozen=True, slots=True)
class Kind:
    """One act that can be done to many: to what, from which status, and its service."""

    run: Run
    done: str
    statuses: tuple[InstanceStatus, ...] = ()
    of_letters: bool = False
    needs_reason: bool = False


def _retry(actor: Actor, subject: UUID, act: BulkAct) -> Instance:
    return operations.retry_step(actor=actor, instance_id=subject, reason=act.reason)


def _skip(actor: Actor, subject: UUID, act: BulkAct) -> Instance:
    return operations.skip_step(actor=actor, instance_id=subject, reason=act.reason, output=act.arguments.get("output"))


def _cancel(actor: Actor, subject: UUID, act: BulkAct) -> Instance:
    return cancel_instance(actor=actor, instance_id=subject, reason=act.reason)


def _suspend(actor: Actor, subject: UUID, act: BulkAct) -> Instance:
    return operations.suspend_instance(actor=actor, instance_id=subject, reason=act.reason)


def _resume(actor: Actor, subject: UUID, act: BulkAct) -> Instance:
    return operations.resume_instance(actor=actor, instance_id=subject, reason=act.reason)


def _replay(actor: Actor, subject: UUID, act: BulkAct) -> Instance:
    return operations.replay_dead_letter(actor=actor, letter_id=subject, reason=act.reason)


def _discard(actor: Actor, subject: UUID, act: BulkAct) -> Instance:
    return operations.discard_dead_letter(actor=actor, letter_id=subject, reason=act.reason)


KINDS: Mapping[str, Kind] = {
    "retry": Kind(_retry, "tried again", (InstanceStatus.INCIDENT,)),
    "skip": Kind(_skip, "passed over", (InstanceStatus.INCIDENT,), needs_reason=True),
    "suspend": Kind(_suspend, "suspended", (InstanceStatus.RUNNING, InstanceStatus.INCIDENT)),
    "resume": Kind(_resume, "resumed", (InstanceStatus.SUSPENDED,)),
    "cancel": Kind(_cancel, "cancelled", LIVE, needs_reason=True),
    "replay": Kind(_replay, "replayed", of_letters=True),
    "discard": Kind(_discard, "discarded", of_letters=True, needs_reason=True),
}


# Beginning


@dataclass(frozen=True, slots=True)
class Preview:
    """What an act would meet: how many it fits, how many it will refuse as they are now, what else it touches."""

    total: int
    fit: int
    by_status: tuple[tuple[str, int], ...]
    open_tasks: int
    names: tuple[str, ...]
    """The first few, by name."""

    @property
    def unfit(self) -> int:
        return self.total - self.fit


def kind_named(action: str) -> Kind:
    """Return an act by its name, or refuse it."""
    if action not in KINDS:
        words = f"Use one of {', '.join(KINDS)}."
        raise Invalid(words, [FieldError("action", "unknown", words)])
    return KINDS[action]


def preview_bulk_act(*, actor: Actor, action: str, subject_ids: Iterable[UUID], names: int = 12) -> Preview:
    """Describe what an action would do to these rows, without doing it."""
    kind = kind_named(action)
    rows = _subjects(actor, kind, list(dict.fromkeys(subject_ids)))
    counted = dict(rows.order_by().values_list(_status(kind)).annotate(Count("pk")))
    fit = sum(count for status, count in counted.items() if kind.of_letters or status in kind.statuses)
    open_tasks = Task.objects.open().filter(tenant_id=actor.tenant_id, instance__in=rows.values("pk"))
    return Preview(
        total=sum(counted.values()),
        fit=fit,
        by_status=tuple(sorted(counted.items())),
        open_tasks=open_tasks.count() if action == "cancel" else 0,
        names=tuple(str(_instance_of(row)) for row in rows.order_by("pk")[:names]),
    )


@in_one_transaction
def begin_bulk_act(
    *,
    actor: Actor,
    action: str,
    subject_ids: Iterable[UUID],
    reason: str = "",
    arguments: Mapping[str, Any] | None = None,
    key: UUID | None = None,
) -> BulkAct:
    """Write down an act on many rows; workers do it. The same key again is the same act, begun once."""
    kind = kind_named(action)
    access.require_level(actor, TO_OPERATE, "operate instances")
    if actor.person_id is None:
        raise Refused("Only a person can start a bulk operation.", code="person")
    reason = _checked_reason(kind, reason)
    tenant = Tenant.objects.select_for_update(no_key=True).get(pk=actor.tenant_id)
    begun = BulkAct.objects.filter(pk=key).first() if key else None
    if begun is not None:
        return _same(actor, begun, action)
    rows = _found(actor, kind, subject_ids)
    act = BulkAct.objects.create(
        id=key or uuid7(),
        tenant=tenant,
        action=action,
        reason=reason,
        arguments=dict(arguments or {}),
        total=len(rows),
        started_by_id=actor.person_id,
        started_by_name=actor.name,
        started_at=database_now(),
    )
    BulkRow.objects.bulk_create(
        (
            BulkRow(tenant=tenant, bulk_act=act, place=place, subject_id=row.pk, subject_name=str(_instance_of(row)))
            for place, row in enumerate(rows, 1)
        ),
        batch_size=1000,
    )
    record(tenant, Act("begin_bulk_act", cause=reason, new={"action": action, "count": act.total}), actor=actor)
    announce_on_commit([act.started_at], act.started_at)
    return act


def _same(actor: Actor, begun: BulkAct, action: str) -> BulkAct:
    """Answer a repeated start; a key that another person used stays unknown."""
    if (begun.tenant_id, begun.started_by_id, begun.action) != (actor.tenant_id, actor.person_id, action):
        raise Conflict("This form was already sent. Open it again.", code="used")
    return begun


def _checked_reason(kind: Kind, reason: str) -> str:
    reason = reason.replace("\0", "").strip()
    if kind.needs_reason and not reason:
        words = "Enter a reason. It is stored with each of them."
        raise Invalid(words, [FieldError("reason", "required", words)])
    if len(reason) > MOST_REASON:
        words = f"Use at most {MOST_REASON} characters."
        raise Invalid(words, [FieldError("reason", "length", words)])
    return reason


def _found(actor: Actor, kind: Kind, subject_ids: Iterable[UUID]) -> Sequence[Any]:
    """Return the chosen rows that the actor sees, in order; none, or too many, is refused."""
    wanted = list(dict.fromkeys(subject_ids))
    if len(wanted) > MOST_ROWS:
        words = f"Choose at most {MOST_ROWS:,} at once; these are {len(wanted):,}. Narrow the list."
        raise Invalid(words, [FieldError("rows", "length", words)])
    rows = list(_subjects(actor, kind, wanted).order_by("pk"))
    if not rows:
        words = "None of the selected rows exists any more. Select the rows to act on."
        raise Invalid(words, [FieldError("rows", "required", words)])
    return rows


def _subjects(actor: Actor, kind: Kind, subject_ids: Sequence[UUID]) -> QuerySet[Any]:
    rows: QuerySet[Any] = access.visible_dead_letters(actor) if kind.of_letters else access.visible_instances(actor)
    return rows.filter(pk__in=subject_ids)


def _status(kind: Kind) -> str:
    return "instance__status" if kind.of_letters else "status"


def _instance_of(row: Instance | DeadLetter) -> Instance:
    return row.instance if isinstance(row, DeadLetter) else row


# Doing, by workers


def open_bulk_acts() -> list[UUID]:
    """Return the acts that have rows left to do, of all tenants, the oldest first."""
    return list(BulkAct.objects.filter(ended_at__isnull=True).order_by("id").values_list("pk", flat=True)[:50])


@in_one_transaction
def do_next_row(*, act_id: UUID) -> bool:
    """Do the next row that nobody else has in hand; tell whether there was one. The last one ends the act."""
    waiting = BulkRow.objects.filter(bulk_act_id=act_id, status=WAITING)
    row = waiting.select_for_update(skip_locked=True, no_key=True, of=("self",)).select_related("bulk_act").first()
    if row is None:
        if not waiting.exists():
            BulkAct.objects.filter(pk=act_id, ended_at__isnull=True).update(ended_at=database_now())
        return False
    row.status, row.message = _result(row)
    row.at = database_now()
    row.save(update_fields=["status", "message", "at"])
    return True


def _result(row: BulkRow) -> tuple[str, str]:
    """Do one row and say what became of it: whatever goes wrong with it stays its own."""
    act, kind = row.bulk_act, KINDS[row.bulk_act.action]
    try:
        with transaction.atomic():
            kind.run(_doer(act), row.subject_id, act)
            return DONE, f"{kind.done.capitalize()}."
    except NotFound:
        return REFUSED, "It no longer exists."
    except WorkflowError as refusal:
        return REFUSED, refusal.message
    except Exception as error:
        if is_connection_lost() or is_by_chance(error):
            raise
        if is_waited_out(error):
            return REFUSED, "It was locked for too long. Try again."
        log.exception("a row of an act over many could not be done", act=str(act.pk), subject=str(row.subject_id))
        return REFUSED, UNFORESEEN


UNFORESEEN = "It failed unexpectedly. See the log of the workers."


def _doer(act: BulkAct) -> Actor:
    """Return who began the act, as they are now: a level taken away in between counts."""
    person = User.objects.filter(pk=act.started_by_id, is_active=True).first()
    if person is None:
        raise Refused(f"{act.started_by_name.capitalize()}, who started this, is no longer active.", code="inactive")
    actor = actor_of(person)
    access.require_level(actor, TO_OPERATE, "operate instances")
    if actor.tenant_id == act.tenant_id:
        return actor
    if actor.level < TO_CROSS_TENANTS:
        raise Refused("The person who started this may no longer work in this tenant.", code="level")
    return actor.within(act.tenant)


# Watching and stopping


@in_one_transaction
def stop_bulk_act(*, actor: Actor, act_id: UUID) -> BulkAct:
    """Leave undone what is not done yet. What is done stays done."""
    act = access.bulk_act_of(actor, act_id)
    left = act.rows.filter(status=WAITING).update(status=STOPPED, message="Not done.", at=database_now())
    if not left:
        raise Conflict("Everything is already done. There is nothing to stop.", code="status")
    BulkAct.objects.filter(pk=act.pk).update(ended_at=database_now(), stopped_by_name=actor.name)
    tenant = Tenant.objects.get(pk=act.tenant_id)
    record(tenant, Act("stop_bulk_act", new={"action": act.action, "count": left}), actor=actor)
    return access.bulk_act_of(actor, act_id)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an act is."""

    total: int
    done: int
    refused: int
    stopped: int

    @property
    def settled(self) -> int:
        return self.done + self.refused + self.stopped

    @property
    def percent(self) -> int:
        return 100 * self.settled // self.total if self.total else 100


def progress_of(act: BulkAct) -> Progress:
    """Count what became of the rows so far."""
    counted = dict(act.rows.order_by().values_list("status").annotate(Count("pk")))
    return Progress(act.total, counted.get(DONE, 0), counted.get(REFUSED, 0), counted.get(STOPPED, 0))
