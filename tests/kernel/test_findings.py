"""What an author is told: every finding with its code and its place, all at once."""

import io
import json
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from engine.kernel.language import ATTRIBUTES, HEAD
from engine.kernel.language_kinds import KINDS
from engine.kernel.normalizer import TenantFacts, normalize
from engine.kernel.not_yet import NOT_YET
from tests.kernel.test_cases import SOURCES

STEPS = "workflow: x\nsteps:\n"
BAD = [
    ("", "documents", 1),
    ("workflow: x", "missing_key", 1),
    ("[1]", "wrong_type", 1),
    ("workflow: x\nworkflow: y", "duplicate_key", 2),
    ("workflow: &a x", "alias", 1),
    ("workflow: *a", "alias", 1),
    ("workflow: !!str x", "tag", 1),
    ("workflow: x\nsteps:\n  - if: !state.x\n    then: []", "tag", 3),
    ("workflow: x: y", "syntax", 1),
    ("workflow: x\nsteps: [{wait: {for: .inf}}]", "bad_number", 2),
    ("workflow: x\nsteps: [{set: {a: 99999999999999999999}}]", "bad_number", 2),
    ("workflow: Big Name\nsteps: []", "bad_name", 1),
    (STEPS + "  - {id: a}", "no_kind", 3),
    (STEPS + "  - {set: {a: 1}, wait: {for: PT1S}}", "two_kinds", 3),
    (STEPS + "  - just text", "wrong_type", 3),
    (STEPS + "  - {id: a-b, set: {a: 1}}", "bad_id", 3),
    (STEPS + "  - {id: start, set: {a: 1}}", "reserved_id", 3),
    (STEPS + "  - {id: a, set: {a: 1}}\n  - {id: a, set: {a: 1}}", "duplicate_id", 4),
    (STEPS + "  - {set: {a: 1}, wen: 'true'}", "unknown_key", 3),
    (STEPS + "  - {task: {titel: A}}", "unknown_key", 3),
    (STEPS + "  - {wait: {for: 3 days}}", "bad_duration", 3),
    (STEPS + "  - {wait: {until: tomorrow}}", "bad_moment", 3),
    (STEPS + "  - {wait: {for: P1D, until: '2030-01-01'}}", "one_of", 3),
    (STEPS + "  - {call: {http: {method: FETCH, url: x}}}", "wrong_word", 3),
    (STEPS + "  - {call: {http: {method: GET}}}", "missing_key", 3),
    (STEPS + "  - {if: 1 +, then: []}", "bad_expression", 3),
    (STEPS + "  - {if: nonsense(1), then: []}", "bad_expression", 3),
    (STEPS + "  - {if: start.?a, then: []}", "bad_expression", 3),
    (STEPS + "  - {set: {a: '${start.a'}}", "bad_expression", 3),
    (STEPS + "  - {set: {a: \"${'a' + 1}\"}}", "bad_expression", 3),
    (STEPS + "  - {set: {a: '${strat.a}'}}", "unknown_name", 3),
    (STEPS + "  - {set: {a: '${item}'}}", "unknown_name", 3),
    (STEPS + "  - {set: {a: '${result.nobody}'}}", "unknown_step", 3),
    (STEPS + "  - {compensate: nobody}", "unknown_step", 3),
    (STEPS + "  - {task: {title: A, form: {type: strange}}}", "bad_schema", 3),
    (STEPS + "  - {task: {title: A, form: {$ref: 'https://evil.example/x'}}}", "bad_schema", 3),
    (STEPS + "  - {task: {title: A, form: {properties: {by: {type: string}}}}}", "reserved_field", 3),
    (STEPS + "  - {task: {title: A, on_expire: {outcome: done}}}", "never_expires", 3),
    (STEPS + "  - {task: {title: A, on_expire: {outcome: dome}}, timeout: P1D}", "unknown_outcome", 3),
    (STEPS + "  - {set: {a: 1}, on_timeout: []}", "never_expires", 3),
    (STEPS + "  - {set: {a: 1}, finally: [{task: {title: A}}]}", "waits_in_finally", 3),
    (STEPS + "  - {set: {a: 1}, needs: [b]}\n  - {id: b, set: {a: 1}}", "out_of_place", 3),
    (
        STEPS + "  - graph:\n      - {id: a, set: {x: 1}, needs: [b]}\n      - {id: b, set: {x: 1}, needs: [a]}",
        "circle",
        4,
    ),
    (STEPS + "  - {id: o, set: {x: 1}}\n  - graph: [{id: a, set: {x: 1}, needs: [o]}]", "unknown_need", 4),
    (STEPS + "  - net:\n      steps:\n        - {id: a, set: {x: 1}, next: [a]}", "no_join", 5),
    (STEPS + "  - first: {branches: {a: [{set: {x: 1}}], b: [{wait: {for: P1D}}]}}", "no_wait_first", 3),
    (
        STEPS + "  - {mutex: a, group: [{mutex: b, set: {x: 1}}]}\n  - {mutex: b, group: [{mutex: a, set: {x: 1}}]}",
        "lock_order",
        4,
    ),
    (STEPS + "  - {task: {title: A, assignee: '${instance.started_by}', not_same_as: [start]}}", "four_eyes", 3),
    (
        STEPS + "  - decide: {hit: unique, inputs: {a: '${start.a}'}, "
        "rows: [{when: {a: {lt: 5}}, then: 1}, {when: {a: {lt: 9}}, then: 2}], default: 3}",
        "table_overlap",
        3,
    ),
    (STEPS + "  - {for_each: {each: [1], as: state, steps: []}}", "reserved_name", 3),
    (STEPS + "  - {fail: {code: " + "x" * 101 + "}}", "too_long", 3),
]
WARNED = [
    (STEPS + "  - {id: a, when: start.x, task: {title: A}}\n  - {set: {x: '${result.a.by}'}}", "maybe_absent", 4),
    (STEPS + "  - {complete: DONE}\n  - {set: {x: 1}}", "unreachable", 4),
    (STEPS + "  - {any_order: [{set: {x: 1}}, {task: {title: A}}]}", "no_wait_first", 3),
    (STEPS + "  - decide: {inputs: {a: '${start.a}'}, rows: [{when: {a: 1}, then: 1}]}", "table_gap", 3),
    (
        STEPS + "  - decide: {inputs: {a: '${start.a}'}, rows: [{when: {}, then: 1}, {when: {a: 1}, then: 2}]}",
        "table_row_unused",
        3,
    ),
    (STEPS + "  - for_each: {each: [1], complete_when: done / total >= 0.5, steps: []}", "integer_division", 3),
    (
        "workflow: x\nstarters: {min_level: 2}\nsteps: [{task: {title: A, assignee: '${instance.started_by}'}}]",
        "starter_level",
        3,
    ),
]


