"""Writing a test into a document, and finding steps in it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.kernel.language.source import read_documents
from engine.kernel.language.source_positions import step_places
from engine.kernel.language.test_writer import CannotWrite, flow_text, with_test

HEAD = "workflow: trip\n# a remark\nsteps:\n  - {id: go, set: {a: 1}}  # another\n"
TEST = {
    "name": "yes: it's fine",
    "do": [{"complete": "go", "with": {"note": "on", "n": "1"}}],
    "expect": {"path": ["go"]},
}


def plain(source: str) -> Any:
    return read_documents(source)[0].plain()


@pytest.mark.parametrize(
    "source",
    [
        HEAD,
        HEAD + "tests:\n",
        HEAD + "tests:\n  - {name: first}\n",
        HEAD + "tests:\n- name: first\n  expect: {}\n",
        "tests:\n    - name: first\n      expect:\n        status: completed\n" + HEAD,
        "tests:\n" + HEAD,
        HEAD.rstrip("\n"),
    ],
)
def test_a_test_is_added_and_nothing_else_changes(source: str) -> None:
    before, written = plain(source), with_test(source, TEST)
    assert plain(written) == {**before, "tests": [*(before.get("tests") or ()), TEST]}
    assert [line for line in source.split("\n") if line.strip() and line not in written.split("\n")] == []


@pytest.mark.parametrize("source", [HEAD + "tests: [{name: first}]\n", '{"workflow": "trip", "steps": []}', "a: [", ""])
def test_what_cannot_take_a_test_is_left_alone(source: str) -> None:
    with pytest.raises(CannotWrite):
        with_test(source, TEST)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-1000, 1000)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc:#'\" -", min_size=1, max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(JSON)
def test_any_value_written_on_a_line_reads_back(value: Any) -> None:
    assert plain(f"a: {flow_text(value)}\n") == {"a": value}


def test_steps_are_found_with_their_lines() -> None:
    source = (
        "workflow: trip\nsteps:\n  - id: ask\n    task:\n      title: Go?\n  - id: choose\n    if: 'true'\n"
        "    then:\n      - set: {a: 1}\n      - {id: inner, set: {b: 2}}\n"
    )
    places = step_places(source)
    assert {name: (place.line, place.last) for name, place in places.items()} == {
        "ask": (3, 5),
        "choose": (6, 10),
        "choose_set_1": (9, 9),
        "inner": (10, 10),
    }


@pytest.mark.parametrize(
    "source", ["", "a: [", "steps: 7", "---\na: 1\n---\nb: 2\n", "workflow: x\nsteps: [7, {id: 8}]"]
)
def test_no_text_breaks_the_search(source: str) -> None:
    assert isinstance(step_places(source), dict)
