"""Export and erase a person, lawfully: whoever is erased leaves work and history behind, under a name that says nothing.

What goes: name, mail address, password, tokens, sessions, sign-in records, roles, saved filters, drafts. What stays keeps a
pseudonym: tasks, comments, files, events and the audit. A row of the audit is hashed with the name it had; taking the name out
leaves the hash as it was, so that the chain holds, and writes a sealed record of what the row says now (`AuditRedaction`).
Verification accepts exactly those rows, exactly so.

Names are replaced where the platform itself wrote them (`NAMED`, `LISTED`, the ledger of four eyes). Texts and business data in
which people mention the person are listed for the operator and never changed.

Two people of level 5 or above agree, or the operator at the command line acts alone. First the person is shut out, in a
transaction of its own; history follows in batches; at last, with the person's row locked, what was written meanwhile and the row
itself. A run that dies in between is begun again: the name is still there until the last step.
"""

import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.contrib.sessions.models import Session
from django.db import connection, models
from django.db.models import Q
from django.db.models.functions import Cast

from engine.audit.chain import Act, database_now, record
from engine.audit.keys import seal
from engine.db.transactions import in_one_transaction
from engine.errors import Conflict, Invalid, Refused
from engine.kernel.forms import FieldError
from engine.kernel.json_text import read_json, write_json
from engine.models import (
    Audit,
    AuditAnchor,
    BulkAct,
    Erasure,
    Event,
    IdempotencyKey,
    Instance,
    KeptSignal,
    RetentionRun,
    RuntimeState,
    SavedFilter,
    Schedule,
    Secret,
    Task,
    TaskAttachment,
    TaskCandidate,
    TaskComment,
    TaskDraft,
    TaskEvent,
    TemplateVersion,
    Turn,
    Webhook,
)
from engine.models.audit import cause_with, split_cause
from engine.services.audit.verification import redaction_facts
from engine.services.people.accounts import deactivate_person, to_manage
from engine.storage.attachments import place_of
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.models import Membership, Token, User
from workflowplatform.database.tenancy import acting_for, crossing

BATCH = 500
PATIENCE = 15.0
"""Seconds that an erasure waits for transactions of the person that began before they were shut out."""
MOST_MENTIONS = 1_000

NAMED: tuple[tuple[type[models.Model], str], ...] = (
    (Task, "completed_by_name"),
    (Task, "owner"),
    (Instance, "started_by_name"),
    (TaskComment, "author_name"),
    (TaskAttachment, "added_by_name"),
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
    (Erasure, "asked_by_name"),
    (Erasure, "agreed_by_name"),
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
    (User, "same_eyes"),
)
"""Columns that hold lists of names."""
OWN_FACTS = ("email", "full_name")
"""What a person's own chain tells of them besides the name."""
PEOPLE_KEYS = ("assignee", "owner", "made_by", "changed_by")
"""Under which names acts on tasks, schedules and webhooks tell of a person."""
MENTIONED: tuple[tuple[type[models.Model], tuple[str, ...]], ...] = (
    (TaskComment, ("text",)),
    (Task, ("title", "description", "instructions", "comment", "answer", "payload")),
    (Instance, ("reference", "input", "state", "output")),
    (TaskEvent, ("cause", "old", "new")),
    (Audit, ("cause", "old", "new")),
    (TemplateVersion, ("source",)),
    (TaskAttachment, ("name",)),
)
"""Where people and workflows may have written about somebody."""


HISTORY = (Audit, TaskEvent)


@dataclass(frozen=True, slots=True)
class Mention:
    """A text or a value that still speaks of the person."""

    table: str
    id: str
    field: str


@dataclass(frozen=True, slots=True)
class Erased:
    """What an erasure did, and what it leaves to the operator."""

    erasure: Erasure
    mentions: tuple[Mention, ...]


# Asking and agreeing