@pytest.mark.parametrize(("source", "code", "line"), BAD)
def test_mistake_is_an_error_at_its_line(source: str, code: str, line: int) -> None:
    found = normalize(source, allow_not_yet=True)
    errors = [(finding.code, finding.line) for finding in found.findings if finding.severity == "error"]
    assert (code, line) in errors, found.findings
    assert found.canonical is None


@pytest.mark.parametrize(("source", "code", "line"), WARNED)
def test_doubt_is_a_warning_and_the_template_still_stands(source: str, code: str, line: int) -> None:
    found = normalize(source, allow_not_yet=True)
    assert (code, "warning", line) in [(one.code, one.severity, one.line) for one in found.findings]
    assert found.canonical is not None


def test_all_findings_come_at_once_in_the_order_of_the_document() -> None:
    found = normalize(STEPS + "  - {wait: {for: 1}}\n  - {set: {a: '${b}'}}\n  - {taks: 1}\n")
    assert [finding.line for finding in found.findings] == [3, 4, 5]


def test_column_points_into_the_expression() -> None:
    found = normalize(STEPS + '  - {set: {a: "${start.a + strat.b}"}}')
    assert [(one.line, one.column, one.hint) for one in found.findings] == [(3, 28, "did you mean `state`?")]


def test_name_and_title_are_told_even_with_errors() -> None:
    found = normalize("workflow: good-name\ntitle: Good\nsteps: [{nonsense: 1}]")
    assert (found.canonical, found.name, found.title) == (None, "good-name", "Good")


