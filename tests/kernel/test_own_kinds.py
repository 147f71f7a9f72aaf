"""Step kinds that a project registers: expanded into existing kinds before anything runs."""

import itertools
import json
from typing import Any

import pytest

from engine.kernel.definition import compile_definition
from engine.kernel.language.custom_kinds import StepKind
from engine.kernel.language.json_schema import language_schema
from engine.kernel.language.normalizer import Normalized, TenantFacts, normalize
from tests.kernel.play import Case

COUNT = itertools.count()


def _asking(body: Any, step: str) -> list[dict[str, Any]]:
    ask = {"id": f"{step}_ask", "call": {"python": {"function": "vat", "args": {"number": body["number"]}}}}
    sure = {"id": f"{step}_sure", "task": {"title": "Sure?"}, "when": f"result.{step}_ask.doubt"}
    return [ask, sure, {"set": {"vat": f"${{result.{step}_ask}}", "tries": body["tries"]}}]


SCHEMA = {
    "type": "object",
    "required": ["number"],
    "additionalProperties": False,
    "properties": {"number": {"type": "string"}, "tries": {"type": "integer", "default": 3}},
}
KINDS = {
    "check_vat": StepKind(SCHEMA, _asking),
    "shout": StepKind({"type": "string"}, lambda body, step: {"set": {"said": body}}),
    "broken": StepKind({}, lambda body, step: body["nothing"]),
    "odd": StepKind({}, lambda body, step: {"set": {"n": object()}}),
    "restless": StepKind({}, lambda body, step: {"set": {"n": next(COUNT)}}),
    "mirror": StepKind({}, lambda body, step: {"mirror": {}}),
    "wrong": StepKind({}, lambda body, step: {"sett": {}}),
}


def read(steps: str, **more: Any) -> Normalized:
    return normalize(f"workflow: tried\nsteps:\n{steps}", kinds=KINDS, **more)


def played(steps: str, start: Any = None) -> Case:
    found = read(steps)
    assert found.canonical is not None, found.findings
    return Case(compile_definition(json.loads(json.dumps(found.canonical))), start)


@pytest.mark.parametrize(
    "written",
    [
        '{id: vat, check_vat: {number: "${start.nr}"}}',
        '{id: vat, ext: {type: check_vat, number: "${start.nr}"}}',
        '{id: vat, ext: {type: check_vat, with: {number: "${start.nr}"}}}',
    ],
)
def test_a_kind_of_the_house_becomes_steps(written: str) -> None:
    case = played(f"  - {written}\n  - {{id: next_one, task: {{}}}}", {"nr": "DE1"})
    call = case.wait_of("vat_ask").call
    assert call is not None
    assert call.request == {"function": "vat", "args": {"number": "DE1"}}
    case.answer("vat_ask", {"doubt": True})
    assert case.open() == ["vat_sure"]
    case.complete("vat_sure")
    assert (case.state["tries"], case.open()) == (3, ["next_one"])
    assert case.path() == ["vat", "vat_ask", "vat_sure", "next_one"]


def test_attributes_beside_it_hold_for_all_of_it() -> None:
    case = played(
        '  - {id: vat, check_vat: {number: x}, on_error: [{set: {why: "${error.code}"}}], output: 7}\n  - shout: hello'
    )
    case.refuse("vat_ask", "business", "unknown")
    assert (case.status, case.state) == ("completed", {"why": "unknown", "said": "hello"})


def test_canonical_holds_what_it_became_and_keeps_its_hash_without_the_house() -> None:
    found = read('  - {id: vat, check_vat: {number: "1"}}')
    assert found.canonical is not None
    (step,) = found.canonical["steps"]
    assert (step["ext"]["type"], step["ext"]["with"]) == ("check_vat", {"number": "1", "tries": 3})
    assert [inner["id"] for inner in step["ext"]["steps"]] == ["vat_ask", "vat_sure", "vat_set_3"]
    assert found.canonical["requires"]["step_kinds"] == ["check_vat"]
    assert found.canonical["requires"]["functions"] == ["vat"]
    assert normalize(json.dumps(found.canonical)).sha256 == found.sha256
    plain = normalize("workflow: tried\nsteps: [{set: {a: 1}}]", kinds=KINDS)
    assert plain.canonical is not None
    assert "step_kinds" not in plain.canonical["requires"]


@pytest.mark.parametrize(
    ("step", "code", "hint"),
    [
        ("{id: a, ext: {type: check_vta, number: x}}", "unknown_step_kind", "check_vat"),
        ("{id: a, check_vta: {number: x}}", "no_kind", "check_vat"),
        ("{id: a, ext: {number: x}}", "missing_key", ""),
        ("{id: a, check_vat: {number: 7}}", "bad_kind_body", ""),
        ("{id: a, check_vat: {}}", "bad_kind_body", ""),
        ("{id: a, check_vat: {number: x, more: y}}", "bad_kind_body", ""),
        ("{id: a, broken: {}}", "kind_failed", ""),
        ("{id: a, odd: {}}", "kind_failed", ""),
        ("{id: a, restless: {}}", "kind_failed", ""),
        ("{id: a, mirror: {}}", "kind_failed", ""),
        ("{id: a, wrong: {}}", "no_kind", ""),
        ("{id: a, check_vat: {number: x}, set: {a: 1}}", "two_kinds", ""),
        ("{id: a, check_vat: {number: x}, shout: x}", "two_kinds", ""),
    ],
)
def test_what_an_author_is_told_at_the_step(step: str, code: str, hint: str) -> None:
    found = read(f"  - {step}")
    assert (code, 3) in [(one.code, one.line) for one in found.findings]
    assert any(hint in one.hint for one in found.findings)


def test_an_expression_may_stand_where_the_schema_wants_something_else() -> None:
    case = played('  - {id: vat, check_vat: {number: x, tries: "${start.n}"}}', {"n": 5})
    case.answer("vat_ask", {"doubt": False})
    assert case.state["tries"] == 5


def test_a_kind_that_is_gone_is_a_finding_also_in_the_canonical_form() -> None:
    found = read("  - shout: hello")
    gone = normalize(json.dumps(found.canonical), TenantFacts())
    assert [one.code for one in gone.findings] == ["unknown_step_kind"]


def test_what_was_never_read_by_the_house_is_an_incident_when_it_is_run() -> None:
    found = normalize("workflow: tried\nsteps: [{id: a, ext: {type: shout, with: x}}]")
    assert found.canonical is not None, found.findings
    case = Case(compile_definition(found.canonical))
    assert (case.status, case.last.error and case.last.error.code) == ("incident", "not_expanded")


def test_an_editor_knows_the_kinds_of_the_house() -> None:
    step = language_schema({"check_vat": SCHEMA})["$defs"]["step"]
    written = next(one for one in step["anyOf"] if "check_vat" in one.get("properties", {}))
    assert written["properties"]["check_vat"] == SCHEMA
    assert {"required": ["check_vat"]} in written["oneOf"]
