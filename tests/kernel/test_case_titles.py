"""The title of a case, and dates and people inside texts."""

import pytest

from engine.kernel.expressions.text_marks import MARK, date, marked, people_in, person, plain
from tests.kernel.play import Case

TITLED = """
workflow: laptops
input: {type: object, properties: {what: {type: string}, on: {type: string}}}
case_title: "${start.what} by ${date(start.on)} for ${person(instance.started_by)}"
steps:
  - task: {title: "Approve ${start.what}"}
"""


def test_a_date_in_a_text_is_marked_for_the_reader() -> None:
    text = f"until {date('2026-11-18')}"
    assert plain(text) == "until 2026-11-18"
    assert marked(text, lambda _: "18.11.2026", lambda name: name) == "until 18.11.2026"


def test_a_person_in_a_text_is_marked_for_the_reader() -> None:
    text = f"for {person('uri')}"
    assert plain(text) == "for uri"
    assert people_in(text) == {"uri"}
    assert marked(text, lambda day: day, lambda name: name.title()) == "for Uri"


@pytest.mark.parametrize("wrong", ["yesterday", "", 7, None])
def test_what_is_no_date_is_refused(wrong: object) -> None:
    with pytest.raises(ValueError, match="date needs"):
        date(wrong)


def test_a_name_cannot_close_a_mark_early() -> None:
    assert person(f"u{MARK}ri") == f"{MARK}uri{MARK}"


def test_a_title_is_computed_as_of_the_start_and_only_then() -> None:
    case = Case(TITLED, {"what": "14 laptops", "on": "2026-12-04"}, by="uri")
    assert case.slices[0].title == f"14 laptops by {MARK}2026-12-04{MARK} for {MARK}uri{MARK}"


def test_a_long_title_is_cut_and_an_empty_one_is_none() -> None:
    source = 'case_title: "${start.what}"\nsteps: [{task: {title: Look}}]'
    assert len(Case(source, {"what": "long " * 100}).slices[0].title or "") == 200
    assert Case(source, {"what": " "}).slices[0].title is None
