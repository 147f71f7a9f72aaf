"""Hand out rows of the audit as a file whose last line is signed: CSV, or one JSON object a line.

The signature covers every byte before it, so that a file can be verified years later with the public key alone. A file that was
cut off has no signature, and one that was narrowed says what it was asked for.
"""

import csv
import hashlib
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db.models import Case, CharField, OuterRef, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce

from engine.audit.chain import database_now, moment
from engine.audit.signatures import is_signature_of, public_key, sign
from engine.errors import Invalid, UntrustedFile
from engine.kernel.forms import FieldError
from engine.models import Audit, Instance, Template
from engine.services.csv_cells import csv_line
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.models import Tenant, User

COLUMNS = (
    "id", "at", "actor_name", "actor_level", "action", "subject_kind", "subject_id", "subject_name", "seq", "step",
    "iteration", "attempt", "cause", "old", "new", "hash",
)  # fmt: skip
SIGNED = "#signed"
"""The first cell of the last row of a CSV, and the only name of the last object of a JSON file."""


@dataclass(frozen=True, slots=True)
class Export:
    """A file to stream: its name, what it is, and its lines."""

    name: str
    content_type: str
    lines: Iterator[str]


class BadExport(UntrustedFile):
    """A file is not an export of the audit, or was changed."""


def export_audit(*, actor: Actor, rows: QuerySet[Audit], form: str, asked: Mapping[str, str] | None = None) -> Export:
    """Write rows that the actor may read, oldest first, and sign them; `asked` says how they were narrowed."""
    if form not in FORMS:
        message = f"Use one of {', '.join(FORMS)}."
        raise Invalid(message, [FieldError("format", "unknown", message)])
    suffix, kind, write, end = FORMS[form]
    said = {
        "what": "export of the audit",
        "form": 1,
        "tenant": str(actor.tenant_id),
        "by": actor.name,
        "made_at": moment(database_now()),
        "asked": dict(asked or {}),
    }
    return Export(f"audit.{suffix}", kind, _signed(write(with_subject_names(rows).order_by("id")), said, end))


def _signed(lines: Iterable[str], said: dict[str, Any], end: Callable[[str], str]) -> Iterator[str]:
    digest = hashlib.sha256()
    for line in lines:
        digest.update(line.encode())
        yield line
    statement = json.dumps({**said, "sha256": digest.hexdigest()}, sort_keys=True)
    signed = {"statement": statement, "signature": sign(statement.encode()), "public_key": public_key()}
    yield end(json.dumps(signed, sort_keys=True))


def verify_export(place: Path, *, key: str | None = None) -> dict[str, Any]:
    """Return what a file's signature says, or raise BadExport; `key` is a public key, ours unless said."""
    digest, last = hashlib.sha256(), b""
    try:
        with place.open("rb") as file:
            for line in file:
                digest.update(last)
                last = line
    except OSError as error:
        raise BadExport("unreadable", f"{place} cannot be read: {error.strerror}") from error
    signed = _read_end(place, last)
    if signed["public_key"] != (key or public_key()):
        raise BadExport(
            "other_key", f"{place} was signed with another key. If you trust it, give its public key with --key."
        )
    if not is_signature_of(signed["signature"], signed["statement"].encode(), signed["public_key"]):
        raise BadExport("signature", f"{place} was changed: its signature does not match.")
    said: dict[str, Any] = json.loads(signed["statement"])
    if (said["what"], said["sha256"]) != ("export of the audit", digest.hexdigest()):
        raise BadExport("changed", f"{place} was changed: its rows do not match the signed digest.")
    return said


def _read_end(place: Path, line: bytes) -> dict[str, str]:
    try:
        text = line.decode()
        given = json.loads(text)[SIGNED] if text.startswith("{") else json.loads(next(csv.reader(io.StringIO(text)))[1])
        return {name: str(given[name]) for name in ("statement", "signature", "public_key")}
    except (ValueError, KeyError, TypeError, IndexError, StopIteration, csv.Error) as error:
        raise BadExport(
            "cut_off", f"{place} has no signature: it was cut off, or is not an export of the audit."
        ) from error


def with_subject_names(acts: QuerySet[Audit]) -> QuerySet[Audit]:
    """Add what each act was done to, by the name people use, in the same question."""
    names = Case(
        When(subject_kind="person", then=_name_of(User.objects.all(), "username")),
        When(subject_kind="template", then=_name_of(Template.objects.all(), "title")),
        When(subject_kind="instance", then=_name_of(Instance.objects.all(), "reference", "template__title")),
        When(subject_kind="tenant", then=_name_of(Tenant.objects.all(), "name", tenant="id")),
        default=Value(""),
        output_field=CharField(),
    )
    return acts.annotate(subject_name=names)


def _name_of(rows: QuerySet[Any], *fields: str, tenant: str = "tenant_id") -> Subquery:
    """Find a name in the tenant of the act itself: a list shows no name of another one, whatever an act points to."""
    named = rows.filter(pk=OuterRef("subject_id"), **{tenant: OuterRef("tenant_id")})
    return Subquery(named.annotate(called=Coalesce(*fields, Value(""), output_field=CharField())).values("called")[:1])


def _record(row: Audit) -> dict[str, Any]:
    return {name: getattr(row, name) for name in COLUMNS} | {
        "at": row.at.isoformat(),
        "subject_id": str(row.subject_id),
    }


def _json_lines(rows: QuerySet[Audit]) -> Iterator[str]:
    for row in rows.iterator(chunk_size=1000):
        yield json.dumps(_record(row), ensure_ascii=False) + "\n"


def _csv_lines(rows: QuerySet[Audit]) -> Iterator[str]:
    yield csv_line(COLUMNS)
    for row in rows.iterator(chunk_size=1000):
        yield csv_line(_record(row).values())


def _csv_end(signed: str) -> str:
    return csv_line([SIGNED, signed])


def _json_end(signed: str) -> str:
    return f'{{"{SIGNED}": {signed}}}\n'


FORMS: Mapping[str, tuple[str, str, Callable[[QuerySet[Audit]], Iterator[str]], Callable[[str], str]]] = {
    "csv": ("csv", "text/csv; charset=utf-8", _csv_lines, _csv_end),
    "json": ("ndjson", "application/x-ndjson", _json_lines, _json_end),
}
"""How a file may be asked for: what its name ends with, its type, and how its rows and its end are written."""
