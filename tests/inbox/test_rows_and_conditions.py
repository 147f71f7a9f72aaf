"""Lists of rows, nested records, conditions, files and read-only values in forms. No database."""

import json
from typing import Any

import pytest
from django.http import QueryDict

from engine.kernel.forms import FieldError, check_values
from engine.presentation.forms.form import SchemaForm
from engine.presentation.forms.schema import layout_of
from engine.presentation.forms.task_form import TaskForm
from engine.presentation.forms.tree import MOST_ROWS
from tests.hooks import form_errors

ITEMS = {
    "type": "array",
    "title": "Items",
    "minItems": 1,
    "items": {
        "type": "object",
        "required": ["item"],
        "properties": {"item": {"type": "string"}, "pieces": {"type": "integer"}, "gift": {"type": "boolean"}},
    },
}
PARTS = {
    "type": "object",
    "required": ["two_parts"],
    "properties": {"two_parts": {"type": "boolean", "title": "Pay in two parts"}},
    "if": {"properties": {"two_parts": {"const": True}}, "x-order": ["two_parts"]},
    "then": {"required": ["first"], "properties": {"first": {"type": "string", "format": "date"}}},
    "else": {"properties": {"why": {"type": "string"}}},
}
WAYS = {
    "type": "object",
    "oneOf": [
        {"title": "By card", "required": ["way", "card"], "properties": {"way": {"const": "card"}, "card": {"type": "string"}}},
        {"title": "By bank", "required": ["way", "iban"], "properties": {"way": {"const": "bank"}, "iban": {"type": "string"}}},
    ],
}  # fmt: skip


def sent(schema: dict[str, Any], text: str, **rest: Any) -> SchemaForm:
    form = SchemaForm(schema, QueryDict(text), **rest)
    form.is_valid()
    return form


def rows(text: str, **rest: Any) -> SchemaForm:
    return sent({"properties": {"items": ITEMS}, "required": ["items"]}, text, **rest)


# Rows


def test_rows_are_read_in_the_order_of_their_keys_as_sent() -> None:
    form = rows("f.items=7&f.items=2&f.items.2.item=second&f.items.7.item=first&f.items.7.pieces=3")
    assert form.values() == {
        "items": [{"item": "first", "pieces": 3, "gift": False}, {"item": "second", "gift": False}]
    }


def test_row_in_which_nothing_was_filled_in_is_left_out() -> None:
    form = rows("f.items=0&f.items=1&f.items.1.item=b&f.items.0.item=")
    assert form.values() == {"items": [{"item": "b", "gift": False}]}


def test_errors_find_their_row_though_an_empty_one_was_left_out() -> None:
    form = rows("f.items=0&f.items=1&f.items=2&f.items.0.item=&f.items.1.item=a&f.items.2.pieces=4")
    _values, errors = check_values({"properties": {"items": ITEMS}}, form.values())
    assert [error.path for error in errors] == ["items.1.item"]
    form.take_errors(errors)
    assert form_errors(form) == {"f.items.2.item": ["required"]}
    assert [place.label for place in form.wrong_places()] == ["Items 3: Item"]


def test_what_is_wrong_with_the_list_itself_stands_at_its_frame() -> None:
    form = rows("f.items=0&f.items.0.item=")
    form.take_errors([FieldError("items", "minItems", "Give at least 1 items.")])
    assert [error.code for error in form.blocks()[0].errors.as_data()] == ["minItems"]
    assert [(place.anchor, place.label) for place in form.wrong_places()] == [("f.items", "Items")]
    assert form.is_wrong


@pytest.mark.parametrize(
    ("act", "items"),
    [
        ("add f.items", ["a", "b", None]),
        ("remove f.items 0", ["b"]),
        ("remove f.items 9", ["a", "b"]),
        ("add f.elsewhere", ["a", "b"]),
        ("paint f.items", ["a", "b"]),
    ],
)
def test_button_changes_the_rows_and_keeps_everything_typed(act: str, items: list[str | None]) -> None:
    form = rows(f"f.items=0&f.items=1&f.items.0.item=a&f.items.1.item=b&f.items.1.pieces=many&rows={act}")
    assert form.asks_for_rows
    again = form.begun_again()
    lines = again.blocks()[0].lines
    assert [line.blocks[0].field.value() or None for line in lines] == items
    assert not again.is_wrong
    if "b" in items:
        assert lines[items.index("b")].blocks[1].field.value() == "many"


def test_rows_begin_with_what_the_task_brings_and_with_one_where_one_is_needed() -> None:
    schema = {"properties": {"items": ITEMS, "more": {**ITEMS, "minItems": 0}}}
    form = SchemaForm(schema, prefill={"items": [{"item": "a", "pieces": 2}, {"item": "b"}]})
    first, second = form.blocks()
    assert [[block.field.value() for block in line.blocks] for line in first.lines] == [["a", "2", ""], ["b", "", ""]]
    assert (len(second.lines), len(SchemaForm(schema).blocks()[0].lines)) == (0, 1)


