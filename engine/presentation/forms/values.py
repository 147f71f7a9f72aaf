"""Show JSON values to people: as text, as facts and as tables. The values are never trusted as HTML."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, TypeGuard

from django.utils import timezone
from django.utils.translation import gettext as _

from engine.diagram.step_names import label_of
from engine.kernel.signals import Json
from engine.presentation.forms.numbers import measure_text
from engine.presentation.forms.schema import key_of, options_of
from engine.presentation.narrative.people_names import said
from workflowplatform.i18n.dates import date_format

ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d")
ISO_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)")
NOTHING = "–"
LONG = 60


@dataclass(frozen=True, slots=True)
class Fact:
    """One read-only value: a line of text, or a table when it is a list of records."""

    label: str
    text: str
    wide: bool = False
    columns: tuple["Cell", ...] = ()
    rows: tuple[tuple["Cell", ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Cell:
    text: str
    is_number: bool


def shown(value: Json) -> str:
    """Write a value as a person reads it."""
    if value is None or value == "" or value == [] or value == {}:
        return NOTHING
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, str):
        return _date(value) or _moment(value) or said(value)
    if isinstance(value, list):
        return ", ".join(shown(item) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{label_of(key)}: {shown(item)}" for key, item in value.items())
    return measure_text(value) if isinstance(value, float) else str(value)


def _date(text: str) -> str | None:
    if not ISO_DATE.fullmatch(text):
        return None
    try:
        return date_format(date.fromisoformat(text), "D j M Y")
    except ValueError:
        return None


def _moment(text: str) -> str | None:
    """Write a moment in the reader's zone."""
    if not ISO_MOMENT.fullmatch(text):
        return None
    try:
        return date_format(timezone.localtime(datetime.fromisoformat(text)), "D j M Y, H:i")
    except ValueError:
        return None


def shown_as(value: Json, schema: Mapping[str, Any] | None = None) -> str:
    """Write a value as its schema names it: an option by its title, the keys of a record by theirs."""
    if not schema or value in (None, "", [], {}):
        return shown(value)
    if isinstance(value, list):
        items = schema.get("items")
        return ", ".join(shown_as(item, items if isinstance(items, Mapping) else None) for item in value)
    if isinstance(value, dict):
        known = schema.get("properties") or {}
        return ", ".join(
            f"{label_of(key, _schema_of(key, known))}: {shown_as(item, _schema_of(key, known))}"
            for key, item in sorted(value.items(), key=lambda pair: _place_of(pair[0], known))
        )
    if _is_measure(value, schema):
        return measure_text(value, str(schema.get("x-unit", "")))
    titles = {key_of(option): title for option, title in options_of(schema)}
    return titles.get(key_of(value)) or shown(value)


def _place_of(key: str, known: Mapping[str, Any]) -> int:
    """Return where the author put a key; JSON that was kept has lost its order."""
    return list(known).index(key) if key in known else len(known)


def _is_measure(value: Json, schema: Mapping[str, Any]) -> TypeGuard[float]:
    """Return whether it is a measured number; a whole one may be a year or an account, written without separators."""
    return _is_number(value) and ("x-unit" in schema or (schema.get("type") == "number" and not options_of(schema)))


def _is_number(value: Json) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def facts_of(
    record: Json, schemas: Mapping[str, Any] | None = None, without: frozenset[str] = frozenset()
) -> list[Fact]:
    """List a record's values for reading; nested records are laid out flat, lists of records as tables."""
    if not isinstance(record, Mapping):
        return []
    known = schemas or {}
    facts = [fact_of(key, value, _schema_of(key, known)) for key, value in record.items() if key not in without]
    return [fact for fact in facts if not fact.rows] + [fact for fact in facts if fact.rows]


def _schema_of(key: str, schemas: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return a key's schema where it says anything; `true` allows all and says nothing."""
    schema = schemas.get(key)
    return schema if isinstance(schema, Mapping) else None


def fact_of(key: str, value: Json, schema: Mapping[str, Any] | None = None) -> Fact:
    """Show one value under its name."""
    label = label_of(key, schema)
    if isinstance(value, list) and value and all(isinstance(item, dict) and item for item in value):
        return _table(label, value, _columns(schema))
    text = shown_as(value, schema)
    return Fact(label, text, wide=len(text) > LONG or "\n" in text)


def _columns(schema: Mapping[str, Any] | None) -> Mapping[str, Any]:
    items = (schema or {}).get("items")
    return (items.get("properties") or {}) if isinstance(items, Mapping) else {}


def _table(label: str, records: list[Any], known: Mapping[str, Any]) -> Fact:
    keys = list(dict.fromkeys(key for record in records for key in record))
    rows = tuple(tuple(_cell(record.get(key), _schema_of(key, known)) for key in keys) for record in records)
    numbers = [all(row[at].is_number or row[at].text == NOTHING for row in rows) for at in range(len(keys))]
    columns = tuple(
        Cell(label_of(key, _schema_of(key, known)), is_number) for key, is_number in zip(keys, numbers, strict=True)
    )
    return Fact(label, "", wide=True, columns=columns, rows=rows)


def _cell(value: Json, schema: Mapping[str, Any] | None) -> Cell:
    return Cell(shown_as(value, schema), _is_number(value))
