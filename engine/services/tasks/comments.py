"""Let people talk about a task beside its answer."""

from uuid import UUID

from django.utils.translation import gettext as _

from engine.audit.chain import database_now
from engine.db.transactions import in_one_transaction
from engine.errors import Invalid
from engine.kernel.forms import FieldError, refuse_unsafe_json
from engine.models import TaskComment
from engine.services.tasks.lifecycle import claim_instance, note_act
from workflowplatform.accounts.actor import Actor

LONGEST_COMMENT = 10_000


@in_one_transaction
def comment_task(*, actor: Actor, task_id: UUID, text: str) -> TaskComment:
    """Say something about a task that one sees, open or over."""
    task = claim_instance(actor, task_id)
    _refuse_text(text)
    now = database_now()
    note_act(actor, task, "commented", now)
    return TaskComment.objects.create(
        tenant_id=task.tenant_id,
        instance_id=task.instance_id,
        task_id=task.pk,
        text=text.strip(),
        author_id=actor.person_id,
        author_name=actor.name,
        at=now,
    )


def _refuse_text(text: str) -> None:
    message = None
    if not text.strip():
        message = _("Write something.")
    elif len(text) > LONGEST_COMMENT:
        message = _("Write at most %(most)s characters.") % {"most": LONGEST_COMMENT}
    elif refuse_unsafe_json(text):
        message = _("This text holds a character that cannot be kept.")
    if message is not None:
        raise Invalid(message, [FieldError("text", "invalid", message)])
