"""Replace a person's name by a pseudonym where the platform itself wrote it, and delete what only the person used.

Names are in columns and lists (`NAMED`, `LISTED`), in snapshots, results of steps and kept signals, in the audit and task events.
A row of the audit is hashed with the name it had. Redacting the name leaves the hash as it was, so that the chain holds, and
writes a sealed record of what the row says now (`AuditRedaction`). Verification accepts a redacted row only if it matches its
record.
"""

from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.contrib.sessions.models import Session
from django.db import connection, models
from django.db.models import Q

from engine.audit.chain import seal
from engine.db.transactions import in_one_transaction
from engine.kernel.json_text import read_json, write_json
from engine.models import (
    AuditAnchor,
    BulkAct,
    BulkReport,
    CaseFile,
    Erasure,
    Event,
    IdempotencyKey,
    Instance,
    JournalRow,
    KeptSignal,
    ListSettings,
    Notification,
    NotificationSettings,
    PendingAnswer,
    PushSubscription,
    RetentionRun,
    RuntimeState,
    SavedFilter,
    Schedule,
    Secret,
    StartDraft,
    Task,
    TaskAttachment,
    TaskCandidate,
    TaskComment,
    TaskDraft,
    TaskEvent,
    TaskLink,
    TaskQuestion,
    TemplateVersion,
    Turn,
    Webhook,
)
from engine.services.audit.verification import redaction_facts
from engine.services.people.redaction import Names, leaving_words, redact, redact_acts, renamed_result, renamed_snapshot
from workflowplatform.accounts.models import Absence, Membership, Token, User
from workflowplatform.database.tenancy import acting_for, crossing

BATCH = 500

NAMED: tuple[tuple[type[models.Model], str], ...] = (
    (Task, "completed_by_name"),
    (Task, "completed_for_name"),
    (Task, "delegated_by_name"),
    (Task, "waiting_for_name"),
    (Task, "answer_by_name"),
    (TaskQuestion, "asked_by_name"),
    (TaskQuestion, "asked_of_name"),
    (TaskQuestion, "answered_by_name"),
    (Task, "owner"),
    (Instance, "started_by_name"),
    (TaskComment, "author_name"),
    (TaskAttachment, "added_by_name"),
    (CaseFile, "added_by_name"),
    (TaskDraft, "saved_by_name"),
    (Turn, "person_name"),
    (Event, "actor_name"),
    (TemplateVersion, "created_by_name"),
    (TemplateVersion, "activated_by_name"),
    (BulkAct, "started_by_name"),
    (BulkAct, "stopped_by_name"),
    (Secret, "changed_by_name"),
    (RetentionRun, "asked_by"),
    (Schedule, "owner_name"),
    (Webhook, "owner_name"),
    (Notification, "actor_name"),
    (Erasure, "asked_by_name"),
    (Erasure, "agreed_by_name"),
    (Absence, "entered_by"),
    (User, "made_by"),
    (User, "email_changed_by"),
    (Token, "made_by"),
)
"""Columns in which the platform writes a person's name."""
LISTED: tuple[tuple[type[models.Model], str], ...] = (
    (Task, "users"),
    (Task, "excluded"),
    (Task, "familiar"),
    (Task, "answered_by"),
    (Task, "prepared_by"),
    (User, "same_eyes"),
)
"""Columns that hold lists of names."""


def names_of(person: User, pseudonym: str) -> Names:
    """Return what to replace for a person, and in which tenants."""
    tenants = (person.tenant_id, *sorted(_other_tenants_of(person)))
    return Names(person.pk, person.tenant_id, person.username, person.display_name, pseudonym, tenants)


@crossing("erasure")
def _other_tenants_of(person: User) -> set[UUID]:
    """Return the other tenants where the person acted as level 6 (entering one is an act), or whose people share their eyes."""
    acted = JournalRow.objects.filter(actor_id=person.pk).order_by().values_list("tenant_id", flat=True).distinct()
    shared = User.objects.filter(same_eyes__contains=[person.username]).values_list("tenant_id", flat=True)
    return {*acted, *shared} - {person.tenant_id}


