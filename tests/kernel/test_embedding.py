"""`workflow: {name, embed: true}`: another workflow's steps run inside this case, with its state."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from engine.kernel.definition import compile_definition
from engine.kernel.language.normalizer import Normalized, TenantFacts, normalize
from engine.kernel.language.step_lists import all_steps
from engine.kernel.language.step_shapes import KINDS
from tests.kernel.play import Case

CHECK = """
workflow: check
input: {type: object, required: [amount], properties: {amount: {type: integer}, currency: {type: string, default: EUR}}}
state: {asked: "${start.amount}"}
output:
  ok: "${get(result, 'look.outcome', '') == 'good'}"
  text: "${string(start.amount) + start.currency}"
  by: "${get(result, 'look.by', '')}"
calendar: office
steps:
  - {id: look, task: {title: "Look at ${start.amount}", outcomes: [good, bad]}}
  - if: result.look.outcome == 'bad' && has(result.look)
    then:
      - {id: second, task: {title: Second, not_same_as: [look], outcomes: [end, back, off, stop]}}
      - switch:
          cases:
            - {when: result.second.outcome == 'end', steps: [{complete: {outcome: BAD, output: {ok: maybe}}}]}
            - {when: result.second.outcome == 'off', steps: [{cancel: case}]}
            - {when: result.second.outcome == 'stop', steps: [{fail: {code: stopped, message: no}}]}
            - {when: "'result.second' != '' && result.second.outcome == 'back'", steps: [{next: look}]}
  - {id: told, call: {python: tell, into: answer}}
  - set: {answer: "${result.answer}", seen: "${state.mine}"}
"""
PARENT = """
workflow: parent
input: {type: object, properties: {total: {type: integer}}}
state: {mine: 1}
output: {first: "${get(result, 'one.ok', null)}", total: "${start.total}"}
steps:
  - {id: one, workflow: {name: check, embed: true, input: {amount: "${start.total}"}}}
  - {id: look, task: {title: "Mine: ${get(result, 'one.text', '')}"}}
"""


def lookup(*sources: str) -> Any:
    """Return what a tenant's active versions would."""
    found: dict[str, Normalized] = {}
    for source in sources:
        one = normalize(source, workflows=lambda name, _version: _of(found, name))
        assert one.canonical is not None, one.findings
        found[str(one.name)] = one
    return lambda name, _version: _of(found, name)


def _of(found: Mapping[str, Normalized], name: str) -> Any:
    return (3, found[name].canonical) if name in found else None


def parent(source: str = PARENT, *children: str) -> Normalized:
    return normalize(source, workflows=lookup(*(children or (CHECK,))))


def case(start: Any, source: str = PARENT) -> Case:
    found = parent(source)
    assert found.canonical is not None, found.findings
    return Case(compile_definition(json.loads(json.dumps(found.canonical))), start)


def test_the_childs_steps_run_here_and_share_the_state() -> None:
    played = case({"total": 12})
    assert played.open() == ["one_look"]
    wait = played.wait_of("one_look")
    assert wait.task is not None
    assert wait.task.title == "Look at 12"
    played.complete("one_look", "good")
    played.answer("one_told", "said")
    assert played.state == {"mine": 1, "asked": 12, "answer": "said", "seen": 1}
    assert played.results["one"] == {"ok": True, "text": "12EUR", "by": "bob", "outcome": None}
    assert played.open() == ["look"]
    played.complete("look")
    assert (played.status, played.last.output) == ("completed", {"first": True, "total": 12})


def test_complete_ends_what_is_embedded_and_not_the_case() -> None:
    played = case({"total": 1})
    played.complete("one_look", "bad")
    played.complete("one_second", "end")
    assert played.results["one"] == {"ok": "maybe", "outcome": "BAD"}
    assert played.open() == ["look"]


@pytest.mark.parametrize(("outcome", "code"), [("off", "cancelled"), ("stop", "stopped")])
def test_cancel_and_fail_are_the_steps_error(outcome: str, code: str) -> None:
    handled = PARENT.replace(
        '{amount: "${start.total}"}}}',
        '{amount: "${start.total}"}}, on_error: [{set: {why: "${error.code}", of: "${start.total}"}}]}',
    )
    played = case({"total": 1}, handled)
    played.complete("one_look", "bad")
    played.complete("one_second", outcome)
    assert (played.state["why"], played.state["of"], played.open()) == (code, 1, ["look"])


def test_jumps_and_results_are_those_of_the_child() -> None:
    played = case({"total": 1})
    played.complete("one_look", "bad")
    played.complete("one_second", "back")
    assert played.open() == ["one_look#2"]


