"""Long forms: which sections there are, and what is missing in each."""

from django.http import QueryDict

from engine.presentation.forms.form import SchemaForm

FORM = {
    "type": "object",
    "required": ["what", "cost"],
    "properties": {
        "what": {"type": "string", "title": "What to buy"},
        "cost": {
            "type": "object",
            "title": "Cost",
            "required": ["each", "pieces"],
            "properties": {"each": {"type": "number"}, "pieces": {"type": "integer"}, "note": {"type": "string"}},
        },
        "delivery": {
            "type": "object",
            "title": "Delivery",
            "required": ["by"],
            "properties": {"by": {"type": "string", "format": "date"}, "to": {"type": "string"}},
        },
        "lines": {
            "type": "array",
            "title": "Lines",
            "items": {"type": "object", "required": ["item"], "properties": {"item": {"type": "string"}}},
        },
    },
}


def progress(sent: str):  # type: ignore[no-untyped-def]
    return SchemaForm(FORM, QueryDict(sent) if sent else None).progress()


def test_an_empty_form_names_its_sections_and_counts_what_must_be_filled_in() -> None:
    found = progress("")
    assert [section.anchor for section in found.sections] == ["id_f.what", "f.cost", "f.delivery", "f.lines"]
    assert (found.missing, found.needed, found.first, found.is_long) == (3, 3, "id_f.what", True)
    assert [section.is_optional for section in found.sections] == [False, False, True, True]


def test_a_section_or_a_row_asks_for_more_once_it_is_begun() -> None:
    found = progress("f.what=Desk&f.cost.each=5&f.delivery.to=Berlin&f.lines=0&f.lines.0.item=")
    assert (found.missing, found.needed, found.first) == (2, 4, "id_f.cost.pieces")
    assert [section.missing for section in found.sections] == [0, 1, 1, 0]
    assert [section.is_done for section in found.sections] == [True, False, False, False]


def test_a_short_form_has_no_list_of_sections() -> None:
    form = SchemaForm({"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}})
    assert not form.progress().is_long