Step = Callable[[Erasure, Names], int]
"""Erases a batch and returns how many rows that were; it is called again until it returns 0."""


def _count(erasure: Erasure, kind: str, number: int) -> int:
    if number:
        with acting_for(erasure.tenant_id):
            fresh = Erasure.objects.select_for_update().get(pk=erasure.pk)
            counts = {**fresh.counts, kind: fresh.counts.get(kind, 0) + number}
            Erasure.objects.filter(pk=erasure.pk).update(counts=counts)
    return number


@in_one_transaction
def _forget_access(erasure: Erasure, names: Names) -> int:
    """Delete what only the person used."""
    gone = {
        "tokens": Token.objects.filter(user_id=names.person_id),
        "roles": Membership.objects.filter(user_id=names.person_id),
        "list_settings": ListSettings.objects.filter(person_id=names.person_id),
        "bulk_reports": BulkReport.objects.filter(person_id=names.person_id),
        "saved_filters": SavedFilter.objects.filter(owner_id=names.person_id),
        "drafts": TaskDraft.objects.filter(Q(owner_id=names.person_id) | Q(saved_by_name=names.name)),
        "absences": Absence.objects.filter(Q(person_id=names.person_id) | Q(deputy_id=names.person_id)),
        "start_drafts": StartDraft.objects.filter(owner_id=names.person_id),
        "candidates": TaskCandidate.objects.filter(principal=names.person_id),
        "keys": IdempotencyKey.objects.filter(actor_id=names.person_id),
        "notifications": Notification.objects.filter(person_id=names.person_id),
        "notification_settings": NotificationSettings.objects.filter(person_id=names.person_id),
        "push": PushSubscription.objects.filter(person_id=names.person_id),
        "pending_answers": PendingAnswer.objects.filter(person_id=names.person_id),
        "task_links": TaskLink.objects.filter(person_id=names.person_id),
        "sign_ins": AccessAttempt.objects.filter(username__iexact=names.name),
        "sign_in_log": AccessLog.objects.filter(username__iexact=names.name),
        "sign_in_failures": AccessFailureLog.objects.filter(username__iexact=names.name),
        "sessions": Session.objects.filter(pk__in=list(_sessions_of(names.person_id))),
    }
    for kind, rows in gone.items():
        _count(erasure, kind, rows.delete()[0])
    Task.objects.filter(answer_by_name=names.name).update(answer_due_at=None, answer_by_name="")
    return 0


def _sessions_of(person_id: UUID) -> Iterator[str]:
    for session in Session.objects.iterator(chunk_size=500):
        if session.get_decoded().get("_auth_user_id") == str(person_id):
            yield session.pk


@in_one_transaction
def _rename_columns(erasure: Erasure, names: Names) -> int:
    changed = 0
    for model, field in NAMED:
        some = model._default_manager.filter(**{field: names.name}).order_by("pk").values_list("pk", flat=True)[:BATCH]
        number = model._default_manager.filter(pk__in=list(some)).update(**{field: names.pseudonym})
        changed += _count(erasure, f"{model._meta.db_table}.{field}", number)
    return changed


@in_one_transaction
def _rename_in_lists(erasure: Erasure, names: Names) -> int:
    changed = 0
    for model, field in LISTED:
        every = model._default_manager
        for row in every.select_for_update(no_key=True).filter(**{f"{field}__contains": [names.name]})[:BATCH]:
            renamed = [names.pseudonym if one == names.name else one for one in getattr(row, field)]
            every.filter(pk=row.pk).update(**{field: renamed})
            changed += 1
    return _count(erasure, "lists", changed)