def test_complete_in_a_handler_of_the_embedding_step_ends_the_case() -> None:
    handled = PARENT.replace(
        '{amount: "${start.total}"}}}', '{amount: "${start.total}"}}, on_error: [{complete: OVER}]}'
    )
    played = case({"total": 1}, handled)
    played.complete("one_look", "bad")
    played.complete("one_second", "stop")
    assert (played.status, played.last.outcome) == ("completed", "OVER")


def test_an_input_that_does_not_fit_is_the_steps_error() -> None:
    played = case({"total": 1}, PARENT.replace('amount: "${start.total}"', "other: 1"))
    assert played.status == "incident"
    assert played.last.error is not None
    assert played.last.error.code == "bad_input"


def test_handlers_and_the_deadline_at_its_head_hold_for_its_steps() -> None:
    child = (
        CHECK
        + 'on: [{signal: away, interrupting: true, steps: [{set: {left: "${start.amount}"}}]}]\nlimits: {deadline: P1D}\n'
    )
    found = parent(PARENT, child)
    assert found.canonical is not None, found.findings
    played = Case(compile_definition(found.canonical), {"total": 5})
    played.signal("away")
    assert (played.open(), played.state["left"]) == (["look"], 5)
    late = Case(compile_definition(found.canonical), {"total": 5})
    late.advance("P1D")
    assert (late.status, late.last.error and late.last.error.error_class) == ("expired", "timeout")


def test_one_workflow_is_embedded_twice_and_within_another() -> None:
    twice = PARENT.replace(
        "  - {id: look,",
        "  - {id: two, workflow: {name: check, use_parent_scope: true, input: {amount: 2}}}\n  - {id: look,",
    )
    played = case({"total": 1}, twice)
    for step in ("one", "two"):
        played.complete(f"{step}_look", "good")
        played.answer(f"{step}_told")
    assert played.open() == ["look"]
    middle = "workflow: middle\nsteps: [{id: inner, workflow: {name: check, embed: true, input: {amount: 4}}}]"
    outer = normalize(
        "workflow: outer\nsteps: [{id: mid, workflow: {name: middle, embed: true}}]", workflows=lookup(CHECK, middle)
    )
    assert outer.canonical is not None, outer.findings
    deep = Case(compile_definition(outer.canonical))
    assert deep.open() == ["mid_inner_look"]
    deep.complete("mid_inner_look", "bad")
    deep.complete("mid_inner_second", "end")
    assert deep.status == "completed"


def test_canonical_holds_the_steps_and_keeps_its_hash() -> None:
    found = parent()
    assert found.canonical is not None
    body = found.canonical["steps"][0]["workflow"]
    assert (body["embed"], body["version"]) == (True, 3)
    assert "one_second" in {step["id"] for _kind, step in all_steps(found.canonical["steps"], KINDS)}
    assert found.canonical["requires"]["workflows"] == []
    assert found.canonical["requires"]["functions"] == ["tell"]
    assert body["steps"][1]["task"]["calendar"] == "office"
    again = normalize(
        json.dumps(found.canonical), TenantFacts(functions=frozenset({"tell"}), calendars=frozenset({"office"}))
    )
    assert again.sha256 == found.sha256
    changed = parent(PARENT, CHECK.replace("Look at", "Regard"))
    assert changed.sha256 != found.sha256


def test_what_is_embedded_adds_no_warnings_of_its_own() -> None:
    child = 'workflow: check\nsteps: [{id: a, when: start.x, call: {python: f}}, {set: {b: "${result.a}"}}]'
    assert [one.code for one in normalize(child).findings] == ["maybe_absent"]
    assert parent("workflow: p\nsteps: [{id: one, workflow: {name: check, embed: true}}]", child).findings == ()


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("workflow: p\nsteps:\n  - {id: a, workflow: {name: nobody, embed: true}}", "unknown_workflow"),
        ("workflow: check\nsteps:\n  - {id: a, workflow: {name: check, embed: true}}", "embeds_itself"),
        ("workflow: check\nsteps:\n  - {id: a, workflow: {name: middle, embed: true}}", "embeds_itself"),
        ("workflow: p\nsteps:\n  - {id: a, workflow: {name: check, embed: perhaps}}", "wrong_type"),
    ],
)  # fmt: skip
def test_what_cannot_be_embedded_is_said_at_its_line(source: str, code: str) -> None:
    middle = "workflow: middle\nsteps: [{id: inner, workflow: {name: check, embed: true, input: {amount: 4}}}]"
    found = normalize(source, workflows=lookup(CHECK, middle))
    assert (code, 3) in [(one.code, one.line) for one in found.findings]


def test_what_nobody_could_look_up_is_an_incident_when_it_is_run() -> None:
    found = normalize(PARENT)
    assert found.canonical is not None
    played = Case(compile_definition(found.canonical), {"total": 1})
    assert (played.status, played.last.error and played.last.error.code) == ("incident", "not_embedded")