@in_one_transaction
def ask_erasure(*, actor: Actor | None, person: User, reason: str) -> Erasure:
    """Ask that a person be erased; somebody else of level 5 or above agrees to it."""
    acting, person = to_manage(actor, person)
    _refuse_own(acting, person)
    if not reason.strip():
        raise Invalid("Say why.", [FieldError("reason", "required", "Say why this person is erased.")])
    found = Erasure.objects.filter(tenant_id=person.tenant_id, person_id=person.pk).first()
    if found is not None:
        raise Conflict("This person is erased already, or their erasure is asked for.", code="erasure")
    refuse_needed(person)
    record(person, Act("ask_erasure", cause=reason), actor=acting)
    return Erasure.objects.create(
        tenant_id=person.tenant_id, person_id=person.pk, pseudonym=_new_pseudonym(), reason=reason,
        asked_by_id=acting.person_id, asked_by_name=acting.name, asked_at=database_now(),
    )  # fmt: skip


@in_one_transaction
def withdraw_erasure(*, actor: Actor | None, person: User, reason: str = "") -> None:
    """Take back that a person be erased, as long as nothing is erased."""
    acting, person = to_manage(actor, person)
    if not Erasure.objects.filter(pk=_open_erasure(person).pk, agreed_by_name="").delete()[0]:
        raise Conflict("This erasure is agreed to and under way; nobody can take it back.", code="erasure")
    record(person, Act("refuse_erasure", cause=reason), actor=acting)


def agree_erasure(*, actor: Actor | None, person: User) -> Erased:
    """Agree to an erasure that somebody else asked for, and carry it out."""
    acting = _agree(actor, person)
    deactivate_person(actor=actor, person=person)
    _outwait()
    erasure = _open_erasure(person)
    names = Names.of(person, erasure.pseudonym)
    _take_steps(erasure, names)
    mentions = tuple(find_mentions(person))
    _finish(erasure, names, acting)
    return Erased(Erasure.objects.get(pk=erasure.pk), mentions)


@in_one_transaction
def _agree(actor: Actor | None, person: User) -> Actor:
    acting, person = to_manage(actor, person)
    _refuse_own(acting, person)
    erasure = _open_erasure(person)
    if actor is not None and erasure.asked_by_id == actor.person_id:
        raise Refused("Somebody else of level 5 or above has to agree to this.", code="four_eyes")
    refuse_needed(person)
    Erasure.objects.filter(pk=erasure.pk).update(agreed_by_name=acting.name)
    return acting


def seek_erasure(*, actor: Actor, person: User, reason: str) -> Erased:
    """Ask for an erasure, or agree to the one that somebody else asked for."""
    if _is_asked_for(actor, person):
        return agree_erasure(actor=actor, person=person)
    return Erased(ask_erasure(actor=actor, person=person, reason=reason), ())


@in_one_transaction
def _is_asked_for(actor: Actor, person: User) -> bool:
    """Return whether somebody asked for this erasure; only those hear that who may ask."""
    to_manage(actor, person)
    return Erasure.objects.filter(person_id=person.pk, done_at__isnull=True).exists()


def erase_person(*, person: User, reason: str) -> Erased:
    """Erase a person as the operator at the command line does: at once; an erasure that was left half done is finished."""
    if not Erasure.objects.filter(person_id=person.pk, done_at__isnull=True).exists():
        ask_erasure(actor=None, person=person, reason=reason)
    return agree_erasure(actor=None, person=person)


def _refuse_own(actor: Actor, person: User) -> None:
    if actor.person_id == person.pk:
        raise Refused("You cannot erase yourself; ask somebody else to.", code="self")


def _open_erasure(person: User) -> Erasure:
    found = Erasure.objects.filter(person_id=person.pk, done_at__isnull=True).first()
    if found is None:
        raise Conflict("Nobody asked for this erasure, or it is done.", code="erasure")
    return found


def refuse_needed(person: User) -> None:
    """Refuse where open work waits for this person and for nobody else: nobody would ever find it."""
    alone = [task for task in _open_for(person) if not _others_may(task, person)]
    if alone:
        named = ", ".join(f"{task.title} ({task.pk})" for task in alone[:10])
        raise Conflict(
            f"{len(alone)} open tasks are offered to this person alone: {named}. Assign them to somebody else first.",
            code="needed",
        )
    schedules = Schedule.objects.filter(owner_id=person.pk, status="active")
    if schedules.exists():
        named = ", ".join(str(schedule.pk) for schedule in schedules[:10])
        raise Conflict(
            f"This person owns schedules that run: {named}. End them, or give them to somebody else first.",
            code="needed",
        )


