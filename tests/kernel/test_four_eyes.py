"""Four eyes: a person who took part in a step, in whatever way, does not do the task that another must do."""

import os
from pathlib import Path
from typing import Any

import pytest

from engine.kernel.definition import compile_definition
from engine.kernel.language.normalizer import normalize
from engine.kernel.program import Definition
from engine.kernel.simulator import run_tests
from engine.kernel.snapshot import Snapshot

CHILD = "workflow: kid\nsteps: [{id: ask, task: {title: Ask, roles: [r]}}]"
PEOPLE = "people: {ann: {roles: [r]}, bob: {roles: [r]}}"
Y = "{id: y, task: {title: Y, roles: [r], not_same_as: [x]}}"
OPEN_X = "{id: x, task: {title: X, roles: [r]}}"


def beside(other: str) -> str:
    """Write a task in parallel to the one that another person must do."""
    return f"- parallel: {{branches: {{a: [{other}], b: [{Y}]}}}}"


WAYS = {
    "both open at once": (
        beside(OPEN_X),
        "{complete: x, by: ann}",
    ),
    "an earlier round": (
        f"- repeat: {{times: 2, steps: [{OPEN_X}]}}\n  - {Y}",
        "{complete: x, by: ann}, {complete: x, by: bob}",
    ),
    "an item": (
        f"- for_each: {{each: [1, 2], steps: [{OPEN_X}]}}\n  - {Y}",
        '{complete: "x[0]", by: ann}, {complete: "x[1]", by: ann}',
    ),
    "one of several who answered": (
        f"- {{id: x, task: {{title: X, roles: [r], complete_when: done >= 2}}}}\n  - {Y}",
        "{complete: x, by: ann}, {complete: x, by: bob}",
    ),
    "one who answered while others are to": (
        beside("{id: x, task: {title: X, roles: [r], complete_when: done >= 2}}"),
        "{complete: x, by: ann}",
    ),
    "in on_error": (
        f"- {{id: c, fail: {{code: no, message: no}}, on_error: [{{steps: [{OPEN_X}]}}]}}\n  - {Y}",
        "{complete: x, by: ann}",
    ),
    "inside a group": (
        f"- {{id: x, group: {{steps: [{{id: inner, task: {{title: I, roles: [r]}}}}]}}}}\n  - {Y}",
        "{complete: inner, by: ann}",
    ),
    "in a handler beside": (
        f"- {{id: host, task: {{title: H, roles: [r]}}, on: [{{signal: s, steps: [{OPEN_X}]}}]}}\n  - {Y}",
        "{signal: s}, {complete: x, by: ann}, {complete: host, by: bob}",
    ),
    "who skipped it": (
        beside("{id: x, task: {title: X, roles: [r], allow: [skip]}}"),
        "{skip: x, by: ann}",
    ),
    "in a child that has ended": (
        f"- {{id: x, workflow: {{name: kid}}}}\n  - {Y}",
        "{complete: ask, in: x, by: ann}",
    ),
    "in a child under way": (
        beside("{id: x, workflow: {name: kid2}}"),
        "{complete: first, in: x, by: ann}",
    ),
    "who holds it already": (
        beside(OPEN_X),
        "{claim: y, by: ann}, {complete: x, by: ann}",
    ),
}
KID2 = "workflow: kid2\nsteps: [{id: first, task: {title: A, roles: [r]}}, {id: then, task: {title: B, roles: [r]}}]"


def compiled(source: str) -> Definition:
    found = normalize(source)
    assert found.canonical is not None, [finding.message for finding in found.findings]
    return compile_definition(found.canonical)


def played(source: str) -> list[str]:
    others = {one.name: one for one in (compiled(CHILD), compiled(KID2))}
    return [failure for report in run_tests(compiled(source), others) for failure in report.failures]


@pytest.mark.parametrize("way", WAYS)
def test_who_took_part_is_barred(way: str) -> None:
    steps, before = WAYS[way]
    cast = PEOPLE.replace("bob:", "cat: {roles: [r]}, bob:")
    tests = "\n".join(
        f"  - {{{cast}, start: {{}}, do: [{before}, {{complete: y, by: {who}}}]}}"
        for who in ("ann, refused: four_eyes", "cat")
    )
    assert played(f"workflow: w\nsteps:\n  {steps}\ntests:\n{tests}\n") == []


def test_of_two_open_at_once_it_holds_either_way_round() -> None:
    """Answering the task that names the other first must not be a way around the rule."""
    steps = beside(OPEN_X)
    acts = "{complete: y, by: ann}, {complete: x, by: ann, refused: four_eyes}, {complete: x, by: bob}"
    assert played(f"workflow: w\nsteps:\n  {steps}\ntests:\n  - {{{PEOPLE}, start: {{}}, do: [{acts}]}}") == []