@in_one_transaction
def _rename_senders(erasure: Erasure, names: Names) -> int:
    """Rename the senders of kept signals; a sender is one name or several, with blanks between them."""
    kept = KeptSignal.objects.select_for_update(no_key=True).filter(sent_by_name__contains=names.name)
    found = [row for row in kept if names.name in row.sent_by_name.split()]
    for row in found:
        renamed = " ".join(names.pseudonym if one == names.name else one for one in row.sent_by_name.split())
        KeptSignal.objects.filter(pk=row.pk).update(sent_by_name=renamed)
    return _count(erasure, "senders", len(found))


TOOK_PART = """
SELECT r.instance_id FROM wf_runtime_states r CROSS JOIN jsonb_build_object('n', %(name)s::text) AS given(it)
WHERE jsonb_path_exists(r.snapshot, '$.people.*.keyvalue() ? (@.key == $n)', given.it)
   OR jsonb_path_exists(r.snapshot, '$.keyvalue() ? (@.key == "results" || @.key == "received" || @.key == "undoable"
        || @.key == "frames").value.** ? (@.by == $n)', given.it)
ORDER BY 1 LIMIT %(most)s
"""


@in_one_transaction
def _rename_in_ledgers(erasure: Erasure, names: Names) -> int:
    """Rename the person in snapshots: in the ledger of four eyes and in answers; the row's lock keeps slices from running."""
    with connection.cursor() as cursor:
        cursor.execute(
            TOOK_PART,
            {"name": names.name, "most": BATCH},
        )
        ids = [row[0] for row in cursor.fetchall()]
    for runtime in RuntimeState.objects.select_for_update(no_key=True).filter(pk__in=ids).order_by("pk"):
        RuntimeState.objects.filter(pk=runtime.pk).update(snapshot=renamed_snapshot(runtime.snapshot, names))
    return _count(erasure, "ledgers", len(ids))


ANSWERED = """
SELECT s.instance_id, s.run, s.attempt, s.output FROM wf_step_runs s
WHERE jsonb_path_exists(s.output, '$.** ? (@.by == $n)', jsonb_build_object('n', %s::text)) LIMIT %s
"""


@in_one_transaction
def _rename_in_steps(erasure: Erasure, names: Names) -> int:
    """Rename the person in answers that are results of steps."""
    with connection.cursor() as cursor:
        cursor.execute(ANSWERED, [names.name, BATCH])
        rows = cursor.fetchall()
        for instance_id, run, attempt, output in rows:
            found = output if isinstance(output, dict | list) else read_json(output)
            cursor.execute(
                "UPDATE wf_step_runs SET output = %s::jsonb WHERE instance_id = %s AND run = %s AND attempt = %s",
                [write_json(renamed_result(found, names)), instance_id, run, attempt],
            )
    return _count(erasure, "steps", len(rows))


ROWS = """
SELECT {key} FROM {table} WHERE ({key}) > ({last}) AND (actor_name = %(name)s OR cause = %(left)s OR old::text LIKE %(quoted)s
  OR new::text LIKE %(quoted)s {own}) ORDER BY {key} LIMIT %(most)s
"""


def _walk(table: str, own: str, names: Names, last: dict[str, Any]) -> Iterator[list[tuple[Any, ...]]]:
    """Walk the keys of rows that may name the person, behind the last one; a table's key leads to its partition."""
    given: dict[str, Any] = {
        "name": names.name,
        "left": leaving_words(names.display),
        "spelled": _like(write_json(leaving_words(names.display))),
        "maker": _like(f", made by {names.name}"),
        "word": _like(names.name),
        "quoted": _like(f'"{names.name}"'),
        "person": names.person_id,
        "most": BATCH,
    }
    behind = ", ".join(f"%(last_{name})s" for name in last)
    asked = ROWS.format(table=table, own=own, key=", ".join(last), last=behind)
    while True:
        with connection.cursor() as cursor:
            cursor.execute(asked, given | {f"last_{name}": value for name, value in last.items()})
            keys = cursor.fetchall()
        if not keys:
            return
        yield keys
        last = dict(zip(last, keys[-1], strict=True))