def _open_for(person: User) -> list[Task]:
    theirs = Q(assignee_id=person.pk) | Q(pk__in=TaskCandidate.objects.filter(principal=person.pk).values("task_id"))
    return list(Task.objects.open().filter(theirs))


def _others_may(task: Task, person: User) -> bool:
    return TaskCandidate.objects.filter(task_id=task.pk).exclude(principal=person.pk).exists()


def _new_pseudonym() -> str:
    while True:
        name = f"former-{secrets.token_hex(3)}"
        taken = Erasure.objects.filter(pseudonym=name).exists() or User.objects.filter(username=name).exists()
        if not taken:
            return name


def _outwait() -> None:
    """Wait until every transaction has ended that may still write the person's name: they are shut out since the last commit."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_snapshot_xmax(pg_current_snapshot())::text")
        limit = cursor.fetchone()[0]
        until = time.monotonic() + PATIENCE
        while not connection.in_atomic_block:
            cursor.execute("SELECT pg_snapshot_xmin(pg_current_snapshot()) >= %s::xid8", [limit])
            if cursor.fetchone()[0]:
                return
            if time.monotonic() > until:
                raise Conflict(
                    "Other transactions take long; the person is shut out. Try again in a moment.", code="busy"
                )
            time.sleep(0.1)


# Erasing


@dataclass(frozen=True, slots=True)
class Names:
    """Who is erased: what they are called until now, and from now on."""

    person_id: UUID
    tenant_id: UUID
    name: str
    display: str
    pseudonym: str
    tenants: tuple[UUID, ...]
    """Where the name may stand, home first."""

    @classmethod
    def of(cls, person: User, pseudonym: str) -> "Names":
        tenants = (person.tenant_id, *sorted(_other_tenants_of(person)))
        return cls(person.pk, person.tenant_id, person.username, person.display_name, pseudonym, tenants)


@crossing("erasure")
def _other_tenants_of(person: User) -> set[UUID]:
    """Return where a person acted as level 6 (to enter a tenant is an act there), and where those live who share their eyes."""
    acted = Audit.objects.filter(actor_id=person.pk).order_by().values_list("tenant_id", flat=True).distinct()
    shared = User.objects.filter(same_eyes__contains=[person.username]).values_list("tenant_id", flat=True)
    return {*acted, *shared} - {person.tenant_id}


Step = Callable[[Erasure, Names], int]
"""Erases a batch in a transaction of its own and returns how many rows that were; 0: none is left."""


def _count(erasure: Erasure, kind: str, number: int) -> int:
    if number:
        with acting_for(erasure.tenant_id):
            fresh = Erasure.objects.select_for_update().get(pk=erasure.pk)
            counts = {**fresh.counts, kind: fresh.counts.get(kind, 0) + number}
            Erasure.objects.filter(pk=erasure.pk).update(counts=counts)
    return number


@in_one_transaction
def _forget_access(erasure: Erasure, names: Names) -> int:
    """Let go what only the person used."""
    gone = {
        "tokens": Token.objects.filter(user_id=names.person_id),
        "roles": Membership.objects.filter(user_id=names.person_id),
        "saved_filters": SavedFilter.objects.filter(owner_id=names.person_id),
        "drafts": TaskDraft.objects.filter(Q(owner_id=names.person_id) | Q(saved_by_name=names.name)),
        "candidates": TaskCandidate.objects.filter(principal=names.person_id),
        "keys": IdempotencyKey.objects.filter(actor_id=names.person_id),
        "sign_ins": AccessAttempt.objects.filter(username__iexact=names.name),
        "sign_in_log": AccessLog.objects.filter(username__iexact=names.name),
        "sign_in_failures": AccessFailureLog.objects.filter(username__iexact=names.name),
        "sessions": Session.objects.filter(pk__in=list(_sessions_of(names.person_id))),
    }
    for kind, rows in gone.items():
        _count(erasure, kind, rows.delete()[0])
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
    """Rename who sent the signals that are kept; a sender is one name or several, with blanks between them."""
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
    """Rename who took part in steps, which four eyes go by; the runtime row's lock keeps slices from working meanwhile."""
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
    """Rename who gave the answer that a step ended with."""
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
    """Rename who gave an answer, in results and in the answers inside of them."""
    if isinstance(value, list):
        return [_renamed_result(one, names) for one in value]
    if not isinstance(value, dict):
        return value
    inner = {key: _renamed_result(one, names) for key, one in value.items()}
    return inner | {"by": names.pseudonym} if value.get("by") == names.name else inner


