"""Hand out all that is kept of a person, and find texts in which people or workflows wrote about them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from axes.models import AccessAttempt, AccessLog
from django.db import models
from django.db.models import Q
from django.db.models.functions import Cast

from engine.audit.chain import Act, record
from engine.db.transactions import in_one_transaction
from engine.models import (
    Audit,
    BulkReport,
    CaseFile,
    Instance,
    ListSettings,
    PendingAnswer,
    SavedFilter,
    StartDraft,
    Task,
    TaskAttachment,
    TaskComment,
    TaskDraft,
    TaskEvent,
    TaskQuestion,
    TemplateVersion,
)
from engine.services.people.account_rules import to_manage
from engine.services.people.redaction import PEOPLE_KEYS
from engine.storage.attachments import file_path
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.models import Absence, Token, User

MOST_MENTIONS = 1_000
MENTIONED: tuple[tuple[type[models.Model], tuple[str, ...]], ...] = (
    (TaskComment, ("text",)),
    (TaskQuestion, ("text", "answer")),
    (Task, ("title", "description", "instructions", "comment", "answer", "payload")),
    (Instance, ("reference", "input", "state", "output")),
    (TaskEvent, ("cause", "old", "new")),
    (Audit, ("cause", "old", "new")),
    (TemplateVersion, ("source",)),
    (TaskAttachment, ("name",)),
    (CaseFile, ("name",)),
)
"""Where people and workflows may have written about a person."""


HISTORY = (Audit, TaskEvent)
TOLD_AS: dict[type[models.Model], str] = {Audit: "wf_audit"}
"""A view is told by its table."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A text or a value that still mentions the person."""

    table: str
    id: str
    field: str


@in_one_transaction
def export_person(*, actor: Actor | None, person: User) -> dict[str, Any]:
    """Return all that is kept of a person, for the person; the export is audited."""
    acting, person = to_manage(actor, person, self_too=True)
    record(person, Act("export_person"), actor=acting)
    return {
        "person": _plain_row(person, without=("password", "audit_hash", "audit_seq")),
        "tenant": person.tenant.name,
        "roles": list(person.roles.values_list("name", flat=True)),
        **{
            name: [_plain_row(row, without=("digest", "row_id")) for row in rows]
            for name, rows in _kept_of(person).items()
        },
        "mentions": [{"table": one.table, "id": one.id, "field": one.field} for one in find_mentions(person)],
    }


def _kept_of(person: User) -> dict[str, Any]:
    mine = {"actor_id": person.pk}
    return {
        "tokens": Token.objects.filter(user_id=person.pk),
        "saved_filters": SavedFilter.objects.filter(owner_id=person.pk),
        "list_settings": ListSettings.objects.filter(person_id=person.pk),
        "bulk_reports": BulkReport.objects.filter(person_id=person.pk),
        "absences": Absence.objects.filter(Q(person_id=person.pk) | Q(deputy_id=person.pk)),
        "drafts": TaskDraft.objects.filter(Q(owner_id=person.pk) | Q(saved_by_name=person.username)),
        "pending_answers": PendingAnswer.objects.filter(person_id=person.pk),
        "start_drafts": StartDraft.objects.filter(owner_id=person.pk),
        "tasks": Task.objects.filter(Q(assignee_id=person.pk) | Q(completed_by_id=person.pk)),
        "instances_started": Instance.objects.filter(started_by_id=person.pk),
        "comments": TaskComment.objects.filter(author_id=person.pk),
        "questions": TaskQuestion.objects.filter(Q(asked_by_id=person.pk) | Q(asked_of_id=person.pk)),
        "files": TaskAttachment.objects.filter(added_by_id=person.pk),
        "files_of_requests": CaseFile.objects.filter(added_by_id=person.pk),
        "task_events": TaskEvent.objects.filter(**mine),
        "audit": Audit.objects.filter(Q(**mine) | Q(subject_id=person.pk)).order_by("id"),
        "sign_ins": AccessLog.objects.filter(username__iexact=person.username),
        "sign_in_failures": AccessAttempt.objects.filter(username__iexact=person.username),
    }


def _plain_row(row: models.Model, without: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        field.attname: getattr(row, field.attname)
        for field in row._meta.concrete_fields
        if field.attname not in without
    }


def files_of_person(person: User) -> Iterator[tuple[str, Any]]:
    """Return the files that a person added: under which name to hand each out, and where it is."""
    for model in (TaskAttachment, CaseFile):
        for row in model.objects.filter(added_by_id=person.pk).order_by("pk"):
            yield f"{row.pk}-{row.name}", file_path(row.tenant_id, row.pk)


def find_mentions(person: User) -> Iterator[Mention]:
    """Find texts and values in which people or workflows wrote about the person; none of them is changed."""
    words = [word for word in (person.username, person.full_name, person.email) if len(word) > 1]
    pattern = r"\y(" + "|".join(_escaped(word) for word in words) + r")\y"
    for model, fields in MENTIONED:
        for field in fields:
            text = Cast(field, models.TextField())
            rows = model._default_manager.alias(as_text=text).filter(as_text__iregex=pattern).order_by("pk")
            if model in HISTORY:
                rows = _without_own(rows, person)
            for pk in rows.values_list("pk", flat=True)[:MOST_MENTIONS]:
                yield Mention(TOLD_AS.get(model, model._meta.db_table), str(pk), field)


def _without_own(rows: Any, person: User) -> Any:
    """Leave out rows of history that an erasure itself changes."""
    told = {f"{side}__{key}": person.username for side in ("old", "new") for key in PEOPLE_KEYS}
    others = rows.exclude(Q(*told.items(), _connector=Q.OR))
    return others.exclude(subject_kind="person", subject_id=person.pk) if rows.model is Audit else others


def _escaped(word: str) -> str:
    return "".join(f"\\{char}" if not char.isalnum() and char.isascii() else char for char in word)
