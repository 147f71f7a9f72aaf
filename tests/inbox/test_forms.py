"""JSON Schema becomes a form, its text becomes typed values, errors find their fields. No database."""

from typing import Any

import pytest
from django.http import QueryDict
from django.utils import timezone, translation

from engine.diagram.step_names import LOOKS, label_of, outcome_text
from engine.diagram.step_states import STATE_OF
from engine.kernel.effects import WaitKind
from engine.kernel.forms import FieldError, check_values
from engine.kernel.language.step_shapes import KINDS
from engine.kernel.transitions import InstanceStatus, StepStatus, TaskStatus
from engine.presentation.forms.error_messages import said_of
from engine.presentation.forms.fields import FIELDS
from engine.presentation.forms.form import SchemaForm, read_path
from engine.presentation.forms.schema import CANNOT, KIND_OF_FORMAT, KIND_OF_TYPE, field_kind
from engine.presentation.forms.values import facts_of, shown, shown_as
from engine.presentation.narrative.status_summary import SUMMARIES, WAITS
from engine.presentation.narrative.step_outline import WORDS
from tasks_inbox.templatetags.look import TONE_OF_STATUS


def read(schema: dict[str, Any], text: str, prefill: Any = None) -> SchemaForm:
    return SchemaForm({"type": "object", "properties": schema}, QueryDict(text), prefill)


@pytest.mark.parametrize(
    ("schema", "sent", "value"),
    [
        ({"type": "string"}, "f.x=+a+b+", "a b"),
        ({"type": "number"}, "f.x=1.50", 1.5),
        ({"type": "number"}, "f.x=7", 7),
        ({"type": ["integer", "null"]}, "f.x=-3", -3),
        ({"type": "string", "format": "date"}, "f.x=2026-11-30", "2026-11-30"),
        ({"type": "string", "format": "time"}, "f.x=14:30", "14:30:00"),
        ({"type": "string", "format": "date-time"}, "f.x=2026-11-30T14:30", "2026-11-30T14:30:00Z"),
        ({"type": "boolean"}, "f.x=on", True),
        ({"type": "boolean"}, "", False),
        ({"enum": ["a", 2, False]}, "f.x=2", 2),
        ({"enum": ["a", 2, False]}, "f.x=false", False),
        ({"oneOf": [{"const": 1, "title": "One"}, {"const": 2, "title": "Two"}]}, "f.x=2", 2),
        ({"type": "array", "items": {"enum": ["a", "b", "c"]}}, "f.x=a&f.x=c", ["a", "c"]),
        ({"type": "array", "items": {"type": "integer"}}, "f.x=1%0D%0A%0D%0A2", [1, 2]),
        ({"type": "string", "maxLength": 500}, "f.x=one%0D%0Atwo", "one\ntwo"),
    ],
)
def test_text_becomes_a_typed_value(schema: dict[str, Any], sent: str, value: Any) -> None:
    form = read({"x": schema}, sent)
    assert form.is_valid(), form.errors
    assert form.values() == {"x": value}
    assert type(form.values()["x"]) is type(value)


@pytest.mark.parametrize(
    ("schema", "sent"),
    [
        ({"type": "number"}, "1,5"),
        ({"type": "number"}, "NaN"),
        ({"type": "number"}, "1e400"),
        ({"type": "number"}, "9" * 400),
        ({"type": "integer"}, "1.5"),
        ({"type": "string", "format": "date"}, "30.11.2026"),
        ({"type": "string", "format": "date"}, "2026-02-31"),
        ({"type": "string", "format": "date-time"}, "2026-13-01T99:99"),
        ({"type": "string", "format": "time"}, "half past"),
        ({"enum": ["a"]}, "b"),
        ({"type": "array", "items": {"enum": ["a"]}}, "b"),
        ({"type": "array", "items": {"type": "number"}}, "one"),
    ],
)
def test_what_is_no_value_of_its_type_is_an_error_at_the_field(schema: dict[str, Any], sent: str) -> None:
    form = read({"x": schema}, f"f.x={sent}")
    assert list(form.errors) == ["f.x"]


def test_empty_fields_are_left_out() -> None:
    schema = {
        "a": {"type": "string"},
        "b": {"type": "number"},
        "c": {"enum": ["x"]},
        "d": {"type": "array", "items": {"enum": [1]}},
    }
    form = read(schema, "f.a=&f.b=&f.c=")
    assert form.is_valid()
    assert form.values() == {}


def test_nested_object_is_a_frame_and_is_left_out_when_nothing_is_filled_in() -> None:
    schema = {"to": {"type": "object", "properties": {"city": {"type": "string"}, "fast": {"type": "boolean"}}}}
    empty, filled = read(schema, "f.to.city="), read(schema, "f.to.city=Graz")
    assert empty.is_valid()
    assert filled.is_valid()
    assert empty.values() == {}
    assert filled.values() == {"to": {"city": "Graz", "fast": False}}
    assert filled.blocks()[0].look == "group"


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": {"type": "object"}},
        {"type": "object", "additionalProperties": True},
        {"type": ["string", "number"]},
        {"$ref": "#/$defs/nowhere"},
        {"type": "array", "items": {"type": "array"}},
        {},
    ],
)
def test_what_cannot_be_shown_says_so_and_keeps_its_value(schema: dict[str, Any]) -> None:
    assert field_kind(schema) == CANNOT
    form = read({"x": schema}, "", {"x": [{"a": 1}]})
    assert form.is_valid()
    assert form.blocks()[0].look == "cannot"
    assert form.values() == {"x": [{"a": 1}]}
    assert read({"x": schema}, "").blocks()[0].fact is None