@pytest.mark.parametrize(
    ("under_way", "then"),
    [
        ("{id: x, group: {steps: [{id: one, task: {title: A, roles: [r]}}, {id: two, task: {title: B, roles: [r]}}]}}",
         "{complete: one, by: bob}, {complete: two, by: ann, refused: four_eyes}, {complete: two, by: bob}"),
        ("{id: x, workflow: {name: kid2}}",
         "{complete: first, in: x, by: bob}, {complete: then, in: x, by: ann, refused: four_eyes}"),
    ],
)  # fmt: skip
def test_who_did_it_while_a_step_it_names_was_under_way_does_not_do_the_rest(under_way: str, then: str) -> None:
    acts = f"{{complete: y, by: ann}}, {then}"
    assert (
        played(f"workflow: w\nsteps:\n  {beside(under_way)}\ntests:\n  - {{{PEOPLE}, start: {{}}, do: [{acts}]}}") == []
    )


def test_who_checked_an_earlier_round_may_do_the_next() -> None:
    steps = f"- repeat: {{times: 2, steps: [{OPEN_X}, {Y}]}}"
    acts = "{complete: x, by: ann}, {complete: y, by: bob}, {complete: x, by: bob}"
    assert played(f"workflow: w\nsteps:\n  {steps}\ntests:\n  - {{{PEOPLE}, start: {{}}, do: [{acts}]}}") == []


def test_a_quorum_counts_the_members_of_a_role_who_may_answer() -> None:
    source = """
workflow: w
steps:
  - {id: x, task: {title: X, roles: [board]}}
  - {id: v, task: {title: Vote, roles: [board], outcomes: [yea, nay], not_same_as: [x], complete_when: done == total}}
tests:
  - name: ann is barred, dan is of too low a level
    people: {ann: {roles: [board]}, bob: {roles: [board]}, cat: {roles: [board]}, dan: {roles: [board], level: 3}}
    start: {}
    do:
      - {complete: x, by: ann}
      - {complete: v, by: bob, with: {outcome: yea}}
      - {expect: {status: running}}
      - {complete: v, by: cat, with: {outcome: yea}}
    expect: {status: completed}
"""
    assert played(source) == []


def test_a_snapshot_stored_before_people_were_kept_names_those_of_its_results() -> None:
    stored = Snapshot("running", "2030-01-07T09:00:00Z").to_json()
    del stored["people"]
    stored["results"] = {
        "x": {"by": "ann", "at": "2030-01-07T09:00:00Z", "outcome": "done"},
        "v": {"answers": [{"by": "bob", "at": "2030-01-08T09:00:00Z"}]},
        "c": {"status": 200},
    }
    assert Snapshot.from_json(stored).people == {
        "x": {"ann": "2030-01-07T09:00:00Z"},
        "v": {"bob": "2030-01-08T09:00:00Z"},
    }


@pytest.mark.parametrize("named", ["n", "c"])
def test_a_name_that_can_have_no_person_is_an_error(named: str) -> None:
    source = f"""
workflow: w
steps:
  - {{id: n, set: {{a: 1}}}}
  - {{id: c, call: {{python: echo}}}}
  - {{id: y, task: {{title: Y, not_same_as: [{named}]}}}}
"""
    found = [(one.code, one.severity) for one in normalize(source).findings]
    assert ("no_person", "error") in found


@pytest.mark.parametrize("inner", ["{id: t, task: {title: T}}", "{id: k, workflow: {name: kid}}"])
def test_a_group_with_somebody_inside_can_be_named(inner: str) -> None:
    source = (
        f"workflow: w\nsteps: [{{id: g, group: {{steps: [{inner}]}}}}, {{id: y, task: {{title: Y, not_same_as: [g]}}}}]"
    )
    assert [one.code for one in normalize(source).findings if one.severity == "error"] == []


def repro() -> list[Any]:
    shared = Path(os.environ.get("WORKFLOW_SHARED", Path(__file__).parents[3] / "shared")) / "repro-language.yaml"
    if not shared.exists():
        return []
    return [
        pytest.param(text, id=text.split("workflow: ")[1].split("\n")[0])
        for text in shared.read_text().split("\n---\n")
    ]


@pytest.mark.parametrize("source", [one for one in repro() if str(one.id).startswith(("r1-", "r4-"))])
def test_the_reproductions_of_the_issue_hold(source: str) -> None:
    assert played(source) == []
