"""Keep the answers that people have begun, until they send them."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from engine import access
from engine.audit.chain import database_now
from engine.db.transactions import in_one_transaction
from engine.errors import Invalid, Refused
from engine.kernel.forms import FieldError, refuse_unsafe_json
from engine.models import Task, TaskDraft
from engine.services.tasks.lifecycle import claim_instance, refuse_foreign, require_may_act
from workflowplatform.accounts.actor import Actor

LONGEST_COMMENT = 10_000


@in_one_transaction
def save_task_draft(
    *, actor: Actor, task_id: UUID, values: Mapping[str, Any], outcome: str = "", comment: str = ""
) -> TaskDraft:
    """Keep what was typed so far, right or wrong. It stays with the task through release and reassignment."""
    task = _task(actor, task_id)
    _refuse_errors(dict(values), comment)
    kept = {"values": dict(values), "outcome": outcome, "comment": comment}
    draft, _new = TaskDraft.objects.update_or_create(
        tenant_id=task.tenant_id,
        task_id=task.pk,
        owner_id=_owner(actor, task),
        defaults={**kept, "saved_by_name": actor.name, "saved_at": database_now()},
    )
    return draft


@in_one_transaction
def discard_task_draft(*, actor: Actor, task_id: UUID) -> None:
    """Throw away what was typed; the form begins anew."""
    task = _task(actor, task_id)
    TaskDraft.objects.filter(tenant_id=task.tenant_id, task_id=task.pk, owner_id=_owner(actor, task)).delete()


def _task(actor: Actor, task_id: UUID) -> Task:
    task = claim_instance(actor, task_id)
    require_may_act(actor, task)
    refuse_foreign(actor)
    if not task.keeps_drafts:
        raise Refused(_("The author wants no drafts of this; it is answered in one go."), code="refused")
    return task


def _owner(actor: Actor, task: Task) -> UUID | None:
    return actor.person_id if task.takes_several else None


def _refuse_errors(values: dict[str, Any], comment: str) -> None:
    errors = list(refuse_unsafe_json({"values": values, "comment": comment}))
    if len(comment) > LONGEST_COMMENT:
        message = _("Write at most %(most)s characters.") % {"most": LONGEST_COMMENT}
        errors.append(FieldError("comment", "max_length", message))
    if errors:
        raise Invalid(_("This cannot be kept as it is."), errors)


def draft_for(*, actor: Actor, task_id: UUID) -> TaskDraft | None:
    """Return the answer begun to a task, where the actor may continue it."""
    return access.draft_of(actor, access.task_of(actor, task_id))