ROWS = """
SELECT id FROM {table} WHERE id > %(last)s AND (actor_name = %(name)s OR cause = %(left)s OR old::text LIKE %(quoted)s
  OR new::text LIKE %(quoted)s {own}) ORDER BY id LIMIT %(most)s
"""


def _walk(table: str, own: str, names: Names, last: Any) -> Iterator[list[Any]]:
    quoted = '%"' + names.name.replace("_", r"\_") + '"%'
    given: dict[str, Any] = {
        "name": names.name,
        "left": _leaving_words(names.display),
        "quoted": quoted,
        "person": names.person_id,
        "most": BATCH,
    }
    while True:
        with connection.cursor() as cursor:
            cursor.execute(ROWS.format(table=table, own=own), {**given, "last": last})
            ids = [row[0] for row in cursor.fetchall()]
        if not ids:
            return
        yield ids
        last = ids[-1]


def _leaving_words(display: str) -> str:
    """Return the reason that deactivating writes at tasks that it releases."""
    return f"{display} was deactivated."


def _redact_audit(erasure: Erasure, names: Names) -> int:
    """Take the name out of the audit, row by row, each with a sealed record; hashes and places stay."""
    for ids in _walk("wf_audit", "OR subject_id = %(person)s", names, 0):
        _redact_rows(erasure, names, ids)
    return 0


@in_one_transaction
def _redact_rows(erasure: Erasure, names: Names, ids: list[int]) -> None:
    changed = []
    for row in Audit.objects.filter(pk__in=ids).order_by("pk"):
        if _redact(row, names, own=row.subject_kind == "person" and row.subject_id == names.person_id):
            changed.append(_redacted_row(row) | {"tenant_id": row.tenant_id, "seal": _seal_of(row)})
    if changed:
        with crossing("erasure"), connection.cursor() as cursor:
            cursor.execute("SELECT wf_redact_audit(%s, %s::jsonb)", [erasure.pk, write_json(changed)])
    _count(erasure, "audit", len(changed))


def _seal_of(row: Audit) -> str:
    before = Audit.objects.filter(subject_id=row.subject_id, seq=row.seq - 1).values_list("hash", flat=True).first()
    return seal("redaction", redaction_facts(before or _anchored(row), row))


def _anchored(row: Audit) -> str:
    """Return the hash that a row follows whose forerunners retention has let go."""
    found = AuditAnchor.objects.filter(pk=row.subject_id, seq=row.seq - 1).values_list("hash", flat=True).first()
    return found or ""


def _redact_events(erasure: Erasure, names: Names) -> int:
    for ids in _walk("wf_task_events", "", names, UUID(int=0)):
        _redact_event_rows(erasure, names, ids)
    return 0


@in_one_transaction
def _redact_event_rows(erasure: Erasure, names: Names, ids: list[UUID]) -> None:
    rows = [row for row in TaskEvent.objects.filter(pk__in=ids) if _redact(row, names, own=False)]
    if rows:
        changed = [_redacted_row(row) for row in rows]
        with crossing("erasure"), connection.cursor() as cursor:
            cursor.execute("SELECT wf_redact_task_events(%s::jsonb)", [write_json(changed)])
    _count(erasure, "task_events", len(rows))


