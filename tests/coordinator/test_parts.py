"""The columns of the commit statement are those of the models."""

import re

import pytest
from django.db import connection, models
from django.db.models import NOT_PROVIDED

from engine.models import (
    Effect,
    Instance,
    JournalRow,
    Place,
    RuntimeState,
    Signal,
    SignalReceipt,
    Task,
    TaskCandidate,
    TaskEvent,
    Wait,
)
from engine.models.base import TransactionField
from engine.runtime.commit import PARTS

MODELS: dict[str, type[models.Model]] = {
    "new_instances": Instance, "instances": Instance, "chains": Instance, "new_runtimes": RuntimeState, "runtimes": RuntimeState,
    "closed_waits": Wait, "new_waits": Wait, "left_places": Place, "new_places": Place,
    "claimed_tasks": Task, "answered_tasks": Task, "closed_tasks": Task, "new_tasks": Task, "new_candidates": TaskCandidate,
    "answering_events": TaskEvent, "closing_events": TaskEvent, "new_events": TaskEvent,
    "signals_out": Signal, "signals_held": Signal, "signals_freed": Signal, "new_signals": Signal, "receipts": SignalReceipt,
    "own_receipts": SignalReceipt,
    "new_effects": Effect, "ended_effects": Effect, "audit": JournalRow,
}  # fmt: skip
ASIDE = {
    "runtimes": {"expected_version", "task_token"},
    "answered_tasks": {"names"},
    "answering_events": {"token"},
    "closing_events": {"token"},
    "new_tasks": {"assignee_name"},
    "new_candidates": {"role", "person", "everybody"},
    "signals_held": {"except_ids", "except_tokens"},
    "signals_freed": {"except_ids", "except_tokens"},
}
"""What a part's rows carry besides columns: what rows are looked up or compared by."""
FILLED_IN = {"new_tasks": {"assignee_id"}, "new_candidates": {"principal"}}
"""Columns that the statement finds out by itself."""
INSERTS = [part for part in PARTS if part.startswith("new_") or part in ("receipts", "own_receipts", "audit")]
WORDS = {"timestamp with time zone": "timestamptz", "double precision": "float8", "int": "integer"}


def _kind(written: str) -> str:
    plain = re.sub(r"^varchar(\(\d+\))?$", "text", written)
    return WORDS.get(plain, plain)


def _columns(part: str) -> dict[str, str]:
    found = dict(column.split() for column in PARTS[part].split(", "))
    return {name: _kind(kind) for name, kind in found.items() if name not in ASIDE.get(part, set())}


def test_every_part_has_its_model() -> None:
    assert MODELS.keys() == PARTS.keys()


@pytest.mark.django_db
@pytest.mark.parametrize("part", PARTS)
def test_columns_and_types_are_the_models(part: str) -> None:
    fields = {field.column: field for field in MODELS[part]._meta.concrete_fields}
    expected = {name: _kind(fields[name].db_type(connection) or "") for name in _columns(part) if name in fields}
    assert _columns(part) == expected


@pytest.mark.parametrize("part", INSERTS)
def test_inserts_fill_every_column_that_must_not_be_empty(part: str) -> None:
    given = _columns(part).keys() | FILLED_IN.get(part, set())
    assert [field.column for field in MODELS[part]._meta.concrete_fields if _is_needed(field)] == [
        field.column for field in MODELS[part]._meta.concrete_fields if _is_needed(field) and field.column in given
    ]


def _is_needed(field: "models.Field[object, object]") -> bool:
    by_database = isinstance(field, TransactionField | models.AutoField) or field.db_default is not NOT_PROVIDED
    return not (field.null or by_database)
