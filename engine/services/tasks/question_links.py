"""Links in messages with which the person who was asked answers a question, without a sign-in.

The address holds the question's id, signed; nothing else is kept. It gives its person no right of its own, and ends with the
question: answered, withdrawn, or overtaken.
"""

from dataclasses import dataclass, replace
from uuid import UUID

from django.core.signing import BadSignature, Signer

from engine.errors import NotFound
from engine.models import Task, TaskQuestion
from engine.models.audit import VIA_LINK
from workflowplatform.accounts.actor import Actor, actor_of
from workflowplatform.accounts.models import User
from workflowplatform.database.tenancy import crossing

SALT = "workflow.question_link"


@dataclass(frozen=True, slots=True)
class OpenedQuestion:
    """A question whose link holds, and who was asked, as they are now."""

    question: TaskQuestion
    person: User
    actor: Actor


def question_token(*, person: User, task_id: UUID) -> str:
    """Return the signed token of the question that is open to a person about a task; nothing where there is none, or its
    author asks for a sign-in.
    """
    asked = TaskQuestion.objects.filter(task_id=task_id, asked_of_id=person.pk, ended_at__isnull=True).first()
    if asked is None or Task.objects.get(pk=task_id).rules.secure:
        return ""
    return _signer().sign(asked.pk.hex)


def open_question_link(token: str) -> OpenedQuestion:
    """Return the question of a link, or NotFound for one that was never given out. Reading it changes nothing."""
    try:
        question_id = UUID(hex=_signer().unsign(token))
    except (BadSignature, ValueError):
        raise NotFound from None
    with crossing("mail link"):
        question = TaskQuestion.objects.filter(pk=question_id).select_related("task__instance__template").first()
        if question is None:
            raise NotFound
        person = User.objects.filter(pk=question.asked_of_id, is_active=True).select_related("tenant").first()
        if person is None:
            raise NotFound
        return OpenedQuestion(question, person, replace(actor_of(person), via=VIA_LINK))


def _signer() -> Signer:
    return Signer(salt=SALT)
