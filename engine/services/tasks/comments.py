"""Keep comments of people on a task, apart from its answer."""

from uuid import UUID

from django.utils.translation import gettext as _

from engine.audit.chain import database_now
from engine.db.transactions import in_one_transaction
from engine.errors import Invalid
from engine.kernel.forms import FieldError, refuse_unsafe_json
from engine.models import Task, TaskComment
from engine.services.notifications.mentions import mentions_in
from engine.services.notifications.notify import News, notify_people
from engine.services.tasks.history import note_act
from engine.services.tasks.lifecycle import claim_instance
from workflowplatform.accounts.actor import Actor

LONGEST_COMMENT = 10_000


@in_one_transaction
def comment_task(*, actor: Actor, task_id: UUID, text: str) -> TaskComment:
    """Comment on a task that one sees, open or over. People who are mentioned are notified."""
    task = claim_instance(actor, task_id)
    refuse_text(text)
    now = database_now()
    note_act(actor, task, "commented", now)
    comment = TaskComment.objects.create(
        tenant_id=task.tenant_id,
        instance_id=task.instance_id,
        task_id=task.pk,
        text=text.strip(),
        author_id=actor.person_id,
        author_name=actor.name,
        at=now,
    )
    _notify_mentioned(actor, task, comment)
    return comment


def _notify_mentioned(actor: Actor, task: Task, comment: TaskComment) -> None:
    key = f"comment:{comment.pk}"
    news = News("mentioned", key, task.pk, task.instance_id, actor.name, comment.text)
    people = mentions_in(task, comment.text).people
    if people:
        notify_people([(news, person.pk) for person in people if person.pk != actor.person_id], comment.at)


def refuse_text(text: str) -> None:
    """Refuse a comment that is empty, too long, or holds what cannot be kept."""
    message = None
    if not text.strip():
        message = _("Write something.")
    elif len(text) > LONGEST_COMMENT:
        message = _("Write at most %(most)s characters.") % {"most": LONGEST_COMMENT}
    elif refuse_unsafe_json(text):
        message = _("This text holds a character that cannot be kept.")
    if message is not None:
        raise Invalid(message, [FieldError("text", "invalid", message)])