def _redacted_row(row: Audit | TaskEvent) -> dict[str, Any]:
    return {name: getattr(row, name) for name in ("id", "actor_name", "cause", "old", "new")}


def _redact(row: Audit | TaskEvent, names: Names, *, own: bool) -> bool:
    """Replace the name in a row in memory; tell whether anything changed."""
    before = (row.actor_name, row.cause, row.old, row.new)
    if row.actor_name == names.name:
        row.actor_name = names.pseudonym
    if row.cause == _leaving_words(names.display):
        row.cause = _leaving_words(names.pseudonym)
    reason, via = split_cause(row.cause)
    maker = f", made by {names.name}"
    if via.endswith(maker):
        row.cause = cause_with(reason, f"{via.removesuffix(maker)}, made by {names.pseudonym}")
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


def _take_steps(erasure: Erasure, names: Names) -> None:
    """Erase in one tenant after the other, each behind its own wall."""
    for tenant_id in names.tenants:
        with acting_for(tenant_id):
            for step in STEPS:
                while step(erasure, names):
                    pass


@in_one_transaction
def _finish(erasure: Erasure, names: Names, acting: Actor) -> None:
    """Erase what came meanwhile, and the person's own row, whose lock keeps every act of theirs away."""
    person = User.objects.select_for_update().get(pk=names.person_id)
    record(person, Act("erase_person", cause=erasure.reason, new={"erasure": str(erasure.pk)}), actor=acting)
    _take_steps(erasure, names)
    person.refresh_from_db()
    person.username, person.full_name, person.email = names.pseudonym, "", ""
    person.time_zone, person.language, person.invited_at = "UTC", "", None
    person.session_epoch += 1
    person.set_unusable_password()
    person.save()
    Erasure.objects.filter(pk=erasure.pk).update(done_at=database_now())


# Mentions


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
                yield Mention(model._meta.db_table, str(pk), field)


def _without_own(rows: Any, person: User) -> Any:
    """Leave out rows of history that an erasure itself changes."""
    told = {f"{side}__{key}": person.username for side in ("old", "new") for key in PEOPLE_KEYS}
    others = rows.exclude(Q(*told.items(), _connector=Q.OR))
    return others.exclude(subject_kind="person", subject_id=person.pk) if rows.model is Audit else others


def _escaped(word: str) -> str:
    return "".join(f"\\{char}" if not char.isalnum() and char.isascii() else char for char in word)


# Export


@in_one_transaction
def export_person(*, actor: Actor | None, person: User) -> dict[str, Any]:
    """Return all that is kept of a person, for the person; that it was taken along is audited."""
    acting, person = to_manage(actor, person, self_too=True)
    record(person, Act("export_person"), actor=acting)
    return {
        "person": _plain_row(person, without=("password", "audit_hash", "audit_seq")),
        "tenant": person.tenant.name,
        "roles": list(person.roles.values_list("name", flat=True)),
        **{name: [_plain_row(row, without=("digest",)) for row in rows] for name, rows in _kept_of(person).items()},
        "mentions": [{"table": one.table, "id": one.id, "field": one.field} for one in find_mentions(person)],
    }


def _kept_of(person: User) -> dict[str, Any]:
    mine = {"actor_id": person.pk}
    return {
        "tokens": Token.objects.filter(user_id=person.pk),
        "saved_filters": SavedFilter.objects.filter(owner_id=person.pk),
        "drafts": TaskDraft.objects.filter(Q(owner_id=person.pk) | Q(saved_by_name=person.username)),
        "tasks": Task.objects.filter(Q(assignee_id=person.pk) | Q(completed_by_id=person.pk)),
        "instances_started": Instance.objects.filter(started_by_id=person.pk),
        "comments": TaskComment.objects.filter(author_id=person.pk),
        "files": TaskAttachment.objects.filter(added_by_id=person.pk),
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
    for row in TaskAttachment.objects.filter(added_by_id=person.pk).order_by("pk"):
        yield f"{row.pk}-{row.name}", place_of(row.tenant_id, row.pk)
