"""Replace a person's name by a pseudonym where the platform itself wrote it, and delete what only the person used.

Names are in columns and lists (`NAMED`, `LISTED`), in snapshots, results of steps and kept signals, in the audit and task events.
A row of the audit is hashed with the name it had. Redacting the name leaves the hash as it was, so that the chain holds, and
writes a sealed record of what the row says now (`AuditRedaction`). Verification accepts a redacted row only if it matches its
record.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
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
from engine.models.audit import cause_with, split_cause
from engine.services.audit.verification import redaction_facts
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
OWN_FACTS = ("email", "full_name")
"""Keys of a person's own audit rows that hold personal data besides the name."""
PEOPLE_KEYS = ("assignee", "owner", "made_by", "changed_by", "for", "person", "deputy", "manager")
"""Keys under which rows of the audit and task events name a person."""


@dataclass(frozen=True, slots=True)
class Names:
    """The person to erase: their names until now, and from now on."""

    person_id: UUID
    tenant_id: UUID
    name: str
    display: str
    pseudonym: str
    tenants: tuple[UUID, ...]
    """Where the name may be, home first."""

    @classmethod
    def of(cls, person: User, pseudonym: str) -> "Names":
        tenants = (person.tenant_id, *sorted(_other_tenants_of(person)))
        return cls(person.pk, person.tenant_id, person.username, person.display_name, pseudonym, tenants)


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
        RuntimeState.objects.filter(pk=runtime.pk).update(snapshot=_renamed_snapshot(runtime.snapshot, names))
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
                [write_json(_renamed_result(found, names)), instance_id, run, attempt],
            )
    return _count(erasure, "steps", len(rows))


ANSWERS = ("results", "received", "undoable", "frames")
"""The parts of a snapshot in which an answer says by whom it was given."""


def _renamed_snapshot(snapshot: dict[str, Any], names: Names) -> dict[str, Any]:
    people = {
        step: {names.pseudonym if name == names.name else name: at for name, at in took_part.items()}
        for step, took_part in (snapshot.get("people") or {}).items()
    }
    answers = {part: _renamed_result(snapshot[part], names) for part in ANSWERS if part in snapshot}
    return snapshot | ({"people": people} if "people" in snapshot else {}) | answers


def _renamed_result(value: Any, names: Names) -> Any:
    """Rename the person who gave an answer, in a result and in the answers inside it."""
    if isinstance(value, list):
        return [_renamed_result(one, names) for one in value]
    if not isinstance(value, dict):
        return value
    inner = {key: _renamed_result(one, names) for key, one in value.items()}
    return inner | {"by": names.pseudonym} if value.get("by") == names.name else inner


ROWS = """
SELECT {key} FROM {table} WHERE ({key}) > ({last}) AND (actor_name = %(name)s OR cause = %(left)s OR old::text LIKE %(quoted)s
  OR new::text LIKE %(quoted)s {own}) ORDER BY {key} LIMIT %(most)s
"""


def _walk(table: str, own: str, names: Names, last: dict[str, Any]) -> Iterator[list[tuple[Any, ...]]]:
    """Walk the keys of rows that may name the person, behind the last one; a table's key leads to its partition."""
    given: dict[str, Any] = {
        "name": names.name,
        "left": _leaving_words(names.display),
        "spelled": _like(write_json(_leaving_words(names.display))),
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


def _leaving_words(display: str) -> str:
    """Return the reason that deactivating writes at tasks that it releases."""
    return f"{display} was deactivated."


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
        if _redact(row, names, own=own) | _redact_acts(row, names, own=own):
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
    rows = [row for row in found if _redact(row, names, own=False)]
    if rows:
        changed = [_redacted_row(row) | {"task_id": row.task_id} for row in rows]
        with crossing("erasure"), connection.cursor() as cursor:
            cursor.execute("SELECT wf_redact_task_events(%s::jsonb)", [write_json(changed)])
    _count(erasure, "task_events", len(rows))


def _redacted_row(row: JournalRow | TaskEvent) -> dict[str, Any]:
    return {name: getattr(row, name) for name in ("id", "actor_name", "cause", "old", "new")}


def _redact_acts(row: JournalRow, names: Names, *, own: bool) -> bool:
    """Replace the name in the acts of a row and in what the kernel was told; return whether anything changed."""
    before = (row.acts, row.told)
    if row.acts is not None:
        row.acts = write_json([_redacted_act(act, names, own=own) for act in read_json(row.acts)])
    if row.told is not None:
        row.told = write_json([_renamed_turn(turn, names) for turn in read_json(row.told)])
    return before != (row.acts, row.told)


CONTENT = frozenset({"values", "comment", "payload", "value", "input", "output", "reason", "message", "error"})
"""What people and programs wrote into an event."""


def _renamed_turn(turn: dict[str, Any], names: Names) -> dict[str, Any]:
    """Rename the person in what the kernel was told: who did something, who took part, who holds a role."""
    events = [
        {key: value if key in CONTENT else _renamed_everywhere(value, names) for key, value in event.items()}
        for event in turn["events"]
    ]
    members = {"members": _renamed_everywhere(turn["members"], names)} if "members" in turn else {}
    return turn | {"events": events} | members


def _renamed_everywhere(value: Any, names: Names) -> Any:
    if isinstance(value, str):
        return " ".join(names.pseudonym if word == names.name else word for word in value.split(" "))
    if isinstance(value, list):
        return [_renamed_everywhere(one, names) for one in value]
    if isinstance(value, dict):
        return {_renamed_everywhere(key, names): _renamed_everywhere(one, names) for key, one in value.items()}
    return value


def _redacted_act(act: dict[str, Any], names: Names, *, own: bool) -> dict[str, Any]:
    sides = {side: _redacted(act[side], names, own=own) for side in ("old", "new") if side in act}
    cause = {"cause": _redacted_cause(act["cause"], names)} if "cause" in act else {}
    run = {"run": _renamed_result(act["run"], names)} if "run" in act else {}
    return act | sides | cause | run


def _redacted_cause(cause: str, names: Names) -> str:
    if cause == _leaving_words(names.display):
        return _leaving_words(names.pseudonym)
    reason, via = split_cause(cause)
    maker = f", made by {names.name}"
    return cause_with(reason, f"{via.removesuffix(maker)}, made by {names.pseudonym}") if via.endswith(maker) else cause


def _redact(row: JournalRow | TaskEvent, names: Names, *, own: bool) -> bool:
    """Replace the name in a row in memory; return whether anything changed."""
    before = (row.actor_name, row.cause, row.old, row.new)
    if row.actor_name == names.name:
        row.actor_name = names.pseudonym
    row.cause = _redacted_cause(row.cause, names)
    row.old, row.new = (_redacted(value, names, own=own) for value in (row.old, row.new))
    return before != (row.actor_name, row.cause, row.old, row.new)


def _redacted(value: Any, names: Names, *, own: bool) -> Any:
    if not isinstance(value, dict):
        return value
    keys = (*PEOPLE_KEYS, "name") if own else PEOPLE_KEYS
    named = {key: names.pseudonym for key in keys if value.get(key) == names.name}
    facts = {key: "" for key in OWN_FACTS if own and value.get(key)}
    return value | named | facts


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