def test_prefill_and_default_fill_the_fields() -> None:
    schema = {
        "a": {"type": "integer", "default": 3},
        "b": {"enum": [1, 2]},
        "c": {"type": "string", "format": "date-time"},
    }
    form = SchemaForm({"properties": schema}, prefill={"b": 2, "c": "2026-11-30T14:30:00Z"})
    assert [form[name].value() for name in ("f.a", "f.b", "f.c")] == ["3", "2", "2026-11-30T14:30"]


def test_errors_of_the_service_find_their_fields() -> None:
    schema = {"a": {"type": "string"}, "to": {"type": "object", "properties": {"city": {"type": "string"}}}}
    form = read(schema, "")
    assert form.is_valid()
    paths = ("values.a", "values.to.city", "values.elsewhere", "outcome")
    form.take_errors([FieldError(path, "x", f"about {path}") for path in paths], within="values")
    assert form.errors["f.a"] == ["about values.a"]
    assert form.errors["f.to.city"] == ["about values.to.city"]
    assert form.non_field_errors() == ["Elsewhere: about values.elsewhere", "Outcome: about outcome"]


def test_paths_are_read_with_points_slashes_and_places() -> None:
    assert {read_path(path) for path in ("/lines/0/amount", "lines.0.amount", "lines[0].amount")} == {
        ("lines", "0", "amount")
    }


def test_every_kind_of_field_has_a_class() -> None:
    kinds = {*KIND_OF_FORMAT.values(), *KIND_OF_TYPE.values(), "text", "long", "choice", "choices", "lines", "files"}
    assert kinds == set(FIELDS)


def test_every_step_kind_has_a_look_and_every_status_its_words() -> None:
    assert set(LOOKS) == set(KINDS)
    assert {status.value for status in StepStatus} == set(STATE_OF) == set(WORDS)
    assert {status.value for status in (*TaskStatus, *InstanceStatus)} <= set(TONE_OF_STATUS)


def test_every_wait_and_every_status_has_its_sentence() -> None:
    assert {kind.value for kind in WaitKind} == set(WAITS)
    assert {status.value for status in InstanceStatus} - {"running"} == set(SUMMARIES)


@pytest.mark.wording
def test_values_are_written_as_people_read_them() -> None:
    assert [shown(value) for value in (None, True, 3, 1.5, "x", ["a", 2], "2026-12-04")] == [
        "–", "yes", "3", "1.5", "x", "a, 2", "Fri 4 Dec 2026",
    ]  # fmt: skip
    assert [label_of(key) for key in ("cost_centre", "wantedBy", "hr", "IBAN")] == [
        "Cost centre",
        "Wanted By",
        "HR",
        "IBAN",
    ]


@pytest.mark.wording
def test_numbers_and_moments_are_written_as_people_read_them() -> None:
    assert [shown(value) for value in (18240.039999999997, 16520.0, 1e21, 0.1 + 0.2)] == [
        "18,240.04", "16,520", "1,000,000,000,000,000,000,000", "0.3",
    ]  # fmt: skip
    with timezone.override("Europe/Vienna"):
        assert shown("2026-11-15T23:57:09Z") == "Mon 16 Nov 2026, 00:57"
    assert shown("2026-99-99T23:57:09Z") == "2026-99-99T23:57:09Z"
    assert [outcome_text(name) for name in ("FALSE_ALARM", "approve")] == ["False alarm", "Approve"]


@pytest.mark.wording
def test_what_is_measured_has_its_thousands_apart_and_what_is_counted_off_stays_one_word() -> None:
    number, euro = {"type": "number"}, {"type": "number", "x-unit": "€"}
    assert [shown_as(value, number) for value in (118400, 1264.5, -2340)] == ["118,400", "1,264.5", "-2,340"]
    assert [shown_as(value, euro) for value in (118400, -0.5)] == ["€118,400.00", "-€0.50"]
    assert [shown_as(2026, schema) for schema in ({"type": "integer"}, {"enum": [2026]}, None)] == ["2026"] * 3


@pytest.mark.wording
def test_limits_are_written_as_the_values_below_them() -> None:
    schema = {
        "properties": {
            "granted": {"type": "number", "x-unit": "€", "minimum": 0, "maximum": 50000},
            "score": {"type": "number", "maximum": 12500.5},
            "year": {"type": "integer", "minimum": 1990, "maximum": 2100},
        }
    }
    hints = [field.help_text for field in SchemaForm(schema).fields.values()]
    assert hints == ["From €0 to €50,000.", "Up to 12,500.5.", "From 1990 to 2100."]


def test_lists_of_records_become_tables() -> None:
    fact = facts_of({"items": [{"item": "a", "pieces": 2}, {"item": "b"}]})[0]
    assert [(column.text, column.is_number) for column in fact.columns] == [("Item", False), ("Pieces", True)]
    assert [[cell.text for cell in row] for row in fact.rows] == [["a", "2"], ["b", "–"]]


@pytest.mark.wording
def test_every_rule_of_a_schema_is_said_in_the_language_of_who_reads() -> None:
    schema = {
        "properties": {
            "either": {"type": ["string", "integer"]},
            "one": {"type": "array", "minItems": 1},
            "two": {"type": "array", "minItems": 2},
        }
    }
    errors = check_values(schema, {"either": True, "one": [], "two": []})[1]
    assert {error.path: error.message for error in errors} == {
        "either": "Enter a whole number or a text.",
        "one": "Give at least one item.",
        "two": "Give at least 2 items.",
    }
    with translation.override("de"):
        assert {error.path: said_of(error) for error in errors} == {
            "either": "Geben Sie eine ganze Zahl oder einen Text ein.",
            "one": "Geben Sie mindestens einen Eintrag an.",
            "two": "Geben Sie mindestens 2 Einträge an.",
        }
