"""What an author is told: every finding with its code and its place, all at once."""

import ast
import io
import json
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from engine.kernel.language.normalizer import TenantFacts, normalize
from engine.kernel.language.shapes import ATTRIBUTES
from engine.kernel.language.step_shapes import KINDS
from engine.kernel.language.unsupported import NOT_YET
from engine.kernel.language.validation import validator
from tests.kernel.test_cases import SOURCES

STEPS = "workflow: x\nsteps:\n"
NET = STEPS + "  - net:\n      steps:\n"
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
    ("workflow: x\nsteps: []", "no_steps", 2),
    ("workflow: x\nsteps:", "no_steps", 2),
    ("workflow: x\ntrigger: manual\nevent: {name: paid}\nsteps: [{set: {a: 1}}]", "trigger_contradicts", 2),
    ("workflow: x\ntrigger: manual\nschedule: {cron: '@daily'}\nsteps: [{set: {a: 1}}]", "trigger_contradicts", 2),
    ("workflow: x\ntrigger: scheduled\nevent: {name: paid}\nsteps: [{set: {a: 1}}]", "trigger_contradicts", 2),
    ("workflow: x\ntrigger: event\nsteps: [{set: {a: 1}}]", "trigger_contradicts", 2),
    ("workflow: x\nschedule: {cron: '@daily'}\nevent: {name: paid}\nsteps: [{set: {a: 1}}]", "trigger_contradicts", 2),
    (STEPS + "  - {id: a}", "no_kind", 3),
    (STEPS + "  - {set: {a: 1}, wait: {for: PT1S}}", "two_kinds", 3),
    (STEPS + "  - just text", "wrong_type", 3),
    (STEPS + "  - group: [{id: a, set: {a: 1}}]\n  - {set: {b: 1}, next: a}", "next_elsewhere", 4),
    (STEPS + "  - {workflow: {name: x, embed: true}}", "embeds_itself", 3),
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
    (STEPS + "  - {task: {title: A}, attempt_timeout: PT1M}", "out_of_place", 3),
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
    (STEPS + "  - {id: a, set: {a: 1}}\n  - {task: {title: B, not_same_as: [a]}}", "no_person", 4),
    (
        STEPS + "  - decide: {hit: unique, inputs: {a: '${start.a}'}, "
        "rows: [{when: {a: {lt: 5}}, then: 1}, {when: {a: {lt: 9}}, then: 2}], default: 3}",
        "table_overlap",
        3,
    ),
    (
        STEPS + "  - {id: a, task: {title: A, users: [ann]}}\n  - {task: {title: B, assignee: ann, not_same_as: [a]}}",
        "four_eyes",
        4,
    ),
    (
        STEPS + "  - {id: a, task: {title: A, users: [ann, bob]}}\n"
        "  - {id: b, task: {title: B, users: [ann, bob], not_same_as: [a]}}\n"
        "  - {task: {title: C, users: [ann, bob], not_same_as: [a, b]}}",
        "four_eyes",
        5,
    ),
    (STEPS + "  - {task: {title: A, users: ['${instance.started_by}'], not_same_as: [start]}}", "four_eyes", 3),
    (
        STEPS + "  - {id: a, task: {title: A}}\n  - {task: {title: B, same_as: [a], not_same_as: [a]}}",
        "four_eyes",
        4,
    ),
    (
        STEPS + "  - graph:\n      - {id: a, call: {python: f}}\n"
        "      - {id: b, set: {x: 1}, needs: [a, {step: a, on: failure}]}",
        "join_never",
        5,
    ),
    (
        NET + "        - {id: a, task: {title: A}, next: [{to: b, when: start.x}, c]}\n"
        "        - {id: b, task: {title: B}, next: [d]}\n"
        "        - {id: c, task: {title: C}, next: [d]}\n"
        "        - {id: d, set: {x: 1}, join: all}",
        "join_never",
        8,
    ),
    (
        NET
        + "        - {id: a, task: {title: A}, join: all, next: [b]}\n        - {id: b, task: {title: B}, next: [a]}",
        "join_never",
        5,
    ),
    (
        NET + "        - {id: a, task: {title: A}, next: [b]}\n"
        "        - {id: b, set: {x: 1}, join: each, next: [c]}\n"
        "        - {id: c, set: {x: 2}, next: [b]}",
        "endless_loop",
        6,
    ),
    (NET + "        - {id: a, set: {x: 1}, next: [nobody]}", "unknown_step", 5),
    (STEPS + "  - {set: {a..b: 1}}", "bad_key", 3),
    (STEPS + "  - {set: {a: '${secret.key}'}}", "secret_here", 3),
    (STEPS + "  - decide: {inputs: {a: 1}, rows: [{when: {b: 1}, then: 1}], default: 2}", "unknown_input", 3),
    ("workflow: x\nsteps: [{set: {a: b\x00}}]", "bad_character", 2),
    (STEPS + "  - {for_each: {each: [1], as: state, steps: []}}", "reserved_name", 3),
    ("x" * 2_100_000, "too_long", 1),
    (STEPS + "  - {set: {a: 1}}\n" * 6_001, "too_many", 6_003),
    ("workflow: x\nsteps: [{set: {a: " + "[" * 200 + "]" * 200 + "}}]", "too_deep", 2),
    (
        STEPS + "  - {id: r, task: {title: R, outcomes: [approve, reject]}}\n"
        "  - {if: result.r.outcome == 'aprove', then: [{set: {x: 1}}]}",
        "unknown_outcome",
        4,
    ),
    (
        STEPS + "  - {id: a, call: {python: f}}\n  - {if: status.a == 'sucess', then: [{set: {x: 1}}]}",
        "unknown_status",
        4,
    ),
    (STEPS + "  - {set: {x: '${instance.startedby}'}}", "unknown_part", 3),
    (STEPS + "  - {task: {title: A, outcomes: [a, a]}}", "duplicate_outcome", 3),
    (STEPS + "  - {id: g, group: [{set: {x: 1}}]}\n  - {exit: g}", "out_of_place", 4),
    (STEPS + "  - {fail: {code: " + "x" * 101 + "}}", "too_long", 3),
]
WARNED = [
    (STEPS + "  - {switch: {cases: []}}", "nothing_inside", 3),
    (STEPS + "  - {call: {python: f}, timeout: PT10S, attempt_timeout: PT1M}", "attempt_outlasts", 3),
    (STEPS + "  - {call: {python: f}, timeout: PT10M}", "timeout_never", 3),
    (STEPS + "  - {set: {a: 1}, throttle: {key: k, limit: 2, per: PT1M}}", "throttle_per", 3),
    (STEPS + "  - repeat: {while: 'true', steps: [{set: {a: 1}}]}", "endless_loop", 3),
    (STEPS + "  - repeat: {until: 'false', steps: [{task: {title: A}}]}", "endless_loop", 3),
    (STEPS + "  - parallel: {branches: {a: [{task: {title: A}}], b: [{task: {title: B}}]}, join: 3}", "join_above", 3),
    (
        NET + "        - {id: a, task: {title: A}, next: [b]}\n        - {id: b, set: {x: 1}, join: 2}",
        "join_above",
        6,
    ),
    (NET + "        - {id: a, task: {title: A}}\n        - {id: b, set: {x: 1}}", "unreachable", 6),
    (STEPS + "  - {when: 'false', task: {title: A}}", "unreachable", 3),
    (STEPS + "  - {if: 'false', then: [{task: {title: A}}]}", "unreachable", 3),
    (STEPS + "  - {id: a, tags: [late], task: {title: A}}\n  - {cancel: {tags: [lato]}}", "unknown_tag", 4),
    (
        NET + "        - {id: a, task: {title: A}, join: or, next: [b]}\n"
        "        - {id: b, task: {title: B}, next: [a, c]}\n"
        "        - {id: c, task: {title: C}, join: or, next: [c, a]}",
        "or_joins_circle",
        5,
    ),
    (STEPS + "  - {id: a, when: start.x, task: {title: A}}\n  - {set: {x: '${result.a.by}'}}", "maybe_absent", 4),
    (
        STEPS
        + "  - {id: g, group: [{set: {x: 1}}], on_error: [{steps: [{id: b, call: {python: f}}, {fail: {code: c}}]}]}\n"
        "  - {set: {x: '${result.b.by}'}}",
        "maybe_absent",
        4,
    ),
    (
        STEPS + "  - {id: a, task: {title: A}, on: [{signal: s, interrupting: true, steps: [{set: {x: 1}}]}]}\n"
        "  - {set: {x: '${result.a.by}'}}",
        "maybe_absent",
        4,
    ),
    (
        STEPS + "  - {id: a, call: {python: f}, on_error: [{steps: [{id: b, task: {title: B}}]}]}\n"
        "  - {set: {x: '${result.b.by}'}}",
        "maybe_absent",
        4,
    ),
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
    (STEPS + "  - {task: {title: A, priority: urgent}}", "unknown_priority", 3),
    (STEPS + "  - {task: {title: A, assign_by: manager_of}}", "no_fallback", 3),
    (STEPS + "  - {task: {title: A, assignee: '${manager_of(instance.started_by)}'}}", "no_fallback", 3),
    (STEPS + "  - {id: r, task: {title: R}}\n  - {set: {x: '${result.r.note}'}}", "unknown_field", 4),
    (STEPS + "  - {id: a, call: {python: f}}\n  - {compensate: a}", "nothing_to_undo", 4),
    (
        STEPS + "  - {if: start.x, then: [{complete: A}], else: [{fail: {code: b}}]}\n  - {set: {x: 1}}",
        "unreachable",
        4,
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


def test_a_result_that_surely_is_there_is_not_doubted() -> None:
    source = (
        STEPS + "  - {id: g, group: [{id: a, task: {title: A}}], on: [{signal: s, steps: [{set: {y: 1}}]}]}\n"
        "  - {id: c, call: {python: f}, on: [{error: 'true', steps: [{id: b, task: {title: B}}, "
        "{set: {y: '${result.b.by}'}}, {fail: {code: n}}]}]}\n"
        "  - {set: {x: '${result.a.by}', y: '${result.c}'}}"
    )
    assert normalize(source, allow_not_yet=True).findings == ()


CODED = frozenset({"error", "warn", "_refuse", "SourceRefused", "Finding"})
ELSEWHERE = {
    "redo_never": "test_where_nothing_follows_redo_is_an_error",
    "undo_too_long": "test_what_is_no_time_for_a_countdown_is_a_finding",
    "not_yet": "test_what_is_not_yet_executed_is_refused_at_its_line",
    "unknown_workflow": "test_what_the_tenant_lacks_is_an_error_at_its_line",
    **dict.fromkeys(("function_secrets", "unbound_secret"), "test_secrets_for_a_function_that_takes_none"),
    **dict.fromkeys(("unknown_step_kind", "bad_kind_body", "kind_failed"), "test_what_an_author_is_told_at_the_step"),
}


def test_every_code_that_the_checks_can_give_has_its_case() -> None:
    given: set[str] = set()
    for path in Path(validator.__file__).parents[1].rglob("*.py"):
        given |= set(_codes_in(ast.parse(path.read_text())))
    tried = {code for _, code, _ in [*BAD, *WARNED]}
    assert len(given) > 40
    assert given - tried - set(ELSEWHERE) == set()


def _codes_in(tree: ast.AST) -> Iterator[str]:
    """Find the codes written in calls that make findings: their first word in small letters."""
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        name = getattr(call.func, "attr", getattr(call.func, "id", ""))
        words = [one.value for one in call.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        if name in CODED and words and re.fullmatch(r"[a-z_]+", words[0]):
            yield words[0]


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


SIGNED = """\
workflow: x
steps:
  - {id: write, task: {title: A, roles: [board]}}
  - {id: sign, task: {title: B, roles: [board], not_same_as: [write]}}
"""


def test_four_eyes_that_nobody_in_the_tenant_can_satisfy_today_are_a_warning() -> None:
    for people, expected in (("a", [("four_eyes", "warning", 4)]), ("ab", []), ("", [])):
        members = frozenset(("board", person) for person in people)
        found = normalize(SIGNED, TenantFacts(roles=frozenset({"board"}), members=members))
        assert [(one.code, one.severity, one.line) for one in found.findings] == expected


def test_secrets_for_a_function_that_takes_none_and_secrets_that_may_go_anywhere_are_found() -> None:
    calls = """  - {call: {python: {function: pay, args: {a: {b: "x ${secret.key}"}}}}}
  - {call: {http: {url: "https://a.example", headers: {a: "${secret.key}"}}}}"""
    facts = TenantFacts(functions=frozenset({"pay"}), secrets=frozenset({"key"}), unbound=frozenset({"key"}))
    found = normalize(STEPS + calls, facts)
    assert [(one.code, one.severity, one.line) for one in found.findings] == [
        ("function_secrets", "error", 3),
        ("unbound_secret", "warning", 4),
    ]
    taking = replace(facts, with_secrets=frozenset({"pay"}), unbound=frozenset())
    assert normalize(STEPS + calls, taking).findings == ()


@pytest.mark.parametrize(
    ("step", "code"),
    [
        ("{call: {http: {method: GET, url: '${secret.key}'}}}", "unknown_secret"),
        ("{workflow: {name: nobody}}", "unknown_workflow"),
        ("{wait: {for: P1D, calendar: office}}", "unknown_calendar"),
        ("{set: {a: 1}, decorators: [loud]}", "unknown_decorator"),
    ],
)
def test_what_the_tenant_lacks_is_an_error_at_its_line(step: str, code: str) -> None:
    found = normalize(f"{STEPS}  - {step}", TenantFacts())
    assert [(one.code, one.line) for one in found.findings] == [(code, 3)]


@pytest.mark.parametrize("construct", NOT_YET)
def test_what_is_not_yet_executed_is_refused_at_its_line(construct: str) -> None:
    owner, key = construct.split(".", 1)
    key, _, word = key.partition("=")
    step = {"task": {"title": "A", key: word or 1}} if owner == "task" else {owner: {key: word or 1}}
    found = normalize(f"{STEPS}  - {json.dumps(step)}")
    assert ("not_yet", 3) in [(one.code, one.line) for one in found.findings]


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
