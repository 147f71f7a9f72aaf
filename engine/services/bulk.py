"""Do one act to many tasks, with a result for each: what can be done is done, what cannot says why."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from engine import access, coordinator
from engine.errors import Invalid, WorkflowError
from engine.kernel.forms import FieldError
from engine.models import Task
from engine.services.assigning import assign_task
from engine.services.tasks import claim_task, hold_active, release_task
from engine.transactions import in_one_transaction
from workflowplatform.accounts.actor import Actor

MOST_TASKS = 200


@dataclass(frozen=True, slots=True)
class BulkResult:
    """What became of one of the tasks; `code` is empty where it was done, else the refusal's."""

    task_id: UUID
    task: Task | None = None
    code: str = ""
    message: str = ""

    @property
    def ok(self) -> bool:
        return self.task is not None


@in_one_transaction
def act_on_tasks(
    *, actor: Actor, action: str, task_ids: Sequence[UUID], person: str | None = None, reason: str = ""
) -> list[BulkResult]:
    """Claim, release or assign many tasks; each by its own rules, as if it were the only one."""
    act = _act(actor, action, person, reason)
    wanted = list(dict.fromkeys(task_ids))
    if not 0 < len(wanted) <= MOST_TASKS:
        _refuse("ids", "length", _("Choose 1 to %(most)s tasks.") % {"most": MOST_TASKS})
    hold_active(actor)
    seen = access.visible_tasks(actor).filter(pk__in=wanted)
    coordinator.lock(seen.order_by("instance_id").values_list("instance_id", flat=True))
    return [_one(act, task_id) for task_id in wanted]


Act = Callable[[UUID], Task]


def _act(actor: Actor, action: str, person: str | None, reason: str) -> Act:
    acts: Mapping[str, Act] = {
        "claim": lambda task_id: claim_task(actor=actor, task_id=task_id),
        "release": lambda task_id: release_task(actor=actor, task_id=task_id, reason=reason),
        "assign": lambda task_id: assign_task(actor=actor, task_id=task_id, person=person, reason=reason),
    }
    if action not in acts:
        _refuse("action", "invalid", _("Use one of %(known)s.") % {"known": ", ".join(acts)})
    if action == "assign" and person is None:
        _refuse("user", "required", _("Say to whom."))
    return acts[action]


def _one(act: Act, task_id: UUID) -> BulkResult:
    try:
        with transaction.atomic():
            return BulkResult(task_id, act(task_id))
    except WorkflowError as refusal:
        return BulkResult(task_id, None, refusal.code, refusal.message)


def _refuse(field: str, code: str, message: str) -> None:
    raise Invalid(message, [FieldError(field, code, message)])