def test_tenant_lacks_what_the_template_requires() -> None:
    source = STEPS + "  - {task: {title: A, roles: [finanse]}}\n  - {call: {python: pay}}"
    facts = TenantFacts(roles=frozenset({"finance"}), functions=frozenset())
    found = normalize(source, facts)
    assert [(one.code, one.line) for one in found.findings] == [("unknown_role", 3), ("unknown_function", 4)]
    assert found.findings[0].hint == "did you mean `finance`?"
    open_ended = normalize(source)
    assert open_ended.canonical is not None
    assert open_ended.canonical["requires"] == {
        "functions": ["pay"], "transports": ["python"], "workflows": [], "roles": ["finanse"], "secrets": [],
    }  # fmt: skip


def test_what_is_not_yet_executed_is_refused_at_its_line() -> None:
    for construct in NOT_YET:
        owner, key = construct.split(".", 1)
        assert owner in ("head", "kind", "step", "name", "task", "call", "wait", "retry", "limits", "finally") or key
    known = (
        {f"kind.{kind}" for kind in KINDS}
        | {f"step.{key}" for key in ATTRIBUTES}
        | {f"head.{key}" for key in HEAD.fields}
    )
    strange = [one for one in NOT_YET if one.split(".")[0] in ("kind", "step", "head") and "=" not in one]
    assert set(strange) <= known


def test_defaults_are_written_out_and_every_step_has_id_and_path() -> None:
    found = normalize(STEPS + "  - {id: d, if: start.x, then: [{call: {python: f}}]}")
    assert found.canonical is not None
    (step,) = found.canonical["steps"]
    assert (found.canonical["trigger"], found.canonical["starters"]) == ("manual", {"min_level": 4, "roles": []})
    assert step["then"][0] == {
        "id": "d_call_1", "path": "d/then/d_call_1", "auto_id": True,
        "call": {"python": {"function": "f", "args": {}}},
    }  # fmt: skip


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_canonical_through_yaml_keeps_its_hash(path) -> None:  # type: ignore[no-untyped-def]
    found = normalize(path.read_text(), allow_not_yet=True)
    assert found.canonical is not None, found.findings
    text = io.StringIO()
    YAML().dump(json.loads(json.dumps(found.canonical)), text)
    assert normalize(text.getvalue(), allow_not_yet=True).sha256 == found.sha256


FUZZED = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


@FUZZED
@given(st.text(max_size=300))
def test_any_text_gives_findings_and_never_raises(source: str) -> None:
    began = time.process_time()
    found = normalize(source)
    assert found.findings or found.canonical
    assert time.process_time() - began < 5


LETTERS = st.text(alphabet="abcdefix:-[]{}'\"${}.,&*!|>#% \n0129", max_size=200)


@FUZZED
@given(LETTERS)
def test_any_template_of_yaml_letters_never_raises(body: str) -> None:
    found = normalize("workflow: x\nsteps:\n  - " + body)
    assert found.findings or found.canonical


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
KEYS = st.sampled_from([*KINDS, *ATTRIBUTES, "then", "else", "steps", "branches"])


@FUZZED
@given(st.lists(st.dictionaries(KEYS, JSON, max_size=4), max_size=3))
def test_any_shape_of_steps_never_raises(steps: list[dict[str, object]]) -> None:
    found = normalize(json.dumps({"workflow": "x", "steps": steps}), allow_not_yet=True)
    assert found.findings or found.canonical
