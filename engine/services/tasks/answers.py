"""What an answer to a task must hold to be taken. Everything that is wrong with one is said at once.

An answer that rejects needs nothing of the form, the checklist or the files: what is missing or wrong there is left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from engine import access
from engine.errors import Invalid, Refused
from engine.kernel.forms import FieldError, check_answer_values, without_wrong
from engine.kernel.signals import Json, TaskCompleted
from engine.kernel.tasks.answers import files_named, read_only_kept
from engine.models import Task
from engine.models.audit import VIA_LINK
from engine.services.instances.lifecycle import attention_words
from workflowplatform.accounts.actor import Actor


def check_answer(
    *,
    actor: Actor,
    task_id: UUID,
    outcome: str | None = None,
    values: Mapping[str, Any] | None = None,
    comment: str = "",
    ticked: Sequence[str] = (),
) -> None:
    """Refuse an answer that would not be taken, with all that is wrong; nothing is sent."""
    checked_answer(actor, access.task_of(actor, task_id), outcome, dict(values or {}), comment, ticked)


def checked_answer(
    actor: Actor,
    task: Task,
    outcome: str | None,
    values: dict[str, Any],
    comment: str,
    ticked: Sequence[str] = (),
) -> TaskCompleted:
    """Return the answer as the engine takes it, or refuse it with all that is wrong."""
    chosen = _outcome(task, outcome)
    _require_sign_in(actor, task, chosen)
    rejects = bool(chosen["reject"])
    kept = read_only_kept(task.form, task.payload, values)
    checked, errors = check_answer_values(task.form or None, kept, rejects=rejects)
    absent = [] if errors else _missing_files(task, checked)
    if rejects and absent:
        checked, absent = without_wrong(checked, absent), []
    wrong = [
        *_missing_comment(task, chosen, comment),
        *(_within("values", error) for error in (*errors, *absent)),
        *(() if rejects else _unticked(task, ticked)),
        *(() if rejects else _missing_file(task)),
    ]
    if wrong:
        raise _refusal(wrong)
    return TaskCompleted(
        token=task.token, outcome=chosen["name"], by=actor.name, values=checked, comment=comment or None
    )


def _refusal(wrong: list[FieldError]) -> Invalid:
    """Refuse an answer: by what is wrong where that is of one kind, else by how many places need attention."""
    comment = "comment_required" if wrong[0].code == "comment_required" else None
    kinds = {error.path.partition(".")[0] for error in wrong}
    if kinds == {"checklist"}:
        return Invalid(_("Tick what is done: the checklist is not complete."), wrong)
    if kinds <= {"comment", "attachments"} and len(wrong) == 1:
        return Invalid(wrong[0].message, wrong, code=comment)
    return Invalid(attention_words(len(wrong)), wrong, code=comment)


def _outcome(task: Task, name: str | None) -> dict[str, Any]:
    if name is None and len(task.outcomes) == 1:
        only: dict[str, Any] = task.outcomes[0]
        return {"reject": False} | only
    found = task.outcome_named(name) if name else None
    if found is None:
        known = ", ".join(outcome["name"] for outcome in task.outcomes)
        message = _("Choose one of: %(known)s.") % {"known": known}
        raise Invalid(message, [FieldError("outcome", "outcome", message)])
    return {"reject": False} | found


def _require_sign_in(actor: Actor, task: Task, outcome: dict[str, Any]) -> None:
    """Refuse an answer by a link where its author wants to be sure who answers."""
    if actor.via == VIA_LINK and (task.rules.secure or outcome.get("secure")):
        raise Refused(_("This answer needs a sign-in. What you typed is kept."), code="sign_in")


def _within(field: str, error: FieldError) -> FieldError:
    path = f"{field}.{error.path}" if error.path else field
    return replace(error, path=path)


def _missing_comment(task: Task, outcome: dict[str, Any], comment: str) -> Iterator[FieldError]:
    rule = outcome.get("comment") or task.comment_rule
    needed = rule == "always" or (rule == "on_reject" and outcome["reject"])
    if needed and not comment.strip():
        message = _("Write a comment: %(outcome)s needs one.") % {"outcome": outcome["title"]}
        yield FieldError("comment", "comment_required", message)


def _unticked(task: Task, ticked: Sequence[str]) -> Iterator[FieldError]:
    """List the points of the checklist that must be ticked and are not."""
    done = {*ticked, *task.ticked_ids} if task.checklist else set()
    for point in task.checklist:
        if point.required and point.id not in done:
            said = _("Not done yet: %(title)s") % {"title": point.title}
            yield FieldError(f"checklist.{point.id}", "unticked", said)


def _missing_file(task: Task) -> Iterator[FieldError]:
    files = task.rules.files
    if files is not None and files.required and not task.attachments.exists():
        yield FieldError("attachments", "required", _("Add a file: this answer needs one."))


def _missing_files(task: Task, values: Json) -> list[FieldError]:
    """List the values that name a file which nobody added to the task."""
    named = dict(files_named(task.form, values))
    if not named:
        return []
    there = set(task.attachments.values_list("name", flat=True))
    return [
        FieldError(path, "file", _("There is no file called %(name)s here; add it first.") % {"name": name})
        for path, name in named.items()
        if name not in there
    ]
