"""Do one act to many tasks, with a result for each: what can be done is done, what cannot says why."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from engine import access
from engine.db.transactions import in_one_transaction
from engine.errors import Invalid, WorkflowError
from engine.kernel.forms import FieldError
from engine.models import Task
from engine.runtime import claims
from engine.services.tasks.assignment import assign_task
from engine.services.tasks.bulk_complete import answer_alike, refuse_mixed
from engine.services.tasks.lifecycle import claim_task, hold_active, release_task
from workflowplatform.accounts.actor import Actor

MOST_TASKS = 200


@dataclass(frozen=True, slots=True)
class BulkResult:
    """What became of one of the tasks; `code` is empty where it was done, else the refusal's."""

    task_id: UUID
    task: Task | None = None
    code: str = ""
    message: str = ""
    holder: str = ""
    """The person who had it before, empty for nobody: an Undo gives it back there."""

    @property
    def ok(self) -> bool:
        return self.task is not None


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be done to each: `person` for assign, `holders` for give_back, `outcome` and `comment` for complete."""

    action: str
    person: str | None = None
    reason: str = ""
    outcome: str = ""
    comment: str = ""
    holders: Mapping[UUID, str] = field(default_factory=dict)
    batch_id: UUID | None = None
    """Under which answers from a page are kept for undo; None: they are sent at once."""


@in_one_transaction
def act_on_tasks(*, actor: Actor, task_ids: Sequence[UUID], action: str, **words: Any) -> list[BulkResult]:
    """Do one act of ACTS to many tasks, each by its own rules, as if it were the only one. `words` are those of Wanted."""
    wanted = Wanted(action, **words)
    if action not in ACTS:
        _refuse("action", "invalid", _("Use one of %(known)s.") % {"known": ", ".join(ACTS)})
    if action == "assign" and wanted.person is None:
        _refuse("user", "required", _("Say to whom."))
    chosen = list(dict.fromkeys(task_ids))
    if not 0 < len(chosen) <= MOST_TASKS:
        _refuse("ids", "length", _("Choose 1 to %(most)s tasks.") % {"most": MOST_TASKS})
    hold_active(actor)
    seen = access.visible_tasks(actor).filter(pk__in=chosen)
    claims.lock(seen.order_by("instance_id").values_list("instance_id", flat=True))
    if action == "complete":
        refuse_mixed(seen)
    holders = dict(seen.values_list("pk", "assignee__username"))
    return [_one(actor, wanted, task_id, holders.get(task_id) or "") for task_id in chosen]


def _one(actor: Actor, wanted: Wanted, task_id: UUID, holder: str) -> BulkResult:
    try:
        with transaction.atomic():
            return BulkResult(task_id, ACTS[wanted.action](actor, wanted, task_id), holder=holder)
    except WorkflowError as refusal:
        return BulkResult(task_id, None, refusal.code, refusal.message, holder)


def _claim(actor: Actor, _wanted: Wanted, task_id: UUID) -> Task:
    return claim_task(actor=actor, task_id=task_id)


def _release(actor: Actor, wanted: Wanted, task_id: UUID) -> Task:
    return release_task(actor=actor, task_id=task_id, reason=wanted.reason)


def _assign(actor: Actor, wanted: Wanted, task_id: UUID) -> Task:
    return assign_task(actor=actor, task_id=task_id, person=wanted.person, reason=wanted.reason)


def _complete(actor: Actor, wanted: Wanted, task_id: UUID) -> Task:
    return answer_alike(
        actor=actor, task_id=task_id, outcome=wanted.outcome, comment=wanted.comment, batch_id=wanted.batch_id
    )


def _give_back(actor: Actor, wanted: Wanted, task_id: UUID) -> Task:
    """Return a task to the person who had it before; one's own is claimed again, which needs no level."""
    holder = wanted.holders.get(task_id) or None
    if holder == actor.name and access.task_of(actor, task_id).assignee_id is None:
        return claim_task(actor=actor, task_id=task_id)
    return assign_task(actor=actor, task_id=task_id, person=holder, reason=wanted.reason)


ACTS: Mapping[str, Callable[[Actor, Wanted, UUID], Task]] = {
    "claim": _claim,
    "release": _release,
    "assign": _assign,
    "complete": _complete,
    "give_back": _give_back,
}


def _refuse(field: str, code: str, message: str) -> None:
    raise Invalid(message, [FieldError(field, code, message)])