def test_a_blank_row_waits_to_be_copied_and_is_no_field_of_the_form() -> None:
    form = rows("f.items=0&f.items.0.item=a")
    blank = form.blocks()[0].blank
    assert blank is not None
    assert [block.field.html_name for block in blank.blocks] == [
        "f.items.__0__.item", "f.items.__0__.pieces", "f.items.__0__.gift",
    ]  # fmt: skip
    assert not any("__" in name for name in form.fields)


def test_rows_within_rows() -> None:
    schema = {"properties": {"days": {"type": "array", "items": {"type": "object", "properties": {"trips": ITEMS}}}}}
    form = sent(
        schema, "f.days=0&f.days.0.trips=0&f.days.0.trips=4&f.days.0.trips.4.item=taxi&f.days.0.trips.0.item=bus"
    )
    assert [trip["item"] for trip in form.values()["days"][0]["trips"]] == ["bus", "taxi"]
    blank = form.blocks()[0].blank
    assert blank is not None
    assert blank.blocks[0].blank is not None
    assert blank.blocks[0].blank.blocks[0].field.html_name == "f.days.__0__.trips.__1__.item"


def test_forged_rows_are_bounded_and_their_keys_are_numbers() -> None:
    keys = "&".join(
        f"f.items={key}&f.items.{key}.item=x" for key in [*range(MOST_ROWS + 50), "__0__", "-1", "1e9", "9" * 30]
    )
    assert len(rows(keys).values()["items"]) == MOST_ROWS


def test_draft_keeps_rows_that_are_empty_or_wrong() -> None:
    form = rows("f.items=0&f.items=1&f.items.0.pieces=a+few&f.items.1.item=")
    kept = form.draft_values()
    assert kept == {"items": [{"pieces": "a few", "gift": False}, {"gift": False}]}
    again = SchemaForm({"properties": {"items": ITEMS}}, draft=kept)
    assert [line.blocks[1].field.value() for line in again.blocks()[0].lines] == ["a few", ""]


# Nested records


def test_records_lie_in_each_other_and_errors_find_the_innermost_field() -> None:
    city = {"type": "object", "required": ["city"], "properties": {"city": {"type": "string", "minLength": 3}}}
    schema = {"properties": {"trip": {"type": "object", "properties": {"to": city, "back": {"type": "boolean"}}}}}
    form = sent(schema, "f.trip.to.city=X")
    assert form.values() == {"trip": {"to": {"city": "X"}, "back": False}}
    form.take_errors(check_values(schema, form.values())[1])
    assert list(form.errors) == ["f.trip.to.city"]
    assert form.wrong_places()[0].label == "Trip: To: City"


def test_references_inside_the_schema_are_followed_and_circles_end() -> None:
    person = {"type": "object", "properties": {"name": {"type": "string"}, "boss": {"$ref": "#/$defs/person"}}}
    schema = {"properties": {"who": {"$ref": "#/$defs/person", "title": "Who"}}, "$defs": {"person": person}}
    form = sent(schema, "f.who.name=Ada&f.who.boss.name=Gwen")
    assert form.values() == {"who": {"name": "Ada", "boss": {"name": "Gwen"}}}
    assert layout_of(schema)[0].label == "Who"


# Conditions


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("f.two_parts=on&f.first=2026-11-20&f.why=x", {"two_parts": True, "first": "2026-11-20"}),
        ("f.first=2026-11-20&f.why=x", {"two_parts": False, "why": "x"}),
        ("f.first=no+date", {"two_parts": False}),
    ],
)
def test_only_what_the_answer_asks_for_is_taken(text: str, values: dict[str, Any]) -> None:
    form = sent(PARTS, text)
    assert form.is_valid(), form.errors
    assert form.values() == values
    assert check_values(PARTS, form.values())[1] == ()


def test_condition_is_told_in_words_and_to_the_script() -> None:
    _box, first, why = SchemaForm(PARTS).blocks()
    assert all("Pay in two parts" in said for said in (first.only_if, why.only_if))
    assert first.only_if != why.only_if
    assert (first.off, why.off) == (True, False)
    assert json.loads(first.when) == [{"within": "f", "tests": [{"test": PARTS["if"], "holds": True}]}]
    assert (first.optional, why.optional) == (False, True)


def test_draft_keeps_what_the_answer_does_not_ask_for_just_now() -> None:
    assert sent(PARTS, "f.first=2026-11-20").draft_values() == {"two_parts": False, "first": "2026-11-20"}