def _like(words: str) -> str:
    """Match a text that contains these words."""
    for sign in ("\\", "%", "_"):
        words = words.replace(sign, f"\\{sign}")
    return f"%{words}%"


OF_JOURNAL = """OR subject_id = %(person)s OR acts::text LIKE %(quoted)s OR acts::text LIKE %(spelled)s
  OR acts::text LIKE %(maker)s OR told::text LIKE %(word)s"""
"""Where a row of the audit may name the person besides the columns that it shares with events of tasks."""


def _redact_audit(erasure: Erasure, names: Names) -> int:
    """Redact the name in the audit, row by row, each with a sealed record; hashes and positions stay."""
    for keys in _walk("wf_audit", OF_JOURNAL, names, {"id": 0}):
        _redact_rows(erasure, names, [number for (number,) in keys])
    return 0


@in_one_transaction
def _redact_rows(erasure: Erasure, names: Names, ids: list[int]) -> None:
    changed = []
    for row in JournalRow.objects.filter(pk__in=ids).order_by("pk"):
        own = row.subject_kind == "person" and row.subject_id == names.person_id
        if redact(row, names, own=own) | redact_acts(row, names, own=own):
            told = {name: getattr(row, name) for name in ("acts", "told", "tenant_id", "subject_id")}
            told["seal"] = _seal_of(row)
            changed.append(_redacted_row(row) | told)
    if changed:
        with crossing("erasure"), connection.cursor() as cursor:
            cursor.execute("SELECT wf_redact_audit(%s, %s::jsonb)", [erasure.pk, write_json(changed)])
    _count(erasure, "audit", len(changed))


def _seal_of(row: JournalRow) -> str:
    earlier = JournalRow.objects.filter(subject_id=row.subject_id, seq__lt=row.seq).order_by("-seq")
    before = earlier.values_list("hash", flat=True).first()
    return seal("redaction", redaction_facts(before or _anchored(row), row))


def _anchored(row: JournalRow) -> str:
    """Return the hash before a row whose predecessors were deleted by retention; empty if there is none."""
    found = AuditAnchor.objects.filter(pk=row.subject_id, seq=row.seq - 1).values_list("hash", flat=True).first()
    return found or ""


def _redact_events(erasure: Erasure, names: Names) -> int:
    first = UUID(int=0)
    for keys in _walk("wf_task_events", "", names, {"task_id": first, "id": first}):
        _redact_event_rows(erasure, names, keys)
    return 0


@in_one_transaction
def _redact_event_rows(erasure: Erasure, names: Names, keys: list[tuple[Any, ...]]) -> None:
    tasks, ids = zip(*keys, strict=True)
    found = TaskEvent.objects.filter(task_id__in=set(tasks), pk__in=ids)
    rows = [row for row in found if redact(row, names, own=False)]
    if rows:
        changed = [_redacted_row(row) | {"task_id": row.task_id} for row in rows]
        with crossing("erasure"), connection.cursor() as cursor:
            cursor.execute("SELECT wf_redact_task_events(%s::jsonb)", [write_json(changed)])
    _count(erasure, "task_events", len(rows))


def _redacted_row(row: JournalRow | TaskEvent) -> dict[str, Any]:
    return {name: getattr(row, name) for name in ("id", "actor_name", "cause", "old", "new")}


STEPS: tuple[Step, ...] = (
    _forget_access,
    _rename_columns,
    _rename_in_lists,
    _rename_senders,
    _rename_in_ledgers,
    _rename_in_steps,
    _redact_audit,
    _redact_events,
)


def replace_names(erasure: Erasure, names: Names) -> None:
    """Run all steps in one tenant after the other, each with that tenant's rights only."""
    for tenant_id in names.tenants:
        with acting_for(tenant_id):
            for step in STEPS:
                while step(erasure, names):
                    pass