def test_field_that_becomes_necessary_says_when() -> None:
    schema = {
        "properties": {"card": {"type": "string"}, "name": {"type": "string", "title": "Name on it"}},
        "dependentRequired": {"card": ["name"]},
    }
    assert SchemaForm(schema).blocks()[1].field.field.aside.find("Card") > 0
    form = sent(schema, "f.card=1234")
    form.take_errors(check_values(schema, form.values())[1])
    assert form_errors(form) == {"f.name": ["required"]}


@pytest.mark.wording
@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ({"properties": {"n": {"minimum": 5}}}, "Only if N is 5 or more"),
        ({"properties": {"n": {"exclusiveMaximum": 5}}}, "Only if N is less than 5"),
        ({"properties": {"c": {"enum": ["a", "b"]}}, "required": ["c"]}, "Only if C is Alpha or b"),
        ({"required": ["n"]}, "Only if N is filled in"),
        ({"not": {"required": ["n"]}}, "Only in some cases"),
    ],
)
def test_conditions_in_words(condition: dict[str, Any], words: str) -> None:
    choice = {"oneOf": [{"const": "a", "title": "Alpha"}, {"const": "b"}]}
    schema = {
        "properties": {"n": {"type": "number"}, "c": choice},
        "allOf": [{"if": condition, "then": {"properties": {"more": {"type": "string"}}}}],
    }
    assert SchemaForm(schema).blocks()[2].only_if == words


def test_what_is_forbidden_under_a_condition_is_not_asked_for_then() -> None:
    schema = {
        "properties": {"own_car": {"type": "boolean"}, "ticket": {"type": "string"}},
        "if": {"properties": {"own_car": {"const": True}}},
        "then": {"properties": {"ticket": False}},
    }
    assert sent(schema, "f.own_car=on&f.ticket=AB12").values() == {"own_car": True}
    assert sent(schema, "f.ticket=AB12").values() == {"own_car": False, "ticket": "AB12"}


def test_variants_are_chosen_by_what_tells_them_apart() -> None:
    form = sent(WAYS, "f.way=bank&f.iban=AT61&f.card=4711")
    assert form.values() == {"way": "bank", "iban": "AT61"}
    assert check_values(WAYS, form.values())[1] == ()
    assert form.fields["f.way"].choices[1:] == [("card", "By card"), ("bank", "By bank")]
    form = sent(WAYS, "f.way=card&f.iban=AT61")
    form.take_errors(check_values(WAYS, form.values())[1])
    assert form_errors(form) == {"f.card": ["required"]}


def test_condition_inside_a_row_looks_at_its_own_row() -> None:
    row = {**PARTS, "properties": {**PARTS["properties"], "name": {"type": "string"}}}
    schema = {"properties": {"bills": {"type": "array", "items": row}}}
    form = sent(
        schema,
        "f.bills=0&f.bills=1&f.bills.0.name=a&f.bills.0.two_parts=on&f.bills.0.first=2026-01-01"
        "&f.bills.1.name=b&f.bills.1.first=2026-02-02",
    )
    assert form.values()["bills"] == [
        {"two_parts": True, "name": "a", "first": "2026-01-01"}, {"two_parts": False, "name": "b"},
    ]  # fmt: skip


# Files and read-only values


def test_file_is_known_by_the_name_under_which_it_was_added() -> None:
    schema = {
        "properties": {
            "offer": {"type": "string", "format": "file"},
            "more": {"type": "array", "items": {"type": "string", "format": "file"}},
        }
    }
    form = TaskForm(schema, QueryDict("f.offer=a.pdf&f.more=b.pdf&f.more=c.pdf&f.more=b.pdf"))
    assert form.is_valid()
    assert form.values() == {"offer": "a.pdf", "more": ["b.pdf", "c.pdf"]}
    assert form.takes_files
    nothing = TaskForm(schema, QueryDict("f.offer=&f.more="))
    assert nothing.is_valid()
    assert nothing.values() == {}


def test_form_of_a_start_asks_for_no_files_since_there_is_nothing_to_add_them_to() -> None:
    form = sent({"properties": {"offer": {"type": "string", "format": "file"}}}, "f.offer=a.pdf")
    assert (form.values(), form.takes_files, form.blocks()[0].look) == ({}, False, "cannot")


def test_read_only_value_is_text_and_stays_whatever_is_sent() -> None:
    schema = {"properties": {"supplier": {"type": "string", "readOnly": True}, "note": {"type": "string"}}}
    form = sent(schema, "f.supplier=Forged&f.note=x", prefill={"supplier": "Nordwind"})
    assert form.values() == {"supplier": "Nordwind", "note": "x"}
    block = form.blocks()[0]
    assert block.look == "read"
    assert block.fact is not None
    assert block.fact.text == "Nordwind"


def test_box_that_must_be_ticked_is_not_ticked_beforehand() -> None:
    form = SchemaForm({"properties": {"agreed": {"type": "boolean", "const": True}}})
    assert form.blocks()[0].field.value() is False or form.blocks()[0].field.value() == ""
